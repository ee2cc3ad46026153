"""Repaired options are read back as they were written, in every form, and the card says what was done."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.exports import write_inspect
from eyechart.audits.decoys.repaired import Repaired, describe_left_out, repair
from eyechart.base.errors import DataError
from eyechart.base.registry import import_object
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.runs.run import Run

FORMS = tuple(DecoysAudit.furniture.exports)
FAST = DecoysAudit(sets=("orig", "iou", "qou", "iou+qou"), folds=2, most=100)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    run = Run(Store(tmp_path_factory.mktemp("decoys") / "run")).start(read("world", seed=3, images=30))
    run.study([FAST])
    return run.store


@pytest.fixture(scope="module")
def repaired(run: Store) -> Repaired:
    return repair(run.data, run.studies()["decoys"])


def write(form: str, run: Store, folder: Path) -> dict[str, int]:
    """Export as `eyechart export` does: by what the audit brings along."""
    return import_object(DecoysAudit.furniture.exports[form])(run, folder)


def export(run: Store, form: str, folder: Path) -> Path:
    written = write(form, run, folder)
    assert set(written) == {path.name for path in folder.iterdir()}
    return folder


def assert_same(back: Dataset, repaired: Repaired, *columns: str, in_order: bool = True) -> None:
    ours, theirs = (table.select("id", *columns).sort("id") for table in (repaired.examples, back.examples))
    if not in_order:
        ours, theirs = (table.with_columns(pl.col("choices").list.sort()) for table in (ours, theirs))
    assert theirs.equals(ours)


ALWAYS = ("question", "answer", "choices")


def test_qavg_survives_the_round_trip(run: Store, repaired: Repaired, tmp_path: Path) -> None:
    """The reader orders options itself, so they are compared as sets; each list alone is there too."""
    folder = export(run, "decoys-qavg", tmp_path / "qavg")

    both = read("visual7w", folder, decoys="iou+qou")
    assert_same(both, repaired, "image", "split", *ALWAYS, in_order=False)
    alone = read("visual7w", folder, decoys="iou").examples.join(repaired.examples, on="id", suffix="_ours")
    for row in alone.drop_nulls("choices").iter_rows(named=True):
        assert set(row["choices"]) == {row["answer"], *row["iou"]}


def test_vqa_survives_the_round_trip(run: Store, repaired: Repaired, tmp_path: Path) -> None:
    back = read("vqa2", export(run, "decoys-vqa", tmp_path / "vqa"))

    assert_same(back, repaired, "image", "split", "answers", "question_type", "answer_type", *ALWAYS)


def test_vlmeval_survives_the_round_trip(run: Store, repaired: Repaired, tmp_path: Path) -> None:
    folder = export(run, "decoys-vlmeval", tmp_path / "vlmeval")

    assert_same(read("vlmeval", folder / f"{repaired.file_stem}.tsv"), repaired, "split", *ALWAYS)


def test_lmms_eval_survives_the_round_trip_and_its_task_fits(run: Store, repaired: Repaired, tmp_path: Path) -> None:
    folder = export(run, "decoys-lmms-eval", tmp_path / "lmms")
    stem = repaired.file_stem

    class Loader(yaml.SafeLoader):
        """Take `!function` for what it names."""

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    task = yaml.load((folder / f"{stem}.yaml").read_text(encoding="utf-8"), Loader)  # noqa: S506 - a safe loader
    functions: dict[str, object] = {}
    exec((folder / "utils.py").read_text(encoding="utf-8"), functions)  # noqa: S102 - our own file

    assert_same(
        read("table", folder / task["dataset_kwargs"]["data_files"]["test"], answer_is="letter"), repaired, *ALWAYS
    )
    named = [value.removeprefix("utils.") for value in task.values() if str(value).startswith("utils.")]
    assert len(named) == 3
    assert all(callable(functions[name]) for name in named)
    doc = {"id": "007", "question": "what?", "options": ["red", "blue"], "answer": "B", "pictures": None}
    assert functions["doc_to_text"](doc).splitlines()[1:3] == ["A. red", "B. blue"]  # type: ignore[operator]
    for said, score in (("B. blue", 1.0), ("red", 0.0), ("I say B", 1.0), ("A", 0.0)):
        scored = functions["process_results"](doc, [said])  # type: ignore[operator]
        assert scored == {"accuracy": {"question_id": "007", "score": score}}


def test_inspect_survives_the_round_trip(run: Store, repaired: Repaired, tmp_path: Path) -> None:
    folder = export(run, "decoys-inspect", tmp_path / "inspect")
    back = read("table", folder / f"{repaired.file_stem}.jsonl", map={"answer": "target"}, answer_is="letter")

    assert_same(back, repaired, "image", *ALWAYS)


def test_inspect_shows_the_pictures_if_their_files_are_known(repaired: Repaired, tmp_path: Path) -> None:
    paths = pl.Series([["a.png", "b.png"]])
    located = repaired._replace(examples=repaired.examples.head(1).with_columns(pictures=paths))

    name, _ = write_inspect(located, tmp_path)

    [message] = json.loads((tmp_path / name).read_text(encoding="utf-8"))["input"]
    assert [part["type"] for part in message["content"]] == ["image", "image", "text"]
    assert [part.get("image") for part in message["content"]] == ["a.png", "b.png", None]


def test_the_card_says_which_examples_are_left_out() -> None:
    rows = [
        (None, "left out", "no answer", 3),
        ("qou", "left out", "no decoy", 1200),
        ("iou", "left out", "x", 1),
    ]
    counts = pl.DataFrame(rows, ["condition", "status", "reason", "n"], orient="row")

    assert describe_left_out(counts, "qou") == " Left out: 3 (no answer), 1,200 (no decoy)."
    assert describe_left_out(counts.clear(), "qou") == ""


@pytest.mark.parametrize("form", FORMS)
def test_the_card_has_seed_recipe_and_both_sides_of_the_repair(form: str, run: Store, tmp_path: Path) -> None:
    card = (export(run, form, tmp_path / form) / "README.md").read_text(encoding="utf-8")

    assert "| solver | orig | iou+qou |" in card
    assert "| `seed` | 0 |" in card
    assert "| `drawing` | nearest |" in card
    assert "\n- learned from train, judged on test\n" in card
    assert all(f"\n| {solver} | " in card for solver in ("prior rule", "A", "Q+A", "I+A", "I+Q+A", "control"))


def test_a_run_without_the_study_or_without_decoys_is_an_error(tiny: Dataset, tmp_path: Path) -> None:
    bare = Run(Store(tmp_path / "bare")).start(tiny)
    asked = Run(Store(tmp_path / "asked")).start(read("world", seed=3, images=10))
    asked.study([DecoysAudit(sets=("orig",), folds=2)])

    with pytest.raises(DataError, match="study -a decoys"):
        write("decoys-qavg", bare.store, tmp_path / "out")
    with pytest.raises(DataError, match="only the options of the data"):
        write("decoys-qavg", asked.store, tmp_path / "out")


def test_letters_run_out(repaired: Repaired) -> None:
    examples = pl.DataFrame({"choices": [[str(n) for n in range(27)]], "right": [0]})

    with pytest.raises(DataError, match="at most 26"):
        repaired._replace(examples=examples).letters()
