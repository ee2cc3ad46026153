"""How often a model gives a rule's answer where the rule does not apply, and how sure that rate is.

The control of a rule on an example are the examples of the same question type that name or offer the answer in the same
way, do not meet the rule and do not accept its answer. A control of fewer than 20 examples compares with nothing.

The exploitation of n examples is the mean agreement less the mean of the rates c_k of their controls. With w_k uses of
control k, of N_k examples of which the model gives the answer on g, its error in terms of each example j of the control

    - w_k / (n N_k) (g_j - c_k)

is summed over all controls of an example and over the examples of an image. As many controls consist of the same
examples, they are summed by question type, answer and what the question tells of it, less the examples that accept the
answer or meet the rule. A rate of 0 or 1 has no spread of its own: each such sum also has the error of one example more
that goes the other way.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.rules.exploited import KEY, RuleMatches
from eyechart.audits.rules.mentions import NEITHER
from eyechart.statistics.intervals import Moments, moments
from eyechart.statistics.paired import Difference
from eyechart.statistics.rows import arrange
from eyechart.statistics.unpaired import Contrast, summarise

LEVEL = 0.95
ONE_SIDED = 0.9  # the level of an interval whose upper end alone is a limit at 95 %


class ControlErrors(NamedTuple):
    """The error of the controls: its sum for each image, and the variance of the examples that are not there."""

    by_image: pl.DataFrame  # cluster, error
    unseen: float

    def beyond(self, examples: pl.DataFrame, level: float = LEVEL) -> Difference:
        """Estimate the mean of agreement less the mean of the control rates, with the error of both.

        `examples` are cluster, agrees and elsewhere: the rules' answers given, and the sum of their rates.
        """
        agreement = moments(arrange((examples["agrees"].to_numpy(),), examples["cluster"]), "scores")
        images = self.by_image.height
        few = images / max(images - 1, 1)
        squares = float((self.by_image["error"] ** 2).sum())
        rate, one = float(examples["elsewhere"].to_numpy().mean()), np.array([images])
        se = np.array([np.sqrt(few * squares + self.unseen)])
        no = np.array([False])
        controls = Moments(one, one, np.array([rate]), se, np.array([rate]), no, no, no)
        off = examples.select("cluster", off=(pl.col("agrees") - pl.col("agrees").mean()) / pl.len())
        shared = off.group_by("cluster").agg(pl.col("off").sum()).join(self.by_image, on="cluster").sort("cluster")
        covariance = -few * float((shared["off"] * shared["error"]).sum())
        found = summarise(Contrast(agreement, controls, covariance, images), level)
        return found._replace(n=examples.height, clusters=examples["cluster"].n_unique())


def with_controls(matches: RuleMatches) -> pl.DataFrame:
    """Add the size of each pair's control, and how often the model agrees there."""
    wrong = pl.col("wrong")
    own = matches.of_rules.group_by("rule", *KEY).agg(
        wrong.sum().alias("own"), (wrong & pl.col("agrees")).sum().alias("own_given")
    )
    table = matches.of_rules
    for counts in (*_rates(matches), own):
        keys = [name for name in ("rule", *KEY, "answer") if name in counts.columns]
        table = table.join(counts, on=keys, how="left", validate="m:1", maintain_order="left")
    counted = ("total", "mentioned", "mentioned_alike", "right", "given_n", "own", "own_given")
    unmentioned = pl.col("total") - pl.col("mentioned")
    alike = pl.when(pl.col("mention") == NEITHER).then(unmentioned).otherwise("mentioned_alike")
    return (
        table.with_columns(pl.col(counted).fill_null(0).cast(pl.Int64))
        .with_columns(
            (alike - pl.col("right") - pl.col("own")).alias("control_n"),
            (pl.col("given_n") - pl.col("own_given")).alias("control_given"),
        )
        .drop(counted)
    )


def _rates(matches: RuleMatches) -> list[pl.DataFrame]:
    """Count examples by type: all, those that mention an answer, those that accept it, those where it is given."""
    types = matches.examples.select("example", "type")
    mentions = matches.mentions.join(types, on="example")
    return [
        types.group_by("type").agg(pl.len().alias("total")),
        mentions.group_by("type", "answer").agg(pl.len().alias("mentioned")),
        mentions.group_by(*KEY, "answer").agg(pl.len().alias("mentioned_alike")),
        matches.accepting().group_by(*KEY, "answer").agg(pl.len().alias("right")),
        matches.agreeing().group_by(*KEY, "answer").agg(pl.len().alias("given_n")),
    ]


def with_word_controls(matches: RuleMatches) -> pl.DataFrame:
    """Add to each pair with a mixed rule, as control, the examples with its words that lack one of its objects.

    A model that cannot see cannot distinguish the two, so it agrees equally on both.
    """
    controls = (
        matches.lacking()
        .group_by("rule")
        .agg(pl.len().cast(pl.Int64).alias("control_n"), pl.col("agrees").sum().cast(pl.Int64).alias("control_given"))
    )
    mixed = matches.of_rules.filter(pl.col("kind") == "mixed")
    return mixed.join(controls, on="rule", how="inner", validate="m:1", maintain_order="left")


def control_errors(matches: RuleMatches, used: pl.DataFrame) -> ControlErrors:
    """Sum the error of the controls of the pairs that are used, image by image."""
    of_rule = _weigh(used, ("rule", "answer", *KEY))
    of_answer = of_rule.group_by("answer", *KEY, maintain_order=True).agg(pl.col("weight", "rate").sum())
    neither = of_answer.filter(pl.col("mention") == NEITHER).drop("mention", "weight").rename({"rate": "unmentioned"})
    every = neither.group_by("type").agg(pl.col("unmentioned").sum().alias("error"))
    types = matches.examples.select("example", "type")
    mentions = matches.mentions.join(types, on="example").join(of_answer, on=["answer", *KEY], how="left")
    mentions = mentions.join(neither, on=["type", "answer"], how="left")
    met = matches.of_rules.filter("wrong").join(of_rule, on=["rule", *KEY])
    rate, weight = pl.col("rate").fill_null(0), pl.col("weight")
    errors = [
        types.join(every, on="type").select("example", "error"),
        mentions.select("example", error=rate - pl.col("unmentioned").fill_null(0)),
        matches.accepting().join(of_answer, on=["answer", *KEY]).select("example", error=-rate),
        matches.agreeing().join(of_answer, on=["answer", *KEY]).select("example", error=-weight),
        met.select("example", error=weight * pl.col("agrees") - rate),
    ]
    return _by_image(matches, pl.concat(errors), of_answer)


def word_control_errors(matches: RuleMatches, used: pl.DataFrame) -> ControlErrors:
    """Do the same for the controls of mixed rules that have the same words."""
    of_rule = _weigh(used, ("rule", "answer"))
    errors = matches.lacking().join(of_rule.drop("answer"), on="rule")
    errors = errors.select("example", error=pl.col("rate") - pl.col("weight") * pl.col("agrees"))
    return _by_image(matches, errors, of_rule.group_by("answer").agg(pl.col("weight").sum()))


def _weigh(used: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """Compute w / (n N) of each control, and the same times its rate."""
    controls = (
        used.sort(key).group_by(key, maintain_order=True).agg(pl.len(), pl.col("control_n", "control_given").first())
    )
    weight = pl.col("len") / (used["id"].n_unique() * pl.col("control_n"))
    rate = pl.col("control_given") / pl.col("control_n")
    return controls.select(*key, weight.alias("weight"), (weight * rate).alias("rate"))


def _by_image(matches: RuleMatches, errors: pl.DataFrame, sums: pl.DataFrame) -> ControlErrors:
    clusters = matches.examples.select("example", "cluster")
    located = errors.join(clusters, on="example").sort("cluster", "example", "error")
    by_image = located.group_by("cluster", maintain_order=True).agg(pl.col("error").sum())
    return ControlErrors(by_image, float((sums["weight"].sort() ** 2).sum()))
