"""The placebo boxes against a literal count of pixels, and what the contrast with them says of an answerer."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits import make_audit, remake_audit
from eyechart.audits.grounding import GroundingAudit
from eyechart.base.errors import DataError, SettingError
from eyechart.base.hashing import hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from eyechart.runs.verbs import audit
from eyechart.world import load_answerer

Make = Callable[..., Dataset]
WIDE, HIGH = 60, 40
THING, AWAY, LARGE = (2.0, 2.0, 12.0, 12.0), (30.0, 20.0, 40.0, 30.0), (20.0, 10.0, 59.0, 39.0)
SIDES = st.tuples(st.integers(0, WIDE - 2), st.integers(0, HIGH - 2), st.integers(2, 25), st.integers(2, 25))
BOX = SIDES.map(lambda b: tuple(map(float, (b[0], b[1], min(b[0] + b[2], WIDE), min(b[1] + b[3], HIGH)))))
SCENES = st.lists(st.tuples(st.lists(BOX, min_size=1, max_size=3), st.lists(BOX, max_size=8)), min_size=1, max_size=5)
FEW = 4  # objects


def pixels(boxes: list) -> np.ndarray:
    """Paint whole-numbered boxes on a picture."""
    painted = np.zeros((HIGH, WIDE), bool)
    for left, top, right, bottom in ([int(side) for side in box] for box in boxes):
        painted[top:bottom, left:right] = True
    return painted


def scenes_as_data(scenes: list) -> Dataset:
    """Write scenes down, each evidence as the first objects; far boxes keep numbers from passing as shares."""
    marked = [[{"label": "x", "box": box} for box in evidence] for evidence, _ in scenes]
    objects = [[{"label": "x", "box": box, "score": 1.0} for box in (*evidence, *rest)] for evidence, rest in scenes]
    names = [f"i{at}" for at in range(len(scenes))]
    evidence = pl.Series(marked, dtype=pl.List(EVIDENCE))
    examples = pl.DataFrame({"id": names, "image": names, "question": "?", "answer": "a", "evidence": evidence})
    sizes = {"width": [WIDE] * len(names), "height": [HIGH] * len(names)}
    images = pl.DataFrame({"image": names, "objects": pl.Series(objects, dtype=pl.List(OBJECT)), **sizes})
    return Dataset("x", examples, Images(images))


def placebos(audit_: GroundingAudit, data: Dataset) -> dict[str, dict[str, list]]:
    """Probe the questions that can be judged, and return what is shown by condition and question."""
    try:
        study = audit_.study(data, Local())
    except DataError:  # no question can be judged
        return {}
    found = {}
    for condition, probes in audit_.probe(data, study):
        found[condition] = {row["id"]: row for row in probes.to_dicts()}
    return found


@settings(deadline=None, max_examples=40)
@given(SCENES, st.sampled_from(["objects", "pixels", "auto"]))
def test_a_placebo_is_as_large_as_the_evidence_and_elsewhere(scenes: list, sees: str) -> None:
    """Count pixels: the area is within 25 % of the evidence's, and at most 25 % of each evidence box is covered."""
    found = placebos(GroundingAudit(sees=sees, min_size=0), scenes_as_data(scenes))
    for name, row in found.get("placebo", {}).items():
        evidence, rest = scenes[int(name[1:])]
        objects = [*evidence, *rest]
        drawn = [~pixels(row["hidden"])] if "hidden" in row else []
        if "visible" in row and not overlap(objects):
            drawn.append(pixels([objects[at] for at in row["visible"]]))
        for shown in drawn:
            assert 0.75 <= shown.sum() / pixels(evidence).sum() <= 1.25
            assert all((shown & pixels([box])).sum() <= 0.25 * pixels([box]).sum() for box in evidence)
        if "hidden" in row:
            assert np.array_equal(pixels(found["rest-placebo"][name]["hidden"]), ~pixels(row["hidden"]))
        if "visible" in row:
            assert not set(row["visible"]) & set(found["rest-placebo"][name]["visible"])
            assert not set(row["visible"]) & set(found["evidence"][name]["visible"])
            assert set(found["evidence"][name]["visible"]) <= set(found["rest-placebo"][name]["visible"])


def overlap(objects: list) -> bool:
    """Return whether any overlap; then objects where a drawn one is are shown with it."""
    return bool(sum(pixels([box]).astype(int) for box in objects).max() > 1)


@settings(deadline=None, max_examples=12)
@given(SCENES, st.sampled_from(["objects", "pixels", "auto"]), st.randoms())
def test_the_same_boxes_are_drawn_in_any_order_and_company(scenes: list, sees: str, chance) -> None:  # noqa: ANN001
    audit_, data = GroundingAudit(sees=sees), scenes_as_data(scenes)
    order = list(range(len(scenes)))
    chance.shuffle(order)
    shuffled = replace(data, examples=data.examples[order])
    whole = placebos(audit_, data).get("placebo", {})

    assert placebos(audit_, shuffled).get("placebo", {}) == whole
    for at in order:
        alone = placebos(audit_, replace(data, examples=data.examples[[at]])).get("placebo", {})
        assert {name: row for name, row in whole.items() if name == f"i{at}"} == alone


@settings(deadline=None, max_examples=20)
@given(SCENES)
def test_an_object_that_fits_by_itself_is_always_found(scenes: list) -> None:
    audit_ = GroundingAudit(sees="objects")
    found = placebos(audit_, scenes_as_data(scenes))
    for name in found.get("plain", {}):
        evidence, rest = scenes[int(name[1:])]
        size = pixels(evidence).sum()
        irrelevant = [(*evidence, *rest)[at] for at in found["rest"][name]["visible"]]
        fitting = [box for box in irrelevant if 0.75 <= pixels([box]).sum() / size <= 1.25]
        if fitting:
            assert name in found["placebo"]


def test_boxes_drawn_once_stay_drawn() -> None:
    """Answers were paid for under these probes."""
    world = read("world", seed=21, images=20)
    found = {
        sees: [probes["probe"].to_list() for probes in dict(_probes(GroundingAudit(sees=sees), world)).values()][3:]
        for sees in ("auto", "pixels")
    }

    assert {sees: hash_text(pl.Series([json.dumps(each)]))[0] for sees, each in found.items()} == RECORDED


RECORDED = {"auto": 18138741585063641954, "pixels": 16445752404221637204}


def _probes(audit_: GroundingAudit, data: Dataset) -> list:
    return list(audit_.probe(data, audit_.study(data, Local())))


def test_without_the_size_of_a_picture_nothing_is_moved(make_data: Make) -> None:
    audit_, data = GroundingAudit(), make_data([[THING]], [None], size=None)
    study = audit_.study(data, Local())

    assert [name for name, _ in audit_.probe(data, study)] == ["plain", "evidence", "rest"]
    assert study.measure("matched", "placebo").value == 0
    assert "1 questions have no placebo" in study.verdict.sentence


def test_switched_off_it_asks_what_the_paper_asks(make_data: Make) -> None:
    audit_, data = GroundingAudit(placebo=False), make_data([[THING]], [[THING, AWAY]])

    assert [name for name, _ in _probes(audit_, data)] == ["plain", "evidence", "rest"]
    assert make_audit("grounding", {"placebo": "0"}) == audit_
    with pytest.raises(SettingError, match="placebo"):
        make_audit("grounding", {"placebo": "sometimes"})


@dataclass(frozen=True)
class Noise:
    """Answer yes or no by a hash of what is shown, and never look at its content."""

    name: str = "noise"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        shown = pl.Series([f"{row['id']}|{row.get('visible')}" for row in probes.iter_rows(named=True)])
        return probes.select("id", answer=pl.Series(np.where(hash_text(shown) % 2 == 0, "yes", "no")))


@dataclass(frozen=True)
class Counter:
    """Say yes to a whole picture or to few objects, and no to anything else."""

    name: str = "counter"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        if "visible" not in probes.columns:
            return probes.select("id", answer=pl.lit("yes"))
        few = pl.col("visible").list.len() <= FEW
        return probes.select("id", answer=pl.when(few).then(pl.lit("yes")).otherwise(pl.lit("no")))


def judged(audit_: GroundingAudit, data: Dataset, model: Model, without: tuple[str, ...] = ()) -> Result:
    """Study, probe, ask and judge in memory, without the answers under some conditions."""
    study = audit_.study(data, Local())
    answers = [
        tidy(model.answer(fill(probes, data), data.images), probes, model.name)
        for name, probes in audit_.probe(data, study)
        if name not in without
    ]
    return audit_.judge(data, study, Predictions(model.name, pl.concat(answers)), Local())


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=1004, images=240)


@pytest.mark.parametrize("sees", ["objects", "auto"])
def test_an_answer_that_hangs_on_nothing_is_not_taken_for_grounded(world: Dataset, sees: str) -> None:
    """By a hash of what is shown a fifth of the answers is grounded; in other boxes no fewer are."""
    found = judged(GroundingAudit(sees=sees), world, Noise())
    contrast = found.measure("grounded beyond placebo", "placebo")

    assert found.measure("grounded", "plain").low > 0.15
    assert found.measure("grounded", "placebo").low > 0.15
    assert contrast.low < 0 < contrast.high
    assert (found.verdict.state, found.headline) == ("no", contrast)


def test_a_model_that_counts_objects_is_not_cleared(world: Dataset) -> None:
    """Nearly all of its answers stay with the evidence and change without it, whatever the evidence shows."""
    found = judged(GroundingAudit(), world, Counter())

    assert found.measure("grounded", "plain").low > 0.9
    assert abs(found.measure("grounded beyond placebo", "placebo").value) < 0.05
    assert found.verdict.state == "no"


@pytest.mark.parametrize("sees", ["auto", "objects", "pixels"])
def test_who_looks_is_grounded_in_the_evidence_alone(world: Dataset, sees: str) -> None:
    found = judged(GroundingAudit(sees=sees), world, load_answerer("seer"))

    assert found.measure("grounded", "placebo").value == 0
    assert found.measure("grounded beyond placebo", "placebo").value > 0.95
    assert found.tables["contrast"]["boxes"].to_list() == ["evidence", "placebo"]
    assert found.verdict.state == "yes"


@pytest.mark.parametrize(("share", "states"), [(0.3, {"no", "cannot tell"}), (0.7, {"yes"})])
def test_a_mixture_is_judged_by_the_share_that_it_looks_at(world: Dataset, share: float, states: set[str]) -> None:
    found = judged(GroundingAudit(), world, load_answerer(f"mix:seer={share},guesser={1 - share:.1f}"))
    contrast = found.measure("grounded beyond placebo", "placebo")

    assert contrast.low - 0.02 < share < contrast.high + 0.02
    assert found.verdict.state in states


def test_too_few_questions_with_a_placebo_are_not_judged(make_data: Make) -> None:
    """Only one of three pictures has an object as large as the evidence."""
    data = make_data([[THING]] * 3, [[THING, AWAY], [THING, LARGE], [THING, LARGE]])
    found = judged(GroundingAudit(), data, Counter())

    assert found.rows.height == 3
    assert found.rows["contrast"].null_count() == 2
    assert found.verdict.state == "cannot tell"
    assert "only 33% of the questions have other boxes" in found.verdict.sentence
    assert "2 questions have no placebo" in " ".join(found.tables["notes"]["note"])


@pytest.mark.parametrize("without", [("placebo", "rest-placebo"), ("rest-placebo",)])
def test_without_the_placebo_conditions_it_is_not_tested(world: Dataset, without: tuple[str, ...]) -> None:
    found, whole = (judged(GroundingAudit(), world, load_answerer("seer"), each) for each in (without, ()))

    assert found.verdict.state == "not tested"
    assert "`eyechart probe RUN` writes the missing probes, placebo and rest-placebo" in found.verdict.sentence
    assert found.headline == whole.measure("grounded", "plain")
    assert "FPVG+ is 100.0" in found.verdict.sentence


def test_switched_off_it_is_not_tested(world: Dataset) -> None:
    found = judged(GroundingAudit(placebo=False), world, load_answerer("seer"))

    assert (found.verdict.state, found.measure("grounded", "plain").value) == ("not tested", 1)
    assert "grounding.placebo=1" in found.verdict.sentence


@pytest.mark.parametrize(("model", "state"), [("seer", "yes"), ("blind", "no")])
@pytest.mark.parametrize(("lost", "is_sure"), [(0.02, True), (0.7, False)])
def test_lost_answers_count_against_a_conclusion(
    world: Dataset, model: str, state: str, lost: float, *, is_sure: bool
) -> None:
    audit_ = GroundingAudit()
    study = audit_.study(world, Local())
    answers = pl.concat(
        tidy(load_answerer(model).answer(fill(probes, world), world.images), probes, model)
        for _, probes in audit_.probe(world, study)
    )
    ids = study.rows["id"][: int(lost * study.rows.height)]
    failed = (pl.col("condition") == "rest-placebo") & pl.col("id").is_in(ids.implode())
    broken = answers.with_columns(pl.when(failed).then(pl.lit("failed")).otherwise("status").alias("status"))
    found = audit_.judge(world, study, Predictions(model, broken), Local())

    assert found.measure("grounded beyond placebo", "placebo").n == study.rows.height - len(ids)
    assert found.verdict.state == (state if is_sure else "cannot tell")
    assert ("Too many answers were lost" in found.verdict.sentence) != is_sure


def test_right_implies_grounded_is_a_share_of_the_right_answers(world: Dataset) -> None:
    found = judged(GroundingAudit(), world, load_answerer("mix:seer=0.5,blind=0.5"))
    right = found.rows.filter(pl.col("acc_all") == 1)
    measure = found.measure("right implies grounded", "plain")

    assert measure.value == pytest.approx(right["grounded"].sum() / right.height)
    assert (measure.n, measure.unit, measure.better) == (right.height, "points", "higher")


def answer_files(folder: Path, data: Dataset, conditions: tuple[str, ...]) -> str:
    """Write the seer's answers under some conditions, and name them as a model."""
    audit_, parts = GroundingAudit(), []
    for name, probes in _probes(audit_, data):
        answers = load_answerer("seer").answer(fill(probes, data), data.images)
        answers.write_csv(folder / f"{name}.csv")
        parts += [f"{name}={folder / name}.csv"] if name in conditions else []
    return "predictions:" + ",".join(parts)


PUBLISHED = ("plain", "evidence", "rest")


@pytest.mark.parametrize("named", [["grounding"], None])
def test_files_for_the_paper_are_judged_as_published(world: Dataset, tmp_path: Path, named: list[str] | None) -> None:
    """They lack the placebo, which leaves the audit in, whether it was named or not."""
    found = audit(world, answer_files(tmp_path, world, PUBLISHED), named)["grounding"]

    assert (found.verdict.state, found.measure("grounded", "plain").value) == ("not tested", 1)


def test_files_with_a_placebo_are_judged_by_it(world: Dataset, tmp_path: Path) -> None:
    model = answer_files(tmp_path, world, (*PUBLISHED, "placebo", "rest-placebo"))

    assert audit(world, model, ["grounding"])["grounding"].verdict.state == "yes"


def test_a_run_of_an_older_version_is_judged_as_published_until_it_is_probed_again(
    world: Dataset, tmp_path: Path
) -> None:
    """Its plan knows no placebo and its `least` was that of FPVG+; its probes and answers stay valid."""
    run = Run(Store(tmp_path / "run"), asking=Asking(batch=2000)).start(world)
    run.study([GroundingAudit(placebo=False)])
    run.audit(load_answerer("seer"))
    _rewrite(run.store.plan_file("grounding"), lambda plan: plan["settings"].update(least=0.5))
    _rewrite(run.store.plan_file("grounding"), lambda plan: plan["settings"].pop("placebo"))
    _rewrite(run.store.wanted_file, lambda wanted: wanted.pop("spare"))
    before = run.judge("seer")["grounding"].verdict
    old = {name: run.store.probes(name) for name in PUBLISHED}
    run.probe()
    unanswered = run.judge("seer")["grounding"].verdict
    left = run.calls(load_answerer("seer"))
    run.predict(load_answerer("seer"))

    assert before.state == unanswered.state == "not tested"
    assert "`eyechart probe RUN`" in before.sentence
    assert all(run.store.probes(name).equals(probes) for name, probes in old.items())
    assert {name for name, n in left.items() if n} == {"placebo", "rest-placebo"}
    assert run.judge("seer")["grounding"].verdict.state == "yes"


def test_the_price_of_the_placebo_is_known_before_anything_is_asked(world: Dataset, tmp_path: Path) -> None:
    """It takes two calls more for each question."""
    prices = {}
    for placebo in (True, False):
        run = Run(Store(tmp_path / str(placebo))).start(world)
        run.study([GroundingAudit(placebo=placebo)])
        run.probe()
        prices[placebo] = run.calls(load_answerer("seer"))

    n = prices[False]["plain"]
    assert prices[False] == dict.fromkeys(PUBLISHED, n)
    assert prices[True] == dict.fromkeys((*PUBLISHED, "placebo", "rest-placebo"), n)


def _rewrite(file: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def test_an_older_requirement_of_fpvg_is_not_one_of_the_contrast() -> None:
    assert remake_audit("grounding", {"least": 0.5, "iou": 0.6}) == GroundingAudit(iou=0.6)
    assert remake_audit("grounding", {"least": 0.5, "placebo": True}) == GroundingAudit(least=0.5)
