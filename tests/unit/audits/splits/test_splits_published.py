"""Sets go out in the authors' layout and come back, and others' published sets are read."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.export import write_gqa_ood, write_splits
from eyechart.audits.splits.settings import NINE
from eyechart.base.errors import DataError, FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.exports import find_exporter
from eyechart.runs.verbs import audit
from eyechart.runs.verbs import study as study_data


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=6, images=100)


@pytest.fixture(scope="module")
def study(world: Dataset) -> Result:
    return SplitsAudit().study(world, Local())


def load(path: Path) -> list[dict[str, object]]:
    return json.loads(path.read_text(encoding="utf-8"))


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def published(world: Dataset, folder: Path) -> Result:
    return SplitsAudit(from_folder=str(folder)).study(world, Local())


def test_exported_sets_survive_the_round_trip(world: Dataset, study: Result, tmp_path: Path) -> None:
    write_splits(world, study, tmp_path)

    back = published(world, tmp_path)

    columns = ["id", "cluster", *NINE]
    assert back.rows.select(columns).equals(study.rows.select(columns))


def test_the_layout_is_that_of_the_authors(world: Dataset, study: Result, tmp_path: Path) -> None:
    written = write_splits(world, study, tmp_path)

    tail = study.rows.filter(pl.col("QT+KW") == "tail")["id"].to_list()
    place = tmp_path / "OOD-Test" / "QT+KW" / "OOD-Test-QT+KW"
    questions, answers = load(Path(f"{place}-Ques.json")), load(Path(f"{place}-Ans.json"))
    assert [one["question_id"] for one in questions] == [one["question_id"] for one in answers] == tail
    assert set(questions[0]) == {"image_id", "question", "question_id"}
    named = {"question_type", "multiple_choice_answer", "answers", "image_id", "answer_type", "question_id"}
    assert set(answers[0]) == named
    assert answers[0]["answers"][0].keys() == {"answer", "answer_id"}  # type: ignore[index]
    sizes = {part: len(load(tmp_path / part / f"{part}-Ques.json")) for part in ("Training", "Val", "IID-Test")}
    assert sizes == {"Training": 300, "Val": 50, "IID-Test": 150}
    assert written["ids/QT+KW_tail.json"] == len(tail)


def test_the_files_can_be_read_as_vqa(world: Dataset, study: Result, tmp_path: Path) -> None:
    write_splits(world, study, tmp_path)

    back = read("vqa2", tmp_path / "IID-Test").examples.sort("id")

    theirs = world.examples.filter(pl.col("split") == "test").sort("id")
    assert back.select("id", "image", "question", "answer", "question_type", "answers").equals(
        theirs.select("id", "image", "question", "answer", "question_type", "answers")
    )


def test_ids_that_are_numbers_are_written_as_numbers(tiny: Dataset, tmp_path: Path) -> None:
    numbered = Dataset("n", tiny.examples.with_columns(id=pl.lit("1") + pl.col("id")), tiny.images)

    write_splits(numbered, SplitsAudit(concepts=("QT",)).study(numbered, Local()), tmp_path)

    assert [one["question_id"] for one in load(tmp_path / "IID-Test" / "IID-Test-Ques.json")] == [104, 105, 106, 107]


def test_exported_sets_are_judged_on_the_same_examples(world: Dataset, study: Result, tmp_path: Path) -> None:
    """IID-Test is the test split, whose examples the OOD test sets hold once more."""
    write_splits(world, study, tmp_path)

    back = read("vqa2", tmp_path).decide()

    assert (back.division.learn, back.division.judge) == (("train",), ("test",))  # type: ignore[union-attr]
    assert back.examples["split"].value_counts(sort=True).rows() == [("train", 300), ("test", 150), ("val", 50)]
    repeated = sum(int((study.rows[name] == "tail").sum()) for name in NINE)
    assert fates(back)["dropped", "question of an OOD test set, read before"] == repeated
    assert fates(back)["dropped", "annotation of an OOD test set, read before"] == repeated
    assert set(fates(back)) == {("read", None), *(key for key in fates(back) if key[1] and "OOD" in key[1])}
    columns = ["id", *NINE]
    assert published(back, tmp_path).rows.select(columns).equals(study.rows.select(columns))
    accepted = study_data(back, ["splits", "rules", "accuracy"])
    assert {result.rows.height for result in accepted.values()} == {150}
    assert accepted["splits"].rows.select("id", "QT").equals(study.rows.select("id", "QT"))


def test_a_study_that_divided_the_data_itself_is_not_exported(world: Dataset, study: Result, tmp_path: Path) -> None:
    """An older eyechart could; which examples it learned from is not known any more."""
    old = replace(study, settings=study.settings | {"resplit": "question"})

    with pytest.raises(SettingError, match="study again"):
        write_splits(world, old, tmp_path)


def test_heads_and_tails_in_the_form_of_gqa_survive_the_round_trip(
    world: Dataset, study: Result, tmp_path: Path
) -> None:
    write_gqa_ood(world, study, tmp_path)

    back = published(world, tmp_path)

    assert back.rows.select("id", *NINE).equals(study.rows.select("id", *NINE))
    record = json.loads((tmp_path / "KO_head.json").read_text())
    assert next(iter(record.values())).keys() == {"question", "answer", "imageId", "types"}


def test_the_authors_list_of_lists_is_read(world: Dataset, study: Result, tmp_path: Path) -> None:
    ids = study.rows["id"].to_list()
    content = {"annotations": [], "QT_qid": ids[:3], "QTKW_qid": ids[3:5], "QTKWKO_qid": []}
    (tmp_path / "test_annotations.json").write_text(json.dumps(content))

    rows = published(world, tmp_path).rows

    assert rows.filter(pl.col("QT") == "tail")["id"].to_list() == ids[:3]
    assert rows.filter(pl.col("QT+KW") == "tail")["id"].to_list() == ids[3:5]
    assert "QT+KW+KO" in rows.columns


def test_plain_lists_are_tails_named_after_their_file(world: Dataset, study: Result, tmp_path: Path) -> None:
    ids = study.rows["id"].to_list()
    (tmp_path / "hard.txt").write_text("\n".join(ids[:4]))
    with gzip.open(tmp_path / "odd.json.gz", "wt") as file:
        json.dump([*ids[4:6], "nobody's"], file)

    found = published(world, tmp_path)

    assert found.rows.filter(pl.col("hard") == "tail")["id"].to_list() == ids[:4]
    assert "1 of 3 ids of odd tail are not judged" in found.tables["notes"]["note"].to_list()


def test_a_model_is_judged_on_published_sets(world: Dataset, study: Result, tmp_path: Path) -> None:
    write_splits(world, study, tmp_path)

    again = audit(world, "world:cheater", [SplitsAudit(from_folder=str(tmp_path))])["splits"]
    once = audit(world, "world:cheater", [SplitsAudit()])["splits"]

    for name in NINE:
        for side in ("head", "tail"):
            if (study.rows[name] == side).any():
                assert again.measure("accuracy", "plain", name, side) == once.measure("accuracy", "plain", name, side)


@pytest.mark.parametrize("content", ['{"a": [1]', "[[1, 2]]", "[null]"])
def test_files_that_are_no_lists_are_refused(world: Dataset, tmp_path: Path, content: str) -> None:
    (tmp_path / "QT.json").write_text(content)

    with pytest.raises(FileFormatError):
        published(world, tmp_path)


def test_sets_of_other_data_are_refused(world: Dataset, tmp_path: Path) -> None:
    (tmp_path / "QT.json").write_text("[1, 2]")

    with pytest.raises(DataError, match="none of 2 ids"):
        published(world, tmp_path)


def test_a_run_exports_its_study(world: Dataset, tmp_path: Path) -> None:
    study_data(world, ["splits"], to=tmp_path / "run")
    for name in ("splits", "splits-gqa"):
        written = find_exporter(name)(Store(tmp_path / "run"), tmp_path / name)
        assert sum(written.values()) > 0
        assert all((tmp_path / name / file).is_file() for file in written)


def test_a_run_without_the_study_says_so(world: Dataset, tmp_path: Path) -> None:
    study_data(world, ["accuracy"], to=tmp_path / "run")
    for name in ("splits", "splits-gqa", "splits-models", "splits-selection"):
        with pytest.raises(DataError, match="audit 'splits'"):
            find_exporter(name)(Store(tmp_path / "run"), tmp_path)
