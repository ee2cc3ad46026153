"""Lists of ids go out as the authors released theirs, and come back."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.rules import RulesAudit
from eyechart.audits.rules.published import write_rules
from eyechart.base.errors import DataError, FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit
from eyechart.runs.verbs import study as study_data

AUDIT = RulesAudit(min_support=4)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=6, images=80)


@pytest.fixture(scope="module")
def study(world: Dataset) -> Result:
    return AUDIT.study(world, Local())


@pytest.fixture
def folder(study: Result, tmp_path: Path) -> Path:
    write_rules(study, tmp_path / "export")
    return tmp_path / "export"


def test_every_judged_example_is_in_one_list(study: Result, folder: Path) -> None:
    lists = {
        kind: json.loads((folder / name).read_text())
        for kind, name in (
            ("easy", "easy.json"),
            ("counterexample", "counterexamples.json"),
            ("uncovered", "hard.json"),
        )
    }

    for kind, ids in lists.items():
        assert ids == study.rows.filter(pl.col("kind") == kind)["id"].to_list()


def test_rules_are_written_in_words(study: Result, folder: Path) -> None:
    rules = json.loads((folder / "rules.json").read_text())

    assert len(rules) == study.tables["rules"].height - 1
    assert {rule["kind"] for rule in rules} == {"words", "objects", "mixed"}
    assert [one["kind"] for one in json.loads((folder / "prior.json").read_text())] == ["prior"]
    assert rules[0]["words"] == study.tables["rules"]["words"][0].to_list()
    assert {"objects", "answer", "kind", "support", "confidence", "held_out_confidence", "state"} <= set(rules[0])


@pytest.mark.parametrize(("shift", "kind"), [("", int), ("0", str)])
def test_ids_are_numbers_only_where_numbers_say_the_same(study: Result, tmp_path: Path, shift: str, kind: type) -> None:
    """An id with a leading zero would not come back from a number."""
    numbers = pl.Series("id", [f"{shift}{n + 1}" for n in range(study.rows.height)])
    renamed = Result(
        study.audit, "x", {}, study.measures, study.rows.with_columns(numbers), study.tables, (), study.verdict
    )
    write_rules(renamed, tmp_path)

    assert {type(one) for one in json.loads((tmp_path / "easy.json").read_text())} == {kind}


def test_exported_ids_judge_a_model_like_the_study_they_came_from(world: Dataset, folder: Path) -> None:
    """The same measures on the published subsets, beside those on subsets mined with other settings."""
    ids = str(folder / "counterexamples.json")
    own, back, other = (
        audit(world, "world:blind", [each])["rules"]
        for each in (AUDIT, replace(AUDIT, from_ids=ids), replace(AUDIT, from_ids=ids, min_support=12))
    )

    for group in ("easy", "counterexample", "uncovered"):
        accuracy = own.measure("accuracy", "plain", "kind", group)
        assert back.measure("accuracy", "plain", "kind", group) == accuracy
        for each in (back, other):
            assert replace(each.measure("accuracy", "plain", "published", group), by="kind") == accuracy
    for name in ("gap", "expected gap", "matched gap"):
        for each in (back, other):
            assert replace(each.measure(f"published {name}", "plain"), name=name) == own.measure(name, "plain")
    assert other.measure("gap", "plain") != own.measure("gap", "plain")
    assert back.verdict == own.verdict
    assert "Accuracy by published kind of example" in [view.title for view in back.views]


def test_published_ids_stand_beside_the_mined_ones(world: Dataset, study: Result, folder: Path) -> None:
    found = replace(AUDIT, from_ids=str(folder / "counterexamples.json"), min_support=12).study(world, Local())
    mined = replace(AUDIT, min_support=12).study(world, Local())

    assert found.rows.drop("published").equals(mined.rows)
    assert found.tables["rules"].equals(mined.tables["rules"])
    for kind, both, ours, theirs, of, overlap in found.tables["overlap"].iter_rows():
        own, published = (set(each.rows.filter(pl.col("kind") == kind)["id"]) for each in (mined, study))
        assert (both, ours, theirs) == (len(own & published), len(own - published), len(published - own))
        assert of == found.rows.height
        assert overlap == len(own & published) / len(own | published)
    both, ours, theirs = found.tables["overlap"].row(by_predicate=pl.col("kind") == "counterexample")[1:4]
    assert (
        f"{both} of the {both + ours} counterexamples are among the {both + theirs} published" in found.verdict.sentence
    )
    assert "overlap" in [view.table for view in found.views]
    assert "overlap" not in mined.tables


def test_what_no_list_names_is_easy(world: Dataset, study: Result, tmp_path: Path) -> None:
    """The authors released counterexamples and hard ones only."""
    ids = study.rows.filter(pl.col("kind") == "counterexample")["id"].to_list()
    (tmp_path / "ids.json").write_text(json.dumps(ids))
    found = RulesAudit(from_ids=str(tmp_path / "ids.json")).study(world, Local())

    assert found.rows["published"].value_counts(sort=True).rows() == [
        ("easy", found.rows.height - len(ids)),
        ("counterexample", len(ids)),
    ]


@pytest.mark.parametrize("text", ["{", '{"ids": [1]}', "[[1]]"])
def test_a_file_that_is_no_list_of_ids_is_refused(world: Dataset, tmp_path: Path, text: str) -> None:
    (tmp_path / "ids.json").write_text(text)

    with pytest.raises(FileFormatError, match="a JSON list of ids"):
        study_data(world, [RulesAudit(from_ids=str(tmp_path / "ids.json"))])


def test_a_missing_list_is_a_one_line_error(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="a JSON list of ids"):
        RulesAudit(from_ids=str(tmp_path / "none.json")).study(world, Local())


def test_a_list_of_other_data_is_refused(world: Dataset, tmp_path: Path) -> None:
    (tmp_path / "ids.json").write_text("[1, 2, 3]")

    with pytest.raises(DataError, match="none of its 3 ids"):
        RulesAudit(from_ids=str(tmp_path / "ids.json")).study(world, Local())


def test_only_a_study_of_rules_is_written(tmp_path: Path, world: Dataset) -> None:
    other = study_data(world, ["accuracy"])["accuracy"]

    with pytest.raises(DataError, match="a study of the audit 'rules'"):
        write_rules(other, tmp_path)
