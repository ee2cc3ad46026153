"""Run the analyses of section 4.2 of the Perceptual Score on Social-IQ 2.0 with light text models.

    python benchmarks/perception_socialiq.py FOLDER [--record]      (with qa_train.json and qa_val.json, also packed)

A candidate is judged true or false. Of the three wrong candidates of a question one is kept, chosen by a hash, so that
half of all are true. `answer only` is a logistic regression on the words of the candidate; `question and answer` has
the words of the question, and products with its first word, besides; `sentiment` says true where the compound score
of VADER is above 0, and was never trained. None sees the video. Train and val share no video.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import eyechart
from eyechart import Dataset, Images
from eyechart.audits.perception import PerceptionAudit
from eyechart.audits.perception.bias import sentiment
from eyechart.base.hashing import hash_text
from eyechart.data.protocols import Model
from real import as_list
from record import Row, add_flag
from tables import Layout, lay_out, report, table

MODALITIES = ("candidate", "question", "video")


def read_pairs(folder: Path) -> Dataset:
    """Keep the true candidate of each question and one false one."""
    data = eyechart.read("socialiq", folder, form="binary")
    lot = pl.Series("lot", hash_text(data.examples["id"], 7))
    shuffled = data.examples.with_columns(lot).sort("qid", "answer", "lot")
    kept = shuffled.unique(["qid", "answer", "split"], keep="first", maintain_order=True).drop("lot").sort("id")
    return replace(data, examples=kept)


@dataclass
class TextModel:
    """Judge candidates by their words, with or without the question."""

    name: str
    asks: bool
    fitted: Any = field(default=None)

    def texts(self, table: pl.DataFrame) -> list[str]:
        """Write what the model reads; words of the question, and products with its first word, are marked."""
        if not self.asks:
            return table["candidate"].to_list()
        lines = []
        for question, candidate in table.select(pl.col("question", "candidate").fill_null("")).iter_rows():
            first = (question.split() or [""])[0].lower()
            marked = [f"q_{word}" for word in question.lower().split()]
            crossed = [f"{first}_x_{word}" for word in candidate.lower().split()]
            lines.append(" ".join([candidate, *marked, *crossed]))
        return lines

    def fit(self, table: pl.DataFrame) -> "TextModel":
        """Learn from train."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        self.fitted = make_pipeline(words, LogisticRegression(max_iter=1000))
        self.fitted.fit(self.texts(table), table["answer"].to_list())
        return self

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Say true or false."""
        predicted = self.fitted.predict(self.texts(probes))
        return pl.DataFrame({"id": probes["id"], "answer": pl.Series(predicted, dtype=pl.String)})


@dataclass(frozen=True)
class Feeling:
    """Take what sounds good for true."""

    name: str = "sentiment"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Say true or false."""
        good = sentiment(probes["candidate"]).fill_null(0) > 0
        return pl.DataFrame({"id": probes["id"], "answer": np.where(good, "true", "false")})


def measure(folder: Path) -> Iterator[Row]:
    """Judge each model without each modality, and count which sentiment goes with true candidates."""
    data = read_pairs(folder)
    train = data.examples.filter(pl.col("split") == "train")
    texts = [TextModel("question and answer", asks=True).fit(train), TextModel("answer only", asks=False).fit(train)]
    models: tuple[Model, ...] = (*texts, Feeling())
    for model in models:
        result = eyechart.audit(data, model, [AUDIT])["perception"]
        whole = {name: result.measure(name, "plain").value for name in ("accuracy", "majority")}
        for name in MODALITIES:
            shown = {each: result.measure(each, name).value for each in SHOWN}
            score = {"score": as_list(result.measure("perception", name)), "verdict": result.verdict.state}
            yield {"table": "models", "model": model.name, "removed": name} | whole | shown | score
    study = eyechart.study(data, [AUDIT])["perception"]
    for row in study.tables["sentiment"].filter(pl.col("label") == "true").iter_rows(named=True):
        share = {"n": row["n"], "value": [row["share"], row["low"], row["high"]]}
        yield {"table": "sentiment", "sentiment": row["sentiment"], "label": row["label"]} | share
    val = data.examples.filter(pl.col("split") == "val")
    shared = train.join(val, on="video", how="semi")["video"].n_unique()
    yield {"table": "sizes", "train": train.height, "val": val.height, "videos": val["video"].n_unique()} | {
        "both": shared
    }


AUDIT = PerceptionAudit(modalities=MODALITIES, score="exact", sentiment="candidate", by=("idx_type", "sentiment"))
SHOWN = ("accuracy without", "perception / task", "perception / model")
PAPER = {  # Acc and P of Table 3, on Social-IQ 1
    ("question and answer", "candidate"): "FGA 67.38, 10.27",
    ("question and answer", "question"): "FGA 67.38, 2.19",
    ("question and answer", "video"): "FGA 67.38, 2.96",
    ("answer only", "candidate"): "68.65, 11.39",
    ("sentiment", "candidate"): "66.70, 11.18",
}
HEAD = "| model | removed | Acc | Acc without | P | P/Z_D | P/Z_f | verdict | paper: Acc, P |"
LINE = (
    "| {model} | {removed} | {accuracy:points} | {accuracy without:points} | {score:points} "
    "| {perception / task:points} | {perception / model:points} | {verdict} | {paper} |"
)


def lay_out_models(rows: list[Row]) -> Iterator[str]:
    """Write a row for each model and each modality that is removed, beside the paper's."""
    own = (row for row in rows if row["table"] == "models")
    return lay_out(HEAD, LINE, (row | {"paper": PAPER.get((row["model"], row["removed"]))} for row in own))


FEELINGS = table(
    "| candidates that sound | marked | n | share |", "| {sentiment} | {label} | {n} | {value:points} |", "sentiment"
)
LAYOUTS: dict[str, Layout] = {"models": lay_out_models, "sentiment": FEELINGS}


def main() -> None:
    """Print the layout of Table 3."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    add_flag(parser)
    given = parser.parse_args()
    report("perception_socialiq", LAYOUTS, list(measure(given.folder)), kept=given.record)


if __name__ == "__main__":
    main()
