"""Which audits are left out for files of answers, against what the audits really ask."""

from dataclasses import dataclass, replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits import AUDITS, keep_served, make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.grounding import GroundingAudit
from eyechart.audits.perception import PerceptionAudit
from eyechart.base.errors import ModelError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.protocols import AnnouncingAudit, Audit, Engine
from eyechart.data.result import Result
from eyechart.data.tables import COUNTS, empty
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit

ALL = [make_audit(name) for name in AUDITS.names()]
VARIED = (
    PerceptionAudit(removal=("none", "blank"), draws=2),
    PerceptionAudit(removal=("guess",)),
    PerceptionAudit(modalities=("image+question",)),
    PerceptionAudit(modalities=("image", "question"), interactions=True, precision=2.0),
    GroundingAudit(extra=("keep@25",)),
    DecoysAudit(sets=("orig",)),
    DecoysAudit(sets=("iou", "qou"), ask=("orig",), hide=("image",)),
)


@dataclass(frozen=True)
class Shelf:
    """A file in which everything is answered with yes, under some conditions."""

    held: frozenset[str]
    name: str = "shelf"

    def holds(self, condition: str) -> bool:
        return condition in self.held

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        return empty(COUNTS)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", pl.lit("yes").alias("answer"))


@dataclass(frozen=True)
class Anybody:
    """A model that can be asked anything."""

    name: str = "anybody"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", pl.lit("yes").alias("answer"))


def asked(chosen: Audit, data: Dataset) -> set[str]:
    """Study and probe, and see under which conditions."""
    return {condition for condition, _ in chosen.probe(data, chosen.study(data, Local()))}


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", images=30, seed=3)


@pytest.fixture(scope="module")
def wanted(world: Dataset) -> dict[str, set[str]]:
    return {chosen.name: asked(chosen, world) for chosen in ALL}


def test_every_registered_audit_announces_part_of_what_it_asks_or_asks_plain_alone(
    world: Dataset, wanted: dict[str, set[str]]
) -> None:
    for chosen in ALL:
        assert isinstance(chosen, AnnouncingAudit)
        told = set(chosen.beyond_plain(world))
        assert "plain" not in told
        assert told & wanted[chosen.name] if told else wanted[chosen.name] == {"plain"}


@pytest.mark.parametrize("chosen", VARIED, ids=lambda audit: audit.name)
def test_what_is_announced_changes_with_the_settings(
    chosen: PerceptionAudit | GroundingAudit | DecoysAudit, world: Dataset
) -> None:
    assert asked(chosen, world) & set(chosen.beyond_plain(world))


@pytest.mark.parametrize("chosen", [PerceptionAudit(), DecoysAudit()], ids=lambda audit: audit.name)
def test_what_is_announced_fits_data_without_images_and_options(
    chosen: PerceptionAudit | DecoysAudit, world: Dataset
) -> None:
    no_image = pl.lit(None, pl.String).alias("image")
    bare = replace(world, examples=world.examples.drop("choices").with_columns(no_image))

    assert asked(chosen, bare) & set(chosen.beyond_plain(bare))


@settings(deadline=None, max_examples=200)
@given(pick=st.data())
def test_only_what_cannot_be_judged_is_left_out(
    world: Dataset, wanted: dict[str, set[str]], pick: st.DataObject
) -> None:
    """Judged is who answered under all conditions of an audit; who answered under none but plain is not kept for it."""
    every = sorted(set.union(*wanted.values()))
    held = frozenset(pick.draw(st.sets(st.sampled_from(every), min_size=1)) | {"plain"})
    served = keep_served(ALL, [Shelf(held)], world)

    assert {chosen.name for chosen in served.audits} | set(served.left_out) == wanted.keys()
    assert {name for name, conditions in wanted.items() if conditions <= held}.isdisjoint(served.left_out)
    assert all(held & (wanted[kept.name] - {"plain"} or {"plain"}) for kept in served.audits)


def test_answers_without_plain_leave_out_what_asks_it_alone(world: Dataset) -> None:
    served = keep_served(ALL, [Shelf(frozenset({"orig"}))], world)

    assert [chosen.name for chosen in served.audits] == ["decoys"]
    assert served.left_out["accuracy"] == "no answers under plain"


def test_files_serve_together_and_a_model_that_can_be_asked_serves_all(world: Dataset) -> None:
    plain, evidence = Shelf(frozenset({"plain"})), Shelf(frozenset({"plain", "evidence"}))

    assert set(keep_served(ALL, [plain, evidence], world).left_out) == {"decoys", "perception"}
    assert keep_served(ALL, [plain, Anybody()], world) == (ALL, {})


def test_answers_that_serve_no_audit_are_one_clear_error_before_any_study(world: Dataset) -> None:
    with pytest.raises(ModelError, match=r"answers of shelf for an audit; found accuracy \(no answers under plain\)"):
        keep_served(ALL, [Shelf(frozenset({"strange"}))], world)


@dataclass(frozen=True)
class Silent:
    """Somebody's audit, which does not say what it asks."""

    name = "silent"
    needs = ()

    study = Accuracy.study
    probe = Accuracy.probe
    judge = Accuracy.judge


def test_an_audit_that_announces_nothing_is_studied(world: Dataset) -> None:
    served = keep_served([Accuracy(), Silent()], [Shelf(frozenset({"strange"}))], world)

    assert [chosen.name for chosen in served.audits] == ["silent"]


def test_the_front_door_leaves_out_what_was_not_named(world: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    studied = []

    def study(self: GroundingAudit, data: Dataset, engine: Engine) -> Result:
        studied.append(self.name)
        raise NotImplementedError

    monkeypatch.setattr(GroundingAudit, "study", study)

    assert set(audit(world, Shelf(frozenset({"plain"})))) == {"accuracy", "rules", "splits"}
    assert studied == []
    with pytest.raises(NotImplementedError):
        audit(world, Shelf(frozenset({"plain"})), ["grounding"])
