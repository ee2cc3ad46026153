"""A page is collected from results, whatever their order, as plain values."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.result import Key, Measure, Result, Verdict, View, measures_table
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS, empty
from eyechart.reporting import as_dict, collect, collect_results, gather, to_json
from eyechart.reporting.contents import Page
from eyechart.reporting.drawing import Drawing, format_value, plain, prepare
from eyechart.reporting.page import render


def drawing(result: Result, title: str) -> Drawing:
    return next(prepare(result, view) for view in result.views if view.title == title)


def with_rows(result: Result, rows: pl.DataFrame, view: View) -> Drawing:
    return prepare(replace(result, rows=rows, views=()), view)


@pytest.mark.parametrize(
    "sentence",
    [
        "The model leans on video: it loses two fifths without it.",
        "It leans on the moving picture.",
        "It loses 40% [35, 45] of its accuracy without the pictures.",
        "It is 2.0 [0.0, 4.0] on audio.",
    ],
)
def test_the_headline_is_the_measure_the_verdict_names_whatever_its_sentence_says(sentence: str) -> None:
    """A measure may stand under many conditions; the verdict rests on one of them."""
    values = {"audio": 0.02, "video": 0.4}
    measures = [Measure("lost", v, v - 0.01, v + 0.01, 9, condition=name) for name, v in values.items()]
    grouped = Measure("lost", 0.4, 0.39, 0.41, 3, condition="video", by="type", group="x")
    verdict = Verdict("no", "Does it do without video?", "needs video", sentence, Key("lost", "video"))
    counts, rows = {"counts": empty(COUNTS)}, pl.DataFrame({"id": ["1"]})
    found = Result("a", "m", {}, measures_table([*measures, grouped]), rows, counts, (), verdict)

    headline = collect_results([found]).sections[0].headline

    assert headline is not None
    assert (headline.condition, headline.by, headline.text) == ("video", None, "40.0 [39.0, 41.0]")


def test_the_facts_of_a_run_are_those_of_its_data(run: Store, nasty: str) -> None:
    facts = collect(run).facts

    assert facts is not None
    assert (facts.name, facts.examples, facts.images) == (f"data {nasty}", 4, 2)
    assert facts.splits == {"(none)": 1, "test": 2, "train": 1}
    assert [(row.status, row.n) for row in facts.counts] == [("read", 4), ("dropped", 17)]


def test_the_origin_of_a_run_is_its_manifest(run: Store, nasty: str) -> None:
    origin = collect(run).origin

    assert origin is not None
    assert (origin.command, origin.seed, origin.limit) == (f"eyechart audit --seed 7 {nasty}", 7, 4)
    assert set(origin.inputs) == {"examples.parquet", "images.parquet", "counts.parquet"}


def test_coverage_counts_each_probe_once_by_its_best_answer(run: Store) -> None:
    again = pl.read_parquet(run.answer_file("b/two", "plain")).with_columns(draw=1, status=pl.lit("unparsed"))
    both = pl.concat([pl.read_parquet(run.answer_file("b/two", "plain")), again], how="diagonal_relaxed")
    both.write_parquet(run.answer_file("b/two", "plain"))

    found = {row.model: row for row in collect(run).coverage}

    once = {"ok": 1, "refused": 1, "unparsed": 0, "failed": 1, "missing": 1}
    assert (found["a:one"].asked, found["a:one"].usable, found["a:one"].statuses) == (4, 2, once)
    assert found["b/two"].statuses == {**once, "unparsed": 1, "failed": 0}


def test_a_condition_a_model_was_never_asked_is_all_missing(run: Store) -> None:
    run.answer_file("b/two", "plain").unlink()

    row = next(row for row in collect(run).coverage if row.model == "b/two")

    assert (row.usable, row.statuses["missing"]) == (0, 4)


def test_files_of_answers_tell_what_they_hold(run: Store) -> None:
    stocks = collect(run).stocks

    assert next((stock.model, row.status, row.n) for stock in stocks for row in stock.counts) == ("a:one", "extra", 12)
    assert len(stocks) == 3


def test_the_study_comes_before_the_models_and_they_by_name(run: Store, nasty: str) -> None:
    page = collect(run)

    assert [(s.role, s.subject) for s in page.sections] == [
        ("study", "the data"),
        ("result", "a:one"),
        ("result", "b/two"),
        ("result", f"c {nasty}"),
    ]
    assert [row.subject for row in page.summary] == [section.subject for section in page.sections]


def test_a_page_does_not_depend_on_the_order_of_results(result: Result, kinds: Result) -> None:
    results = [result, replace(result, subject="other"), kinds, replace(result, settings={"margin": 0.5})]

    pages = {to_json(collect_results(order)) for order in permutations(results)}

    assert len(pages) == 1


def test_a_mapping_is_collected_like_the_results_in_it(result: Result) -> None:
    other = replace(result, subject="other")

    expected = collect_results([result, other])

    assert gather({"m": {"accuracy": result}, "o": {"accuracy": other}}) == expected
    assert gather({"accuracy": result, "again": other}) == expected
    assert gather(result) == collect_results([result])


def test_a_run_folder_is_named_by_text_or_path(run: Store) -> None:
    assert gather(str(run.folder)) == gather(run.folder) == collect(run)


def test_what_is_no_run_is_said_so(run: Store) -> None:
    with pytest.raises(FileFormatError, match=r"no manifest\.json there"):
        gather(run.folder / "data" / "nowhere")


def test_the_summary_says_the_measure_the_verdict_rests_on(result: Result) -> None:
    (line,) = collect_results([result]).summary

    assert (line.state, line.measure, line.text) == ("no", "gain", "61.0 [57.8, 64.2]")
    assert (line.n, line.clusters, line.sentence) == (1234, 321, result.verdict.sentence)


def test_every_question_of_an_audit_has_its_row_of_the_summary(result: Result) -> None:
    whole = result.verdict.measure
    second = Verdict("no", "Is it steady?", "unsteady", "It wavers.", whole, 0.1)
    page = collect_results([replace(result, further=(second,))])

    assert [(row.question, row.state) for row in page.summary] == [
        (result.verdict.question, result.verdict.state),
        ("Is it steady?", "no"),
    ]
    assert page.summary[0].text == page.summary[1].text
    html = render(page)
    assert "section-2" not in html
    assert "It wavers." in html
    assert "Is it steady?" in html


def test_the_headline_is_over_all_examples_as_they_are(result: Result) -> None:
    other = result.measures.filter(pl.col("name") == "gain").with_columns(value=pl.lit(0.9))
    grouped = other.with_columns(by=pl.lit("a"), group=pl.lit("b"), condition=pl.lit(None, pl.String))
    changed = other.with_columns(condition=pl.lit("image#1"))
    crowded = replace(result, measures=pl.concat([grouped, changed, result.measures]))

    headline = collect_results([crowded]).sections[0].headline

    assert headline is not None
    assert headline.value == 0.61


def test_a_verdict_on_no_measure_has_no_number(kinds: Result) -> None:
    (line,) = collect_results([kinds]).summary

    assert (line.text, line.n, line.clusters) == ("-", None, None)


def test_a_page_survives_json(run: Store) -> None:
    from pydantic import TypeAdapter

    page = collect(run)

    assert json.loads(to_json(page)) == as_dict(page)
    assert TypeAdapter(Page).validate_python(as_dict(page)) == page


def test_numbers_that_are_none_become_null(result: Result) -> None:
    row = next(row for row in collect_results([result]).sections[0].measures if row.name == "ratio")

    assert (row.low, row.high, row.text) == (None, None, "1.500 [-, -]")


def test_a_view_draws_only_its_rows_the_largest_first(result: Result, nasty: str) -> None:
    found = prepare(result, result.views[0])

    assert [column.role for column in found.columns] == ["x", "y", "low", "high", "n"]
    assert [row[1] for row in found.rows] == ["type 2", "type 1", nasty]


def test_a_view_finds_rows_by_null_and_by_numbers(kinds: Result) -> None:
    table = {"where": kinds.rows.with_columns(group=pl.when(pl.col("length") > 4).then(pl.lit("long")))}
    held = replace(kinds, tables={**kinds.tables, **table})

    short = prepare(held, View("table", "where", "", "", {}, {"group": None}))
    three = prepare(held, View("table", "where", "", "", {}, {"length": "3"}))

    assert len(short.rows) == (kinds.rows["length"] <= 4).sum()
    assert len(three.rows) == (kinds.rows["length"] == 3).sum()


@pytest.mark.parametrize(
    ("title", "role", "kind"),
    [
        ("share histogram", "x", "points"),
        ("share histogram", "to", "points"),
        ("share histogram", "n", "count"),
        ("number histogram", "x", "number"),
        ("lines", "y", "points"),
        ("lines", "low", "points"),
        ("lines", "x", "count"),
        ("matrix", "color", "points"),
        ("scatter", "x", "points"),
        ("scatter", "y", "number"),
    ],
)
def test_a_column_has_the_unit_that_its_view_declares(kinds: Result, title: str, role: str, kind: str) -> None:
    column = drawing(kinds, title).column(role)

    assert column is not None
    assert column.kind == kind


def test_measures_are_in_points_where_their_unit_says_so(result: Result) -> None:
    halves = View("bars", "measures", "", "", {"x": "value", "y": "name"}, {"name": "ratio"})

    column = prepare(result, halves).column("x")

    assert column is not None
    assert column.kind == "ratio"


@pytest.mark.parametrize("values", [[0.4, -0.7], [0.4, -1.7], [0.0, 1.0]])
def test_no_unit_is_guessed_from_values(result: Result, values: list[float]) -> None:
    """Log odds of 0.4 and -0.7 are no 40 and -70 points."""
    table = pl.DataFrame({"model size": ["a", "b"], "log odds": values})
    view = View("bars", "t", "", "", {"x": "log odds", "y": "model size"})

    found = prepare(replace(result, tables=result.tables | {"t": table}), view)

    assert [row["x"] for row in found.records()] == values


def test_the_table_of_an_audit_keeps_its_order(result: Result) -> None:
    """Whoever made it says in the reading what comes first."""
    table = pl.DataFrame({"of": ["b", "c", "a"], "share": [0.1, 0.9, 0.5], "n": [3, 2, 9]})
    roles = {"x": "share", "y": "of", "n": "n"}

    found = prepare(replace(result, tables=result.tables | {"t": table}), View("bars", "t", "", "", roles))

    assert [row[1] for row in found.rows] == ["b", "c", "a"]


def test_bins_count_what_a_loop_counts(result: Result) -> None:
    values = [0.0, 0.04999, 0.05, 0.5, 0.5, 1.0, float("nan"), None]
    rows = pl.DataFrame({"id": [str(n) for n in range(8)], "v": values})

    found = with_rows(result, rows, View("histogram", "rows", "", "", {"x": "v"}))

    known = [value for value in values if value is not None and not np.isnan(value)]
    expected = [sum(low <= v < high or v == high == 1 for v in known) for low, high, _ in found.rows]
    assert [n for *_, n in found.rows] == expected
    assert (sum(expected), found.left_out, len(found.rows)) == (6, 2, 20)


def test_few_whole_numbers_have_a_bin_each(kinds: Result) -> None:
    found = drawing(kinds, "number histogram")
    roles = [column.role for column in found.columns]

    counted: dict[float, int] = {}
    for row in found.rows:
        cell = dict(zip(roles, row, strict=True))
        counted[cell["x"] + 0.5] = counted.get(cell["x"] + 0.5, 0) + cell["n"]

    assert counted == dict(kinds.rows["length"].cast(pl.Float64).value_counts().sort("length").iter_rows())


def test_many_whole_numbers_share_bins(result: Result) -> None:
    rows = pl.DataFrame({"id": [str(n) for n in range(1000)], "v": range(1000)})

    found = with_rows(result, rows, View("histogram", "rows", "", "", {"x": "v"}))

    assert [n for *_, n in found.rows] == [50] * 20


def test_a_histogram_of_nothing_is_empty(result: Result) -> None:
    rows = pl.DataFrame({"id": ["1"], "v": [None]}, schema_overrides={"v": pl.Float64})

    found = with_rows(result, rows, View("histogram", "rows", "", "", {"x": "v"}))

    assert (found.rows, found.left_out) == ((), 1)


def test_words_are_counted(kinds: Result) -> None:
    found = drawing(kinds, "word histogram")

    assert dict(found.rows) == dict(kinds.rows["kind"].value_counts().iter_rows())
    assert found.kind == "bars"


@pytest.mark.parametrize(("kind", "most"), [("scatter", 2000), ("table", 60), ("bars", 60)])
def test_a_page_stays_small_whatever_the_table(result: Result, kind: str, most: int) -> None:
    rows = pl.DataFrame({"id": [f"{n:05}" for n in range(7000)], "v": range(7000)})

    found = with_rows(result, rows, View(kind, "rows", "", "", {"x": "v", "y": "id"}))  # type: ignore[arg-type]

    assert most / 2 < len(found.rows) <= most
    assert len(found.rows) + found.left_out == 7000


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (None, "points", "-"),
        (0.1234, "points", "12.3"),
        (12345, "count", "12,345"),
        (1234.5678, "number", "1,234.568"),
        (0.00004, "number", "< 0.001"),
        (-0.00004, "number", "> -0.001"),
        (-5.6e-17, "points", "0.0"),
        (0.0, "number", "0.000"),
        (["a", None, "b"], "text", "a, -, b"),
        ({"label": "cat", "score": 0.5}, "text", "label cat, score 0.500"),
        (True, "text", "True"),
    ],
)
def test_values_are_spoken(value: object, kind: str, said: str) -> None:
    assert format_value(value, kind) == said  # type: ignore[arg-type]


def test_anything_becomes_plain() -> None:
    import datetime as dt

    odd = {1: (float("inf"), pl.Series([1.5, None]), dt.date(2020, 1, 2)), "b": True}

    assert plain(odd) == {"1": [None, [1.5, None], "2020-01-02"], "b": True}


def test_a_matrix_of_nine_by_nine_is_shown_whole(kinds: Result) -> None:
    """Figure 5 of VQA-VS has 81 cells, more than a page has rows of a table."""
    names = [f"set {at}" for at in range(9)]
    table = pl.DataFrame({"of": [one for one in names for _ in names], "with": names * 9, "share": [0.5] * 81})
    held = replace(kinds, tables=kinds.tables | {"overlap": table})

    found = prepare(held, View("matrix", "overlap", "", "", {"x": "with", "y": "of", "color": "share"}))

    assert (len(found.rows), found.left_out) == (81, 0)
