"""Every table of figures in docs comes out of recorded results, and these come out again where that takes seconds."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eyechart.engines import Local
from eyechart.formats import read

PROJECT = Path(__file__).parent.parent
DOCS, BENCHMARKS = PROJECT / "docs", PROJECT / "benchmarks"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
RESULTS = sorted(path.stem for path in BENCHMARKS.glob("results/*.json"))
NOT_SHOWN = {"mutants"}  # of interest to those who change the code: tests/test_mutants.py
REGION = re.compile(r"<!-- results: ([\w.+-]+?)(?::[\w-]+)? -->\n.*?<!-- end results -->", re.DOTALL)
NUMBER = re.compile(r"[-+*]*\d[\d.,]*")
# Tables that hold numbers and are no measurements, by how they begin.
SETTINGS = "defaults of settings"
NO_RESULTS = {
    ("audits/decoys-reference.md", "| setting |"): SETTINGS,
    ("audits/decoys-results.md", "| | orig | iou | qou | iou+qou | all |"): "printed in the paper",
    ("audits/perception-reference.md", "| setting |"): SETTINGS,
    ("audits/perception-reference.md", "| table, row |"): "printed in the paper, with the arithmetic",
    ("audits/rules-reference.md", "| setting |"): SETTINGS,
    ("audits/splits-reference.md", "| setting |"): SETTINGS,
    ("design.md", "| level |"): "levels of rooms",
    ("engines.md", "| work | batches |"): "sizes of batches",
    ("inputs.md", "| what is refused |"): "limits",
    ("logs.md", "| format | file |"): "versions of tools",
    ("models.md", "| setting |"): SETTINGS,
    ("responses.md", "| setting of `openai:` |"): SETTINGS,
    ("scale.md", "| arrow | core hours |"): "the last column of the cost curves, times a billion",
    ("scale.md", "| asked | calls |"): "arithmetic of the assumptions above it",
    ("world.md", "| setting |"): SETTINGS,
    ("world.md", "| `question_type` |"): "answers of a type",
}


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def rows(name: str, **wanted: object) -> list[dict[str, Any]]:
    return [row for row in load(name)["rows"] if all(row.get(key) == value for key, value in wanted.items())]


def tables(text: str) -> Iterator[list[str]]:
    """Find the tables of a page, each with its head first."""
    for block in re.findall(r"(?:^\|.*\n)+", f"{text}\n", re.MULTILINE):
        yield block.splitlines()


def holds_figures(table: list[str]) -> bool:
    cells = [cell.strip() for line in table[2:] for cell in line.strip("|").split("|")]
    return sum(NUMBER.match(cell) is not None for cell in cells) >= 3


@pytest.fixture(scope="module")
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Import the project's own scripts, and forget them afterwards: other tests import copies of them."""
    names = {path.stem for place in (BENCHMARKS, DOCS) for path in place.glob("*.py")}
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), str(DOCS), *sys.path])
        yield import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(others)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_figures_of_the_recorded_results(page: str, script: Callable[[str], ModuleType]) -> None:
    content = (DOCS / page).read_text(encoding="utf-8")
    if "results: zoo -->" in content:
        pytest.importorskip("torch")

    assert script("make_tables").fill(content) == content


@pytest.mark.parametrize("page", PAGES)
def test_a_table_of_figures_is_a_recorded_result_or_says_what_else_it_is(page: str) -> None:
    outside = REGION.sub("", (DOCS / page).read_text(encoding="utf-8"))
    heads = [table[0] for table in tables(outside) if holds_figures(table)]

    assert [head for head in heads if not any(head.startswith(start) for at, start in NO_RESULTS if at == page)] == []


def test_every_exception_is_still_there() -> None:
    heads = {
        page: [table[0] for table in tables((DOCS / page).read_text(encoding="utf-8")) if holds_figures(table)]
        for page in {page for page, _ in NO_RESULTS}
    }

    assert [key for key in NO_RESULTS if not any(head.startswith(key[1]) for head in heads[key[0]])] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_with_figures_that_cannot_be_measured_at_will_calls_them_recorded(page: str) -> None:
    content = (DOCS / page).read_text(encoding="utf-8")
    shown = {name for name in REGION.findall(content) if load(name)["recorded"]}

    assert not shown or re.search(r"\brecorded\b", REGION.sub("", content), re.IGNORECASE)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_how_it_was_measured(name: str) -> None:
    found = load(name)

    assert found.keys() == {"command", "commit", "machine", "recorded", "rows"}
    assert found["command"].startswith(("python benchmarks/", "python tools/", "eyechart "))
    assert all(found[key] for key in ("commit", "machine", "rows"))


def test_every_result_is_shown() -> None:
    shown = {name for page in PAGES for name in REGION.findall((DOCS / page).read_text(encoding="utf-8"))}

    assert shown == {*RESULTS} - NOT_SHOWN


def test_rules_of_a_world_are_confirmed_again(script: Callable[[str], ModuleType]) -> None:
    for strength in (0.6, 0.8):
        assert [script("rules_world").measure(strength, 3, 1000)] == rows("rules_world", strength=strength, seed=3)


def test_the_verdicts_on_an_answerer_come_out_again(script: Callable[[str], ModuleType]) -> None:
    module = script("verdicts")
    task = module.Task(70_000, 0.8, answerers=("cheater:object",))

    assert module.judge(task) == rows("verdicts", seed=task.seed, strength=task.strength, answerer="cheater:object")


def test_the_verdicts_of_a_world_come_out_again(script: Callable[[str], ModuleType]) -> None:
    found = list(script("splits_world").measure("small", 6001, 5))

    assert found == rows("splits_world", form="small", seed=6001)


def test_the_scores_of_small_worlds_come_out_again(script: Callable[[str], ModuleType]) -> None:
    """The scores alone: their intervals took the donors as given then."""
    for row in (row for row in rows("perception", table="coverage") if row["seed"] in (2, 300)):
        names = [key for key in row if key not in ("table", "model", "seed")]
        found = script("perception").measure_small(row["model"], row["seed"], names)

        assert {name: value for name, (value, *_) in found.items()} == {
            name: pytest.approx(row[name][0], abs=1e-6) for name in names
        }


@pytest.mark.parametrize(("kind", "digits"), [("oracle", 1e-9), ("logistic", 0.002)])
def test_a_classifier_of_made_up_modalities_gets_its_scores_again(
    kind: str, digits: float, script: Callable[[str], ModuleType]
) -> None:
    """A fit may differ in a label where the processor rounds otherwise."""
    module = script("perception_synthetic")
    [row] = rows("perception_synthetic", classifier=kind, spread=0.5, seed=1)

    assert module.measure(kind, 0.5, 1, module.Plan(2, 1000, 20)) == pytest.approx(row, abs=digits)


@pytest.mark.parametrize("leave_out", [False, True])
def test_neutral_decoys_of_a_world_come_out_again(leave_out: bool, script: Callable[[str], ModuleType]) -> None:  # noqa: FBT001
    """Which of two equally near questions gives a decoy is decided by how the linear algebra rounds."""
    [row] = rows("decoys_world", table="seeds", seed=11, leave_out=leave_out)

    assert script("decoys_world").draw_in(11, 1000, leave_out=leave_out) == pytest.approx(row, abs=0.005)


def test_answerers_are_grounded_as_they_were(script: Callable[[str], ModuleType]) -> None:
    names = ("seer", "blind", "cheater:object")
    found = list(script("grounding_world").measure(read("world", seed=22, images=300), 22, names))

    assert found == [pytest.approx(rows("grounding_world", answerer=name, seed=22)[0], abs=1e-9) for name in names]


def test_real_models_have_their_accuracy_again(real_data: Path, script: Callable[[str], ModuleType]) -> None:
    kept = load("accuracy_real")["rows"]

    for found, row in zip(script("accuracy_real").measure(real_data), kept, strict=True):
        assert found.keys() == row.keys()
        assert [found[key] for key in row] == [
            pytest.approx(value, abs=1e-9) if key != "model" else value for key, value in row.items()
        ]


def test_rules_of_real_questions_are_counted_again(real_data: Path, script: Callable[[str], ModuleType]) -> None:
    module = script("rules_real")
    study = module.AUDIT.study(script("real").read_vqa2(real_data), Local())
    [row] = rows("rules_real", table="study")
    found = module.describe(study)

    assert found.keys() == row.keys()
    assert [found[key] for key in row if key != "table"] == [
        pytest.approx(value, abs=1e-9) for key, value in row.items() if key != "table"
    ]


def test_groups_of_real_questions_are_counted_again(real_data: Path, script: Callable[[str], ModuleType]) -> None:
    from eyechart.audits.splits import SplitsAudit
    from eyechart.audits.splits.resplit import ResplitSettings, make_resplit

    divided = make_resplit(script("real").read_whole(real_data), "random", ResplitSettings(unit="question"))
    study = SplitsAudit(missing="group").study(divided, Local())

    found = [row for row in script("splits_real").describe(study) if row["table"] == "concepts"]

    assert found == [pytest.approx(row, abs=1e-9) for row in rows("splits_real", table="concepts")]


def test_options_of_real_questions_give_as_much_away_again(
    real_data: Path, script: Callable[[str], ModuleType]
) -> None:
    """What is fitted may differ in an answer where the processor rounds otherwise."""
    module = script("decoys_real")
    title, data, audit = next(module.studies(real_data))
    found = {row["solver"]: row["over"] for row in module.measure(title, data, audit) if row["table"] == "solvers"}

    for row in rows("decoys_real", table="solvers", data=title):
        assert found[row["solver"]] == pytest.approx(row["over"], abs=1e-9 if row["solver"] == "prior rule" else 0.01)


def test_sentiment_marks_candidates_as_it_did(real_data: Path, script: Callable[[str], ModuleType]) -> None:
    pytest.importorskip("vaderSentiment")
    import eyechart

    module = script("perception_socialiq")
    result = eyechart.audit(module.read_pairs(real_data / "socialiq2"), module.Feeling(), [module.AUDIT])["perception"]

    for row in rows("perception_socialiq", table="models", model="sentiment"):
        one = result.measure("perception", row["removed"])
        assert [one.value, one.low, one.high] == pytest.approx(row["score"], abs=1e-9)


def test_real_files_are_read_and_scored_again(script: Callable[[str], ModuleType], real_data: Path) -> None:
    found = script("real_files").measure(real_data, "scienceqa/predictions")

    recorded = [
        row
        for row in rows("real_files")
        if row.get("file", "").startswith("scienceqa/predictions") or row.get("answers", "").startswith("ScienceQA")
    ]
    assert len(recorded) == 8
    assert found == recorded
