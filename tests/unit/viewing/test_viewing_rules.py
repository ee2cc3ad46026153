"""Rules and the examples that meet them are found as a loop over all of them finds them."""

import io
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from eyechart.audits.rules.explorer import examples_of, rules_beside
from eyechart.audits.rules.search import (
    are_loaded,
    count_rules,
    find_rules,
    items_of,
    load_rules,
    mined_rules,
    page_of_rules,
    read_search,
    rule_at,
    take_rules,
)
from eyechart.data.furniture import ROWS_PER_PAGE, ExplorerQuery
from eyechart.data.store import Store
from eyechart.data.stored import TableFile, stat_table
from eyechart.viewing.furniture import gather_furniture
from eyechart.viewing.inventory import overview

SEARCHES = (
    {},
    {"word": "CAT"},
    {"word": "cat dog"},
    {"object": "ball"},
    {"word": "red", "object": "tree"},
    {"answer": "YES"},
    {"kind": "mixed", "state": "confirmed"},
    {"state": "refuted", "sort": "support"},
    {"sort": "confidence", "way": "up"},
    {"sort": "q"},
    {"word": "nobody-says-this"},
    {"sort": "no such column", "state": "no such state", "page": "-3"},
)


@pytest.fixture
def file(run: Store) -> TableFile:
    found = mined_rules(run)
    assert found is not None
    return found


def fits(rule: dict[str, object], asked: dict[str, str]) -> bool:
    words, objects = set(rule["words"]), set(rule["objects"])  # type: ignore[call-overload]
    return (
        set(asked.get("word", "").lower().split()) <= words
        and ({asked["object"]} <= objects if "object" in asked else True)
        and asked.get("answer", rule["answer"]).lower() == str(rule["answer"]).lower()  # type: ignore[attr-defined]
        and asked.get("kind", rule["kind"]) == rule["kind"]
        and (asked.get("state") not in ("confirmed", "refuted") or asked["state"] == rule["state"])
    )


@pytest.mark.parametrize("asked", SEARCHES, ids=str)
def test_a_search_finds_what_a_loop_finds(run: Store, file: TableFile, asked: dict[str, str]) -> None:
    found = find_rules(file, read_search(ExplorerQuery(tuple(asked.items())), run))

    expected = [rule["rule"] for rule in pl.read_parquet(file.path).to_dicts() if fits(rule, asked)]
    assert sorted(found.tolist()) == expected


@pytest.mark.parametrize("asked", SEARCHES, ids=str)
def test_a_page_from_the_file_is_the_one_from_memory(
    run: Store, file: TableFile, tmp_path: Path, asked: dict[str, str]
) -> None:
    """Before the rules are loaded pages come from the file, and must not differ from the ones after."""
    search = read_search(ExplorerQuery(tuple(asked.items())), run)
    file = stat_table(Path(shutil.copy(file.path, tmp_path)))
    unloaded = not are_loaded(file)
    before = (count_rules(file, search), *(page_of_rules(file, search, start) for start in (0, ROWS_PER_PAGE)))
    one = rule_at(file, 7)
    load_rules(file)

    assert unloaded
    assert are_loaded(file)
    assert before == (count_rules(file, search), *(page_of_rules(file, search, start) for start in (0, ROWS_PER_PAGE)))
    assert one == rule_at(file, 7)


@pytest.mark.parametrize(("sort", "down"), [("low", True), ("support", True), ("confidence", True), ("q", False)])
def test_rules_come_in_order_with_the_untested_last(run: Store, file: TableFile, sort: str, *, down: bool) -> None:
    order = find_rules(file, read_search(ExplorerQuery((("sort", sort),)), run))

    values = take_rules(file, order)[sort].to_list()
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=down)
    assert values[: len(known)] == known


def test_the_other_way_is_the_same_backwards_up_to_ties(run: Store, file: TableFile) -> None:
    up, down = (
        find_rules(file, read_search(ExplorerQuery((("sort", "rule"), ("way", way))), run)) for way in ("up", "down")
    )

    assert up.tolist() == down.tolist()[::-1]


def test_pages_divide_the_list(client: TestClient) -> None:
    numbers = []
    for page in range(1, 5):
        text = client.get("/rules", params={"page": page}).text
        numbers += re.findall(r'href="/rule\?rule=(\d+)"', text)[:ROWS_PER_PAGE]

    assert sorted(map(int, numbers)) == list(range(160))


def test_a_page_beyond_the_last_shows_the_last(client: TestClient) -> None:
    assert "151 to 160 of <strong>160</strong>" in client.get("/rules?page=9999999").text


def test_the_csv_has_all_that_fit_in_the_order_of_the_page(client: TestClient, run: Store, file: TableFile) -> None:
    words = {"state": "confirmed", "sort": "support"}
    table = pl.read_csv(io.StringIO(client.get("/rules.csv", params=words).text))

    assert table["rule"].to_list() == find_rules(file, read_search(ExplorerQuery(tuple(words.items())), run)).tolist()


@pytest.mark.parametrize("everywhere", [True, False])
def test_the_examples_of_a_rule_are_those_with_its_words_and_objects(
    run: Store, file: TableFile, *, everywhere: bool
) -> None:
    examples = pl.read_parquet(run.examples.path).to_dicts()
    labels = {
        row["image"]: {each["label"] for each in row["objects"]} for row in pl.read_parquet(run.images.path).to_dicts()
    }
    for number in range(0, 60, 7):
        rule = rule_at(file, number)
        assert rule is not None
        expected = {
            row["id"]: rule["answer"] in row["answers"]
            for row in examples
            if set(rule["words"]) <= set(re.findall(r"\w+", row["question"]))
            and set(rule["objects"]) <= labels[row["image"]]
            and (everywhere or row["split"] == "test")
        }
        found = examples_of(run, rule, everywhere=everywhere)
        assert dict(found.select("id", "holds").iter_rows()) == expected


def test_the_rules_of_an_example_have_nothing_it_lacks(run: Store, file: TableFile) -> None:
    example = "e/051"
    items = items_of(run, example)
    assert items is not None
    words, objects = items
    found = find_rules(file, read_search(ExplorerQuery((("example", example),)), run))

    expected = [
        rule["rule"]
        for rule in pl.read_parquet(file.path).to_dicts()
        if set(rule["words"]) <= set(words) and set(rule["objects"]) <= set(objects)
    ]
    assert sorted(found.tolist()) == expected
    assert 0 < len(expected) < 160


def test_rules_beside_an_example_are_held_against_all_answers_that_people_gave(run: Store) -> None:
    example = pl.read_parquet(run.examples.path).row(51, named=True)
    sheet = rules_beside(run, example["id"])

    assert sheet is not None
    assert set(sheet.content["right"]) == {example["answer"], *example["answers"]}


@pytest.mark.parametrize("number", ["", "-1", "999", "x", "٣", "9" * 40])
def test_a_rule_that_is_not_there_is_said_to_be_missing(client: TestClient, number: str) -> None:
    assert client.get("/rule", params={"rule": number}).status_code == 404


def test_rules_that_were_mined_again_are_seen(fresh: Store) -> None:
    run = fresh
    path = fresh.study_folder("rules") / "rules.parquet"
    before = mined_rules(run)
    assert before is not None
    assert len(find_rules(before, read_search(ExplorerQuery(()), run))) == 160
    pl.read_parquet(path).head(10).write_parquet(path)
    after = mined_rules(run)
    assert after is not None
    assert len(find_rules(after, read_search(ExplorerQuery(()), run))) == 10


def test_the_most_frequent_answer_is_not_counted_as_a_rule(fresh: Store) -> None:
    path = fresh.study_folder("rules") / "rules.parquet"
    rules = pl.read_parquet(path)
    prior = rules.head(1).with_columns(pl.lit("prior").alias("kind"), pl.lit(None, pl.String).alias("state"))
    pl.concat([rules, prior]).write_parquet(path)

    assert dict(overview(fresh, gather_furniture())["counts"])["rules"] == rules.height
