"""Examples are found by text, group and correctness as a loop finds them, and one example shows all there is."""

import io
import os

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.data.furniture import ExplorerQuery
from eyechart.data.store import Store
from eyechart.reporting.comparison_table import lay_out
from eyechart.runs.comparison import compare
from eyechart.viewing import comparing
from eyechart.viewing.example import are_right
from eyechart.viewing.examples import facets, find_examples, read_search
from eyechart.viewing.scores import scored

ONE = "org/one"


def find(run: Store, *words: tuple[str, str]) -> list[str]:
    return find_examples(run, read_search(ExplorerQuery(words), run)).to_list()


def everything(run: Store) -> list[dict[str, object]]:
    """Join by hand: examples, kinds, and whether the first model is right."""
    rows = pl.read_parquet(run.examples.path).to_dicts()
    kinds = dict(pl.read_parquet(run.study_folder("rules") / "rows.parquet").select("id", "kind").iter_rows())
    said = dict(pl.read_parquet(run.answer_file(ONE, "plain")).select("id", "answer").iter_rows())
    return [row | {"kind": kinds.get(row["id"]), "given": said.get(row["id"])} for row in rows]


def test_without_a_search_all_are_there_in_their_order(run: Store) -> None:
    assert find(run) == [f"e/{n:03}" for n in range(120)]


@pytest.mark.parametrize("text", ["CAT", "the cat", "e/017", "no", "nowhere to be found", "["])
def test_text_is_looked_for_as_it_is(run: Store, text: str) -> None:
    wanted = text.lower()
    expected = [
        row["id"]
        for row in everything(run)
        if wanted in str(row["question"]).lower() or wanted in (row["answer"], row["id"])
    ]
    assert find(run, ("text", text)) == expected


def test_groups_of_the_data_and_of_studies_are_taken_together(run: Store) -> None:
    found = find(run, ("where", "question_type=odd"), ("where", "rules.kind=easy"))
    alone = find(run, ("where", "rules.kind=easy"))

    assert found == [r["id"] for r in everything(run) if r["question_type"] == "odd" and r["kind"] == "easy"]
    assert alone == [r["id"] for r in everything(run) if r["kind"] == "easy"]


@pytest.mark.parametrize("fate", ["right", "wrong", "unanswered"])
def test_correctness_is_that_of_the_answers(run: Store, fate: str) -> None:
    fates = {
        row["id"]: "unanswered" if row["given"] is None else "right" if row["given"] == row["answer"] else "wrong"
        for row in everything(run)
    }
    assert find(run, ("model", ONE), ("fate", fate)) == [name for name, found in fates.items() if found == fate]


def test_what_nothing_has_is_left_out_of_a_search(run: Store) -> None:
    assert len(find(run, ("where", "no.such=column"), ("model", "nobody"), ("fate", "wrong"), ("sort", "x"))) == 120


def test_examples_are_sorted_by_a_column_of_a_result(run: Store) -> None:
    found = find(run, ("model", ONE), ("sort", "result.accuracy.accuracy"), ("way", "down"))
    scores = dict(
        pl.read_parquet(run.result_folder(ONE, "accuracy") / "rows.parquet").select("id", "accuracy").iter_rows()
    )

    values = [scores[name] for name in found if name in scores]
    assert values == sorted(values, reverse=True)
    assert found[80:] == [name for name in found if name not in scores]


def test_groups_are_counted(run: Store) -> None:
    found = {facet.name: dict(facet.values) for facet in facets(run)}

    assert found["split"] == {"train": 40, "test": 80}
    assert found["rules.kind"] == {"easy": 40, "counterexample": 40}


def test_the_csv_has_all_that_fit(client: TestClient, run: Store) -> None:
    words = (("model", ONE), ("fate", "wrong"))
    table = pl.read_csv(io.StringIO(client.get("/examples.csv", params=dict(words)).text))

    assert table["id"].to_list() == find(run, *words)
    assert (table["score"] == 0).all()


def test_an_example_shows_all_that_is_known_of_it(client: TestClient) -> None:
    text = client.get("/example", params={"id": "e/041"}).text

    for told in ("e/041", "people said", "perhaps", ONE, "counterexample", "plain", "rest", "All rules that apply"):
        assert told in text


def test_the_answers_to_an_example_say_whether_they_are_right(client: TestClient) -> None:
    for name, right in (("e/040", False), ("e/041", True)):
        table = pl.read_csv(io.StringIO(client.get("/example.csv", params={"id": name}).text))
        assert table.filter(pl.col("model") == ONE)["right"].to_list() == [right]


def test_answers_are_held_against_the_options_they_were_offered_if_any() -> None:
    """Most conditions ask openly; under `orig` the right option is the second."""
    answers = pl.DataFrame({"condition": ["image#0", "orig", "plain"], "answer": ["B", "B", "cat"]})
    example = {"answer": "cat", "answers": ["cat", "kitten"]}

    assert are_right(answers, example, {"orig": {"choices": ["dog", "cat"]}}) == [False, True, True]


def test_two_models_are_divided_as_a_loop_divides_them(run: Store) -> None:
    pair = comparing.ModelPair.read(ExplorerQuery(()), run)
    assert pair is not None
    cells = comparing.count_cells(pair.answers(run))

    rights = [(n % 2 > 0, n % 3 > 0) for n in range(80)]
    assert cells == {name: rights.count(both) for name, both in comparing.CELLS.items()}


def test_the_paired_table_is_that_of_a_comparison(run: Store) -> None:
    pair = comparing.ModelPair.read(ExplorerQuery(()), run)
    assert pair is not None
    results = run.results()
    models = {name: results[name]["accuracy"] for name in (pair.first, pair.second)}

    assert pair.paired_table(run) == lay_out(compare(models))


PAGES = (
    "/",
    "/rules",
    "/rule?rule=3",
    "/rule?rule=5&part=all",
    "/examples?model=org/one",
    "/example?id=e/042",
    "/compare",
    "/paired",
)


@pytest.mark.parametrize("path", PAGES)
def test_what_data_say_is_never_taken_for_markup(client: TestClient, nasty: str, path: str) -> None:
    answer = client.get(path, params={"word": nasty, "text": nasty} if "?" not in path else None)

    assert answer.status_code == 200
    assert "alert(" in answer.text, "the page shows some of it"
    assert "<script>alert" not in answer.text
    assert "style=" not in answer.text, "the policy allows no inline style"
    assert "onclick" not in answer.text


def test_the_score_is_the_one_a_model_was_judged_by_unless_it_answered_anew(fresh: Store) -> None:
    run, answers = fresh, fresh.answer_file(ONE, "plain")
    rows = fresh.result_folder(ONE, "accuracy") / "rows.parquet"
    pl.read_parquet(rows).with_columns(accuracy=pl.lit(0.25)).write_parquet(rows)
    assert set(scored(run, ONE, "plain")["score"]) == {0.25}

    later = rows.stat().st_mtime_ns + 10**9
    os.utime(answers, ns=(later, later))
    assert set(scored(run, ONE, "plain")["score"]) == {0.0, 1.0}
