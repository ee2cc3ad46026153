"""Models side by side on a page: all numbers are those of the comparison, named clearly, escaped and downloadable."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import DataError, UnknownNameError
from eyechart.base.files import write_record
from eyechart.data.dataset import Dataset
from eyechart.data.records import ModelIdentity
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.reporting import collect, render
from eyechart.reporting.charts import drawable, make_spec
from eyechart.reporting.collect import read_learned
from eyechart.reporting.page import render_standings, summarise, summarise_standings
from eyechart.reporting.standings import Standings, _unhidden, as_dict, collect_standings
from eyechart.runs.comparison import compare, list_judged_models
from eyechart.runs.verbs import audit
from packed import files_of

NASTY = "<script>alert(1)</script>"
MODELS = ("seer", "blind", "cheater")


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=4, images=60)


@pytest.fixture(scope="module")
def runs(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Store]:
    """Make a run with three models, and one of the same name elsewhere with one of them."""
    place = tmp_path_factory.mktemp("runs")
    for name, models in {"a/run": MODELS, "b/run": ("seer",)}.items():
        for model in models:
            audit(world, f"world:{model}", ["accuracy", "rules"], to=place / name)
    return [Store(place / "a" / "run"), Store(place / "b" / "run")]


@pytest.fixture(scope="module")
def found(runs: list[Store]) -> Standings:
    return collect_standings(runs[:1], base="seer", command=f"eyechart compare {NASTY}")


def test_every_number_is_that_of_the_comparison(runs: list[Store], found: Standings) -> None:
    for contest in found.contests:
        results = {each.name: each.results[contest.audit] for each in list_judged_models(runs[:1])}
        table = compare(results, runs[0].data, "seer")
        assert len(contest.records) == table.height
        records = pl.DataFrame(contest.records, infer_schema_length=None)
        assert records["delta"].drop_nulls().to_list() == table["delta"].drop_nulls().to_list()
        for standing in contest.standings:
            row = next(
                row
                for row in contest.records
                if row["model"] == standing.name and row["by"] is None and row["rank"] == standing.rank
            )
            assert standing.n == row["n"]
            assert standing.first == row["first"]


def test_what_is_ranked_can_be_paired_and_the_highest_stands_first(found: Standings) -> None:
    """The verdict of `accuracy` rests on a gain that belongs to no single example."""
    accuracy = next(contest for contest in found.contests if contest.audit == "accuracy")

    assert accuracy.measure == "accuracy"
    assert [standing.rank for standing in accuracy.standings] == sorted(each.rank for each in accuracy.standings)
    assert accuracy.standings[0].name == "seer"
    assert "seer" in accuracy.sentence
    assert [each.difference is None for each in accuracy.standings] == [
        each.name == "seer" for each in accuracy.standings
    ]
    assert {len(contest.standings) for contest in found.contests} == {3}


def test_groups_are_ranked_too(found: Standings) -> None:
    rules = next(contest for contest in found.contests if contest.audit == "rules")
    grouped = [row for row in rules.records if row["by"] == "kind" and row["first"] is not None]
    leads: dict[tuple[str, str], float] = {}
    for row in grouped:
        key = (row["name"], row["group"])
        leads[key] = leads.get(key, 0) + row["first"]

    assert leads
    assert list(leads.values()) == pytest.approx([1] * len(leads))


def test_runs_of_one_name_are_told_apart_and_a_run_is_taken_once(runs: list[Store]) -> None:
    names = [each.name for each in list_judged_models([*runs, runs[0]])]

    assert sorted(names) == ["blind", "cheater", "seer (a/run)", "seer (b/run)"]


def test_equal_models_of_two_runs_share_the_lead(runs: list[Store]) -> None:
    both = collect_standings(runs, ["accuracy"], base="seer (a/run)")
    first, second = both.contests[0].standings[:2]

    assert {first.name, second.name} == {"seer (a/run)", "seer (b/run)"}
    assert first.first == second.first == 0.5
    assert next(each for each in (first, second) if each.name != "seer (a/run)").q == 1


def test_the_page_the_markdown_and_the_json_say_the_same(found: Standings) -> None:
    page, markdown, content = (
        render_standings(found),
        summarise_standings(found),
        json.loads(json.dumps(as_dict(found))),
    )

    for contest, plain in zip(found.contests, content["contests"], strict=True):
        assert len(plain["records"]) == len(contest.records)
        for standing in contest.standings:
            assert standing.text in page
            assert standing.text in markdown
            assert (standing.difference or "") in markdown


def test_the_page_is_whole_and_escapes_what_it_shows(found: Standings) -> None:
    page = render_standings(replace(found, title=NASTY, left_out=(NASTY,)))

    assert NASTY not in page
    assert not re.search(r"""(src|href)=["']https?:""", page)
    files = files_of(page).values()
    assert len(files) == len(found.contests)
    tables = [pl.read_csv(text.encode(), infer_schema_length=None) for text in files]
    assert [table.height for table in tables] == [len(contest.records) for contest in found.contests]


def test_every_drawing_of_differences_has_intervals_and_counts(found: Standings) -> None:
    drawings = [drawing for contest in found.contests for drawing in contest.drawings]

    assert {drawing.kind for drawing in drawings} == {"bars", "intervals"}
    for drawing in drawings:
        assert drawable(drawing)
        assert all(drawing.column(role) for role in ("low", "high", "n"))


def test_a_difference_whose_interval_has_zero_in_it_is_hollow(found: Standings) -> None:
    drawing = next(drawing for contest in found.contests for drawing in contest.drawings if drawing.kind == "intervals")
    low, high = (drawing.columns.index(drawing.column(role)) for role in ("low", "high"))  # type: ignore[arg-type]
    row = list(drawing.rows[0])
    row[low], row[high] = -0.1, 0.1
    spec = json.dumps(make_spec(replace(drawing, rows=(tuple(row), drawing.rows[1]))))

    assert '"sure": false' in spec
    assert '"sure": true' in spec


def test_what_cannot_be_compared_is_told(runs: list[Store], world: Dataset, tmp_path: Path) -> None:
    for model, audits in {"seer": ["accuracy", "rules"], "blind": ["accuracy"]}.items():
        audit(world, f"world:{model}", audits, to=tmp_path / model)
    found = collect_standings([Store(tmp_path / "seer"), Store(tmp_path / "blind")])

    assert [contest.audit for contest in found.contests] == ["accuracy"]
    assert found.left_out == ("rules: only seer was judged by it",)
    with pytest.raises(DataError, match="only seer"):
        collect_standings([Store(tmp_path / "seer")])
    with pytest.raises(UnknownNameError, match="sear"):
        collect_standings(runs, base="sear")
    with pytest.raises(UnknownNameError, match="acuracy"):
        collect_standings(runs, ["acuracy"])


@pytest.fixture
def schooled(world: Dataset, tmp_path: Path) -> Store:
    """Make a run whose model says what it learned from."""
    for model in ("seer", "blind"):
        audit(world, f"world:{model}", ["accuracy"], to=tmp_path / "run")
    run = Store(tmp_path / "run")
    identity = {"kind": "zoo", "pretrained_on": [f"VQA {NASTY}"], "trained_on_the_metric": ["accuracy", "perception"]}
    write_record(ModelIdentity("asked", identity), run.asked_file("seer"))
    write_record(ModelIdentity("asked", {"kind": "api", "pretrained_on": "the web"}), run.asked_file("blind"))
    return run


def test_what_a_model_learned_from_is_read_and_only_lists_are_believed(schooled: Store) -> None:
    learned = read_learned(schooled, "seer")

    assert learned is not None
    assert learned.trained_on_the_metric == ("accuracy", "perception")
    assert read_learned(schooled, "blind") is None
    assert read_learned(schooled, "nobody") is None
    assert [caution.short for caution in learned.cautions("rules")] == ["pretrained"]


def test_readers_are_warned_wherever_the_result_of_such_a_model_stands(schooled: Store) -> None:
    page = collect(schooled)
    warned = {row.subject: [caution.short for caution in row.cautions] for row in page.summary if row.role == "result"}

    assert warned == {"seer": ["trained on what this audit measures", "pretrained"], "blind": []}
    compared = render_standings(collect_standings([schooled]))
    for text in (render(page), compared):
        assert "trained with the same intervention that this audit applies" in text
        assert "VQA &lt;script&gt;" in text
        assert NASTY not in text
    assert "⚠ trained on what this audit measures" in summarise(page)


@pytest.mark.parametrize(
    ("condition", "whole"),
    [
        ("orig-image-question", "orig"),
        ("iou+qou-image", "iou+qou"),
        ("plain", "plain"),
        ("image#2", "image#2"),
        ("my-own", "my-own"),  # a dash in a name that nobody declared hides nothing
    ],
)
def test_what_a_condition_hides_is_what_its_audit_says(condition: str, whole: str) -> None:
    assert _unhidden(condition) == whole
