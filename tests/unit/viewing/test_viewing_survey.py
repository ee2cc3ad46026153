"""People are asked fairly, lose nothing, and are judged like any model."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from starlette.testclient import TestClient

from eyechart.audits import make_audit
from eyechart.base.errors import FileFormatError
from eyechart.base.files import write_table
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Prober
from eyechart.data.store import Store
from eyechart.runs.run import Asking, Run
from eyechart.viewing.questionnaire import plan_questions
from eyechart.viewing.server import Guard, build_survey
from eyechart.viewing.survey import HUMAN, HumanAnswer, SurveyLog, answer_table, measure_agreement, open_log

HERE = "http://127.0.0.1:8000"
OPTIONS = ["red", "green", "blue", "gray"]


@pytest.fixture
def chosen(tmp_path: Path) -> Run:
    """Lay out a run on questions about two pictures, with options, the right one first, as some datasets have it."""
    (tmp_path / "pictures").mkdir()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "pictures" / "p.png")
    examples = pl.DataFrame(
        {
            "id": [f"q{n:02}" for n in range(30)],
            "image": [f"i{n % 10}" for n in range(30)],
            "question": [f"secret question {n}?" for n in range(30)],
            "answer": ["red"] * 30,
            "choices": [OPTIONS] * 30,
            "images": [[f"i{n % 10}", f"i{(n + 3) % 10}"] for n in range(30)],
        }
    )
    images = Images.named(examples["image"]).table.with_columns(path=pl.lit("p.png"))
    run = Run(Store(tmp_path / "run"), asking=Asking(allow_partial=True))
    run.start(Dataset("quiz", examples, Images(images, tmp_path / "pictures")))
    run.study([make_audit("accuracy", {})])
    run.probe()
    return run


def enter(run: Store, guard: Guard, items: int = 8) -> TestClient:
    app = build_survey(run, guard, items)
    headers = {"Origin": HERE}
    return TestClient(app, base_url=HERE, cookies={guard.cookie: guard.token}, headers=headers)


def test_the_sample_is_the_same_for_a_seed_and_another_for_another(chosen: Run) -> None:
    first, again, other = (plan_questions(chosen.store, 8, seed) for seed in (1, 1, 2))

    assert first.items == again.items
    assert len(first.items) == 8
    assert first.items != other.items


def test_four_people_see_every_example_in_four_ways_and_each_person_each_way_as_often(chosen: Run) -> None:
    plan = plan_questions(chosen.store, 8)
    seen = {item: {plan.variant(person, item).condition for person in range(4)} for item in plan.items}
    mine = [plan.variant(2, item).condition for item in plan.items]

    assert all(len(conditions) == 4 for conditions in seen.values())
    assert {mine.count(name) for name in mine} == {2}


def test_the_place_of_the_right_option_tells_nothing(chosen: Run) -> None:
    plan = plan_questions(chosen.store, 30)
    places = [plan.options(f"p{n}", item, "plain").index("red") for n in range(40) for item in plan.items]

    shares = np.bincount(places, minlength=4) / len(places)
    assert np.abs(shares - 0.25).max() < 0.05  # 1,200 draws: four standard errors


def test_what_is_hidden_is_not_on_the_page_nor_behind_it(chosen: Run, guard: Guard) -> None:
    client, plan = enter(chosen.store, guard), plan_questions(chosen.store, 8)
    client.post("/begin", data={"person": "ann"})
    for item in plan.items:
        part = plan.variant(0, item)
        text = client.get("/item", params={"person": "ann", "id": item}).text
        asked = {"person": "ann", "id": item}
        seen = [client.get("/seen", params=asked | place).status_code for place in ({}, {"place": "1"}, {"place": "2"})]
        assert ("secret question" in text) == ("question" not in part.hidden)
        assert text.count("<img") == (0 if "image" in part.hidden else 2)
        assert seen == ([404] * 3 if "image" in part.hidden else [200, 200, 404])
        assert all(option in text for option in OPTIONS)
        assert "reference" not in text


def test_those_who_answer_cannot_look_the_answers_up(chosen: Run, guard: Guard) -> None:
    client = enter(chosen.store, guard)

    for path in ("/examples", "/example?id=q00", "/rules", "/compare", "/examples.csv", "/picture?id=q00"):
        assert client.get(path).status_code == 404


def answer_all(client: TestClient, person: str, given: str) -> int:
    """Answer whatever is asked until nothing is."""
    at = client.post("/begin", data={"person": person})
    for turn in range(100):
        if at.url.path == "/done":
            return turn
        item = at.text.split('name="id" value="')[1].split('"')[0]
        at = client.post("/answer", data={"person": person, "id": item, "answer": given})
    raise AssertionError("it never ends")


def test_people_answer_and_are_judged_like_a_model(chosen: Run, guard: Guard) -> None:
    client = enter(chosen.store, guard)
    assert answer_all(client, "ann", "red") == 8
    assert answer_all(client, "bob", "green") == 8

    result = chosen.judge(HUMAN)["accuracy"]
    answers = chosen.store.answers(HUMAN)
    plan = plan_questions(chosen.store, 8)
    right = [plan.variant(0, item).condition == "plain" for item in plan.items].count(True)
    wrong = [plan.variant(1, item).condition == "plain" for item in plan.items].count(True)
    assert answers.answers.height == 16
    assert result.measure("accuracy", "plain").n == right + wrong
    assert result.measure("accuracy", "plain").value == right / (right + wrong)
    assert "ann" not in (chosen.store.answer_file(HUMAN, "plain")).read_bytes().decode("latin-1")


def test_a_person_can_go_back_and_change_an_answer(chosen: Run, guard: Guard) -> None:
    client = enter(chosen.store, guard)
    answer_all(client, "ann", "red")
    item = plan_questions(chosen.store, 8).items[0]
    client.post("/answer", data={"person": "ann", "id": item, "answer": "blue"})

    answers = chosen.store.answers(HUMAN).answers
    assert answers.height == 8
    assert answers.filter(pl.col("id") == item)["answer"].to_list() == ["blue"]


@pytest.mark.parametrize("given", ["", "violet", "<script>"])
def test_what_is_no_option_is_not_taken(chosen: Run, guard: Guard, given: str) -> None:
    client = enter(chosen.store, guard)
    client.post("/begin", data={"person": "ann"})
    item = plan_questions(chosen.store, 8).items[0]
    client.post("/answer", data={"person": "ann", "id": item, "answer": given})

    assert open_log(chosen.store).answers() == []


def test_another_site_cannot_answer_for_a_person(chosen: Run, guard: Guard) -> None:
    client = enter(chosen.store, guard)

    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert client.post("/begin", data={"person": "eve"}, headers=headers).status_code == 403
    del client.headers["Origin"]
    assert client.post("/begin", data={"person": "eve"}).status_code == 403


def test_a_form_that_never_ends_is_left(chosen: Run, guard: Guard) -> None:
    client = enter(chosen.store, guard)

    assert client.post("/begin", data={"person": "x" * 100_000}).url.path == "/"
    assert open_log(chosen.store).number("x" * 60) is None


def say(person: str, number: int, item: str, answer: str) -> HumanAnswer:
    return HumanAnswer(person, number, item, "plain", "p", answer, "now")


def test_a_crash_in_the_middle_of_a_line_loses_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    log = SurveyLog(path)
    log.register("ann")
    for n in range(3):
        log.add(say("ann", 0, f"q{n}", "red"))
    path.write_bytes(path.read_bytes()[:-5])

    again = SurveyLog(path)
    again.add(say("ann", 0, "q9", "blue"))
    assert [each.id for each in SurveyLog(path).answers()] == ["q0", "q1", "q9"]
    assert SurveyLog(path).number("ann") == 0
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_people_keep_their_numbers_over_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        log = SurveyLog(tmp_path / "people.jsonl")
        assert [log.register(name) for name in ("ann", "bob", "ann")] == [0, 1, 0]


def test_those_who_saw_the_same_are_draws_of_one_model() -> None:
    table = answer_table([say("bob", 4, "q", "no"), say("ann", 0, "q", "yes"), say("cy", 8, "r", "no")])

    assert table.select("id", "draw", "answer").rows() == [("q", 0, "yes"), ("q", 1, "no"), ("r", 0, "no")]


def test_agreement_is_the_share_of_pairs_that_say_the_same(chosen: Run) -> None:
    plan, rng = plan_questions(chosen.store, 12), np.random.default_rng(0)
    answers = [
        say(f"p{n}", n, item, str(rng.choice(OPTIONS))) for n in range(5) for item in plan.items if rng.random() < 0.8
    ]
    (row,) = measure_agreement(plan, answers)

    shares = []
    for item in plan.items:
        given = [each.answer for each in answers if each.id == item]
        pairs = [one == two for one, two in combinations(given, 2)]
        shares += [sum(pairs) / len(pairs)] if pairs else []
    assert row["agreement"].n == len(shares)
    assert row["agreement"].value == pytest.approx(np.mean(shares))
    assert row["accuracy"].value == pytest.approx(np.mean([each.answer == "red" for each in answers]))


def test_without_options_people_write_with_and_without_the_picture(fresh: Store, guard: Guard) -> None:
    client, plan = enter(fresh, guard), plan_questions(fresh, 8)
    client.post("/begin", data={"person": "ann"})
    text = client.get("/item", params={"person": "ann"}).text

    assert [variant.condition for variant in plan.variants] == ["plain", "image=none"]
    assert 'id="answer"' in text
    assert answer_all(client, "ann", "<script>alert(1)</script>") == 8
    assert "<script>alert" not in client.get("/item", params={"person": "ann", "id": plan.items[0]}).text


def test_answers_of_another_human_are_not_overwritten(fresh: Store, guard: Guard) -> None:
    fresh.answer_folder(HUMAN).mkdir(parents=True)
    fresh.answer_file(HUMAN, "plain").write_bytes(b"somebody's")

    with pytest.raises(FileFormatError, match="from another source"):
        build_survey(fresh, guard, 3)


def test_the_conditions_of_the_decoys_audit_are_asked_with_the_options_it_offers(chosen: Run) -> None:
    prober, ids = Prober(chosen.store.data), chosen.store.data.examples["id"]
    offered = pl.DataFrame({"id": ids, "choices": [["red", "pink"]] * len(ids)})
    for hidden in ((), ("image",), ("question",), ("image", "question")):
        keys = offered.with_columns(pl.lit(None, pl.String).alias(f"{name}_from") for name in hidden)
        name = "-".join(("qou", *hidden))
        write_table(prober.complete(keys, name), chosen.store.probe_file(name))
    plan = plan_questions(chosen.store, 5, options="qou")

    conditions = [variant.condition for variant in plan.variants]
    assert conditions == ["qou", "qou-image", "qou-question", "qou-image-question"]
    for part in plan.variants:
        asked = chosen.store.probes(part.condition).filter(pl.col("id") == plan.items[0])
        assert plan.shown[part.condition][plan.items[0]]["probe"] == asked["probe"][0]
        assert sorted(plan.options("ann", plan.items[0], part.condition)) == ["pink", "red"]
    answers = [HumanAnswer("ann", 0, item, "qou", "p", "pink", "now") for item in plan.items]
    assert next(iter(measure_agreement(plan, answers)))["accuracy"].value == 0
