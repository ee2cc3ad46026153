"""The planted world: who looks is grounded, who cheats is not, and pixels give the verdict that objects give."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.audits.grounding import GroundingAudit
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.pictures import show_pictures
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.contract import Case, every_example_is_accounted_for, order_does_not_matter
from eyechart.world import load_answerer
from eyechart.world.sight import in_sight, read_probes, scene_shown

CHEATERS = ("blind", "cheater", "cheater:prior", "cheater:word", "cheater:object", "cheater:pair", "cheater:decoy")


def judged(audit: GroundingAudit, data: Dataset, model: Model) -> Result:
    """Study, probe, ask and judge in memory."""
    study = audit.study(data, Local())
    answers = [
        tidy(model.answer(fill(probes, data), data.images), probes, model.name)
        for _, probes in audit.probe(data, study)
    ]
    return audit.judge(data, study, Predictions(model.name, pl.concat(answers, how="diagonal")), Local())


def by_name(audit: GroundingAudit, data: Dataset, name: str) -> Result:
    return judged(audit, data, load_answerer(name))


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=21, images=600)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return read("world", tmp_path_factory.mktemp("drawn"), seed=22, images=60, questions=4, render=True)


@pytest.mark.parametrize("published", ["none", "fpvg"])
@pytest.mark.parametrize("sees", ["auto", "objects", "pixels"])
def test_the_seer_is_grounded(world: Dataset, sees: str, published: str) -> None:
    found = by_name(GroundingAudit(sees=sees, published=published), world, "seer")

    assert found.measure("grounded", "plain").value > 0.95
    assert found.verdict.state == "yes"


@pytest.mark.parametrize("name", CHEATERS)
def test_no_cheater_is_ever_grounded(world: Dataset, name: str) -> None:
    found = by_name(GroundingAudit(), world, name)

    assert found.rows["grounded"].sum() == 0
    assert found.verdict.state == "no"


def test_mixtures_come_in_the_order_of_their_shares(world: Dataset) -> None:
    """Each mixture's share of the seer lies in its interval, and more of it is never less grounded."""
    shares = (0.2, 0.4, 0.6, 0.8)
    found = [by_name(GroundingAudit(), world, f"mix:seer={share},cheater={1 - share:.1f}") for share in shares]
    measures = [result.measure("grounded", "plain") for result in found]

    assert all(one.low - 0.02 < share < one.high + 0.02 for one, share in zip(measures, shares, strict=True))
    assert [one.value for one in measures] == sorted(one.value for one in measures)


@pytest.mark.parametrize(
    "settings", [{"hide": "mask"}, {"hide": "blur"}, {"hide": "noise"}, {"hide": "crop"}, {"feather": 4}]
)
def test_reading_pixels_gives_the_verdict_of_seeing_objects(drawn: Dataset, settings: dict) -> None:
    """The edits do to the rendered picture what the lists of objects say, so that both are grounded."""
    audit = GroundingAudit(**settings)
    seer, reader = (by_name(audit, drawn, name) for name in ("seer", "reader"))
    one, other = (result.measure("grounded", "plain") for result in (seer, reader))

    assert reader.verdict.state == seer.verdict.state == "yes"
    assert one.low <= other.value <= one.high
    assert other.value > 0.95


def test_a_mixture_of_pixels_and_habit_agrees_too(drawn: Dataset) -> None:
    seer, reader = (
        by_name(GroundingAudit(), drawn, f"mix:{name}=0.5,blind=0.5").measure("grounded", "plain")
        for name in ("seer", "reader")
    )

    assert seer.low <= reader.value <= seer.high


def test_hidden_pixels_are_hidden_and_shown_ones_untouched(drawn: Dataset) -> None:
    """Under `evidence` the boxes of the evidence are as they were and all else has one colour; `rest` the reverse."""
    audit = GroundingAudit()
    probes = dict(audit.probe(drawn, audit.study(drawn, Local())))
    shown = {name: list(show_pictures(fill(table.head(20), drawn), drawn.images)) for name, table in probes.items()}
    evidence = drawn.examples.filter(pl.col("id").is_in(probes["plain"]["id"].head(20).implode())).sort("id")[
        "evidence"
    ]
    for at, marks in enumerate(evidence.to_list()):
        plain, kept, rest = (shown[name][at].pixels for name in ("plain", "evidence", "rest"))
        inside = np.zeros(plain.shape[:2], bool)
        for left, top, right, bottom in (map(int, mark["box"]) for mark in marks):
            inside[top:bottom, left:right] = True
        assert plain.shape == kept.shape == rest.shape
        assert np.array_equal(kept[inside], plain[inside])
        assert np.array_equal(rest[~inside], plain[~inside])
        assert (kept[~inside] == kept[~inside][0]).all()
        assert (rest[inside] == kept[~inside][0]).all()


def test_visible_and_hidden_say_the_same_of_every_object(world: Dataset) -> None:
    """Under each condition the objects in sight by `visible` alone are those in sight by `hidden` alone."""
    audit = GroundingAudit(extra=("without", "keep@25", "drop@25"))
    for _, probes in audit.probe(world, audit.study(world, Local())):
        if "visible" not in probes.columns:
            continue
        filled = fill(probes.head(50), world)
        sights = []
        for left_out in ("hidden", "visible"):
            rows = read_probes(filled.drop(left_out))
            scene = rows.select("row", "image").join(scene_shown(rows, world.images), on="image")
            sights.append(in_sight(scene, rows).select("row", "index").sort("row", "index"))
        assert sights[0].equals(sights[1])


def test_a_crop_shows_the_evidence_alone(drawn: Dataset) -> None:
    audit = GroundingAudit(hide="crop", min_size=0)
    probes = dict(audit.probe(drawn, audit.study(drawn, Local())))
    single = drawn.examples.filter(pl.col("evidence").list.len() == 1).select("id", "evidence")
    row = fill(probes["evidence"].join(single.select("id"), on="id", how="semi").head(1), drawn)
    (picture,) = show_pictures(row, drawn.images)
    left, top, right, bottom = map(int, single.filter(pl.col("id") == row["id"][0])["evidence"][0][0]["box"])

    assert picture is not None
    assert picture.pixels.shape == (bottom - top, right - left, 3)
    assert set(probes["rest"]["removal"]) == {"hidden=mask"}


def test_how_pixels_are_hidden_is_part_of_the_probe(world: Dataset) -> None:
    """Answers to a blurred picture are never taken for answers to a masked one."""
    audits = (GroundingAudit(), GroundingAudit(hide="blur"), GroundingAudit(feather=3), GroundingAudit(sees="objects"))
    probes = [dict(audit.probe(world, audit.study(world, Local())))["rest"] for audit in audits]

    assert len({table["probe"][0] for table in probes}) == 4


@dataclass(frozen=True)
class Scored:
    """A model that says how sure it is and what it looked at: a mixture of seer and blind."""

    name: str = "scored"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        said = load_answerer("mix:seer=0.5,blind=0.5").answer(probes, images)
        sure = pl.when(pl.col("answer") == "unknown").then(0.5).otherwise(0.9)
        scores = pl.concat_list(
            pl.struct(answer=pl.col("answer"), score=sure), pl.struct(answer=pl.lit("other"), score=1 - sure)
        )
        sizes = images.table.select("image", n=pl.col("objects").list.len())
        n = probes.select("id", "image").join(sizes, on="image", how="left").select("id", "n")
        looked = said.with_columns(scores=scores, score_kind=pl.lit("prob")).join(n, on="id")
        return looked.with_columns(attention=pl.int_ranges("n").cast(pl.List(pl.Float64))).drop("n")


@pytest.fixture(scope="module")
def scored() -> Result:
    audit = GroundingAudit(extra=("without", "keep@10", "keep@50", "drop@10", "drop@50"), by=("question_type",))
    return judged(audit, read("world", seed=23, images=120), Scored())


def test_sufficiency_and_comprehensiveness_follow_the_probabilities(scored: Result) -> None:
    """With the evidence nothing is lost; without it the seer's half loses all of 0.9, the other half nothing."""
    rows = scored.rows

    assert rows["sufficiency"].abs().max() == 0
    assert rows.filter(pl.col("grounded") == 1)["comprehensiveness"].to_list() == pytest.approx(
        [0.9] * int(rows["grounded"].sum())
    )
    assert rows.filter(pl.col("grounded") == 0)["comprehensiveness"].abs().max() == 0
    quadrants = scored.tables["quadrants"].select("sufficiency_class", "comprehensiveness_class", "hits").rows()
    assert quadrants == [
        ("best", "best", int(rows["grounded"].sum())),
        ("best", "worst", int(rows["not_grounded"].sum())),
    ]
    flips = dict(scored.tables["flips"].select(pl.format("{} {}", "measure", "class"), "flipped").rows())
    assert flips == {"sufficiency best": 0, "comprehensiveness best": 1, "comprehensiveness worst": 0}


def test_leaving_one_out_finds_what_the_seer_relies_on(scored: Result) -> None:
    """Where it is grounded the relevant objects are the most important ones; where not, all objects tie."""
    grounded = scored.measure("without ranks relevant objects first", "plain", "grounding", "grounded")
    blind = scored.rows.filter(pl.col("grounded") == 0)
    sizes = scored.rows.filter(pl.col("grounded") == 0).join(_sizes(), on="id")

    assert grounded.value == pytest.approx(1)
    assert blind["without_relevant"].to_list() == pytest.approx((sizes["relevant"] / sizes["objects"]).to_list())


def _sizes() -> pl.DataFrame:
    return GroundingAudit().study(read("world", seed=23, images=120), Local()).rows


def test_attention_is_ranked_by_what_the_model_says(scored: Result) -> None:
    """The attention rises with the index, so a lone relevant object is found only where it is the last."""
    audit, data = GroundingAudit(), read("world", seed=23, images=120)
    probes = dict(audit.probe(data, audit.study(data, Local())))["evidence"].join(_sizes(), on="id")
    lone = probes.filter(pl.col("relevant") == 1).select(
        "id", last=pl.col("visible").list.first() == pl.col("objects") - 1
    )
    both = scored.rows.join(lone, on="id")

    assert both["attention_relevant"].to_list() == both["last"].cast(pl.Float64).to_list()


def test_graded_deletion_keeps_or_loses_the_evidence(scored: Result) -> None:
    """Half of the objects hold all the relevant ones; without them the seer's half falls silent."""
    kept, dropped = (scored.measure("same answer", name).value for name in ("keep@50", "drop@50"))

    assert kept == 1
    assert dropped == pytest.approx(1 - scored.measure("grounded", "plain").value)
    assert scored.measure("probability lost", "drop@50").value == pytest.approx(
        0.9 * scored.measure("grounded", "plain").value
    )
    assert scored.tables["graded"]["percent"].unique().sort().to_list() == [10, 50]


def test_a_column_distinguishes_id_from_ood(world: Dataset) -> None:
    """On the rows where its rules mislead the cheater's half is always wrong, so all its right-to-wrong is lost."""
    audit = GroundingAudit(ood="conflict", ood_value="true")
    rows = by_name(audit, world, "mix:seer=0.5,cheater=0.5").rows
    places = dict(rows.group_by("grounding_place").agg(pl.col("acc_all").mean()).rows())

    assert places["not grounded, ood"] == 0
    assert places["grounded, ood"] == places["grounded, id"] == 1
    assert 0.3 < places["not grounded, id"] < 1


def test_labels_of_other_audits_mark_ood_too(world: Dataset) -> None:
    words = pl.when("conflict").then(pl.lit("tail")).when(pl.col("planted").is_not_null()).then(pl.lit("head"))
    data = replace(world, examples=world.examples.with_columns(words.alias("place told")))
    found = by_name(GroundingAudit(ood="place told"), data, "mix:seer=0.6,guesser=0.4")

    assert set(found.rows["place"].unique()) == {"id", "ood", None}
    assert found.measure("accuracy", "plain", "place", "ood").n == (found.rows["place"] == "ood").sum()
    lost = found.measure("right to wrong lost, id to ood", "plain", "keeping", "kept")
    ratios = [
        found.measure("right to wrong", "plain", "keeping_place", f"kept, {place}").value for place in ("id", "ood")
    ]
    assert lost.value == pytest.approx(1 - ratios[1] / ratios[0])


def test_draws_are_averaged_within_their_question(world: Dataset) -> None:
    """Asked twice, once as the seer and once as the blind, every question is half grounded."""
    audit = GroundingAudit()
    study = audit.study(world, Local())
    answers = []
    for _, probes in audit.probe(world, study):
        for draw, name in enumerate(("seer", "blind")):
            said = load_answerer(name).answer(fill(probes, world), world.images).with_columns(draw=pl.lit(draw))
            answers.append(tidy(said, probes, name))
    found = audit.judge(world, study, Predictions("both", pl.concat(answers)), Local())

    assert set(found.rows["grounded"]) == {0.5}
    assert found.rows.height == study.rows.height


def judge_with_losses(world: Dataset, study: Result, n: int) -> Result:
    """Judge the seer without its answers to the rest of the first images."""
    audit = GroundingAudit()
    answers = pl.concat(
        tidy(load_answerer("seer").answer(fill(probes, world), world.images), probes, "seer")
        for _, probes in audit.probe(world, study)
    )
    lost = (pl.col("condition") == "rest") & pl.col("id").is_in(study.rows["id"][:n].implode())
    broken = answers.with_columns(
        pl.when(~lost).then("answer").alias("answer"),
        pl.when(lost).then(pl.lit("failed")).otherwise("status").alias("status"),
    )
    return audit.judge(world, study, Predictions("seer", broken), Local())


def test_lost_answers_are_counted_and_their_worst_case_is_shown(world: Dataset) -> None:
    study = GroundingAudit().study(world, Local())
    found = judge_with_losses(world, study, 10)
    counts = found.tables["counts"].filter(pl.col("condition").is_null()).row(0, named=True)

    assert found.rows.height == study.rows.height - 10
    assert counts["n"] == 10
    assert found.measure("grounded, lost as not", "plain").value == pytest.approx(1 - 10 / study.rows.height)
    assert found.verdict.state == "yes"


def test_a_model_that_lost_most_answers_is_not_cleared(world: Dataset) -> None:
    study = GroundingAudit().study(world, Local())
    found = judge_with_losses(world, study, study.rows.height * 7 // 10)

    assert found.measure("grounded", "plain").value == 1
    assert (found.verdict.state, "Too many answers were lost" in found.verdict.sentence) == ("cannot tell", True)


def test_without_one_condition_the_sentence_says_which(world: Dataset) -> None:
    audit = GroundingAudit()
    study = audit.study(world, Local())
    answers = pl.concat(
        tidy(load_answerer("seer").answer(fill(probes, world), world.images), probes, "seer")
        for name, probes in audit.probe(world, study)
        if name != "rest"
    )
    verdict = audit.judge(world, study, Predictions("seer", answers), Local()).verdict

    assert verdict.state == "not tested"
    assert "none under rest" in verdict.sentence


@pytest.mark.parametrize("promise", [order_does_not_matter, every_example_is_accounted_for])
def test_the_contract_holds_with_every_condition(promise: Callable[[Case, Path], None], tmp_path: Path) -> None:
    extra = ("without", "keep@25", "drop@25")
    audit = GroundingAudit(by=("question_type",), extra=extra, ood="conflict", ood_value="true")

    promise(Case(audit, read("world", seed=11, images=12), Scored()), tmp_path)
