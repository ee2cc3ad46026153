"""However rows of these formats are damaged: rows in = rows read + rows dropped, or one clear error."""

import csv
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError
from eyechart.data.dataset import Dataset
from eyechart.formats.nextqa import read_nextqa
from eyechart.formats.pope import read_pope
from eyechart.formats.socialiq import RowForm, read_socialiq
from eyechart.formats.visdial import read_visdial
from eyechart.formats.vlmeval import read_vlmeval

WORDS = st.sampled_from(
    ["", " ", "a", "b", "0", "1", "A", "nan", "\u0130\u0301", "a\u2028b", "\U0001f642", "x#2", "[']"]
)
SCALARS = st.none() | st.booleans() | st.integers(-2, 5) | st.floats(-1, 3) | WORDS
VALUES = (
    SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.sampled_from(["a", "answer"]), SCALARS, max_size=2)
)
CELLS = WORDS | st.text(max_size=4) | st.sampled_from(["2", "1000001", "['a', 'b']", "A" * 80, "not base64! " * 9])
FEW = settings(deadline=None)


def damaged(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
    """Draw records with fields missing, null, repeated or of any type, among entries that are none."""
    drawn = {name: values | VALUES for name, values in fields.items()}
    sound = st.fixed_dictionaries(fields)
    return st.lists(sound | st.fixed_dictionaries({}, optional=drawn) | VALUES, max_size=8)


def tables(names: list[str]) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=8)


def attempt(reader: Callable[[Path], Dataset], file: str, write: Callable[[Path], object]) -> Dataset | None:
    """Read a file, or nothing where the reader says clearly that it cannot; any other exception is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write(path)
        try:
            return reader(path)
        except EyechartError:
            return None


def total(data: Dataset) -> int:
    return int(data.counts.filter(pl.col("status").is_in(["read", "dropped"]))["n"].sum())


def read_lines(reader: Callable[[Path], Dataset], file: str, entries: list[Any]) -> Dataset | None:
    return attempt(reader, file, lambda path: path.write_text("\n".join(map(json.dumps, entries))))


def read_cells(reader: Callable[[Path], Dataset], file: str, rows: list[list[str]]) -> Dataset | None:
    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as open_file:
            csv.writer(open_file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)

    return attempt(reader, file, write)


KEYS = st.integers(0, 3) | st.sampled_from(["0", "x", "x#2"])
SOCIAL = {
    "qid": KEYS,
    "q": WORDS,
    "vid_name": KEYS,
    "answer_idx": st.integers(0, 4),
    "idx_types": st.lists(WORDS, max_size=5),
    **{f"a{at}": WORDS for at in range(4)},
}


@given(damaged(SOCIAL), st.sampled_from(["choice", "binary"]))
@FEW
def test_every_question_of_socialiq_or_each_of_its_candidates_has_a_fate(entries: list[Any], form: RowForm) -> None:
    entries = [{"qid": "sound", "q": "why?", "a0": "x", "a1": "y", "answer_idx": 1}, *entries]

    data = read_lines(lambda path: read_socialiq(path, form=form), "qa_val.jsonl", entries)

    assert data is not None
    assert total(data) == len(entries) * (4 if form == "binary" else 1)


@given(damaged({"question_id": KEYS, "image": KEYS, "text": WORDS, "label": WORDS}))
@FEW
def test_every_question_of_pope_has_a_fate(entries: list[Any]) -> None:
    entries = [{"question_id": "sound", "image": "1.jpg", "text": "is it?", "label": "yes"}, *entries]

    data = read_lines(read_pope, "coco_pope_random.jsonl", entries)

    assert data is not None
    assert total(data) == len(entries)


INDICES = st.integers(-1, 3)
ROUND = {
    "question": INDICES,
    "answer": INDICES,
    "answer_options": st.lists(INDICES, max_size=3),
    "gt_index": INDICES,
}
DIALOG = {"image_id": KEYS, "caption": WORDS, "dialog": damaged(ROUND)}
DENSE = {"image_id": KEYS, "round_id": st.integers(0, 3), "relevance": st.lists(st.floats(0, 1), max_size=3)}


@given(damaged(DIALOG), damaged(DENSE))
@FEW
def test_every_round_of_visdial_has_a_fate(dialogs: list[Any], dense: list[Any]) -> None:
    content = {"data": {"questions": ["a?", "b?", ""], "answers": ["yes", "no", "yes"], "dialogs": dialogs}}

    def reader(path: Path) -> Dataset:
        path.with_name("dense.json").write_text(json.dumps(dense))
        return read_visdial(path, dense=path.with_name("dense.json"))

    data = attempt(reader, "v.json", lambda path: path.write_text(json.dumps(content)))

    rounds = [one["dialog"] for one in dialogs if isinstance(one, dict) and isinstance(one.get("dialog"), list)]
    assert data is not None
    assert total(data) == sum(map(len, rounds))


NEXT = ["video", "qid", "question", "answer", "type", "width", "a0", "a1", "a2"]


@given(tables(NEXT))
@FEW
def test_every_row_of_nextqa_has_a_fate(rows: list[list[str]]) -> None:
    data = read_cells(read_nextqa, "val.csv", [NEXT, ["v", "q", "why?", "1", "CW", "640", "x", "y", "z"], *rows])

    assert data is not None
    assert total(data) == len(rows) + 1


VLM = ["index", "question", "hint", "A", "B", "C", "answer", "image", "image_path"]


@given(tables(VLM), st.booleans())
@FEW
def test_every_row_of_vlmeval_has_a_fate(rows: list[list[str]], written: bool) -> None:  # noqa: FBT001 - drawn
    def reader(path: Path) -> Dataset:
        return read_vlmeval(path, pictures=path.parent / "pictures" if written else None)

    data = read_cells(reader, "x.tsv", [VLM, ["s", "why?", "", "x", "y", "z", "A", "", ""], *rows])

    assert data is not None
    assert total(data) == len(rows) + 1
