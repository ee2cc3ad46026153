"""Donors: one other example gives image and question, answers to none of the options, and unmasks who needs neither."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.options import normal_forms
from eyechart.audits.decoys.probing import commonest_share, draw_donors
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from eyechart.world import load_answerer

AUDIT = DecoysAudit(sets=("orig", "iou+qou"), drawing="neutral", most=300)
SHOWN = ["image", "question"]
WORDS = ("Red", "red.", "two", "2", "a dog", "dog", "yes", "No", "the")
FORMS = dict(zip(WORDS, normal_forms(pl.Series(WORDS)), strict=True))


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=1003, images=300)


@pytest.fixture(scope="module")
def study(world: Dataset) -> Result:
    return AUDIT.study(world, Local())


@pytest.fixture(scope="module")
def probes(world: Dataset, study: Result) -> dict[str, pl.DataFrame]:
    return dict(AUDIT.probe(world, study))


def judged(world: Dataset, study: Result, probes: dict[str, pl.DataFrame], model: Model) -> Result:
    answers = [tidy(model.answer(fill(one, world), world.images), one, model.name) for one in probes.values()]
    return AUDIT.judge(world, study, Predictions(model.name, pl.concat(answers)), Local())


@pytest.mark.parametrize("name", ["cheater:decoy", "refuser:decoy"])
def test_who_lives_on_the_options_is_caught_even_if_it_refuses_without_a_picture(
    name: str, world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    """Options alone had cleared the one that refuses: all its answers to them were counted below chance."""
    result = judged(world, study, probes, load_answerer(name))

    assert (result.verdict.state, result.verdict.label) == ("no", "relies on the options")
    assert result.measure("over chance", "orig@donor").low > 0.2
    assert result.measure("falls on repaired options", "iou+qou").low > 0.15


@pytest.mark.parametrize("name", ["seer", "refuser"])
def test_who_looks_is_cleared_also_if_it_refuses_without_a_picture(
    name: str, world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, load_answerer(name))

    assert (result.verdict.state, result.verdict.label) == ("yes", "needs more than the options")


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("guesser", {"too close to tell", "guesses"}),
        ("hedger", {"chooses none"}),
        ("abstainer", {"chooses none"}),
        ("blind", {"chooses none"}),
    ],
)
def test_who_does_not_choose_or_only_guesses_shows_nothing(
    name: str, labels: set[str], world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, load_answerer(name))

    assert result.verdict.state == "cannot tell"
    assert result.verdict.label in labels


def test_who_looks_at_six_of_ten_and_lives_on_the_options_of_the_rest_is_caught(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, load_answerer("mix:seer=0.6,cheater:decoy=0.4"))

    assert result.verdict.state == "no"


def test_a_model_that_names_options_but_beats_nothing_is_not_cleared(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    class Shy:
        """Guess where the image fits the question, and say nothing else."""

        name = "shy"

        def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
            own = pl.col("condition") != "orig@donor"
            guess = load_answerer("guesser").answer(probes, images)
            known = probes.select("id", "condition").join(guess, on="id", maintain_order="left")
            return known.select("id", answer=pl.when(own).then("answer").otherwise(pl.lit("hm")))

    result = judged(world, study, probes, Shy())

    assert (result.verdict.state, result.verdict.label) == ("cannot tell", "guesses")


def test_a_donor_gives_image_and_question_and_the_options_stay(world: Dataset, probes: dict[str, pl.DataFrame]) -> None:
    asked, own = probes["orig@donor"], probes["orig"]
    known = {row["id"]: row for row in world.examples.iter_rows(named=True)}

    assert asked["image_from"].equals(asked["question_from"].alias("image_from"))
    assert asked.select("id", "choices").sort("id").equals(own.select("id", "choices").sort("id"))
    for row, shown in zip(asked.iter_rows(named=True), fill(asked, world).iter_rows(named=True), strict=True):
        donor = known[row["image_from"]]
        assert (shown["image"], shown["question"]) == (donor["image"], donor["question"])
        assert donor["image"] != known[row["id"]]["image"]
        assert donor["split"] == "test"
        assert {*donor["answers"], donor["answer"]}.isdisjoint(row["choices"])


def test_captions_of_an_example_stay_with_its_image(world: Dataset, study: Result) -> None:
    captioned = Dataset(
        world.name,
        world.examples.with_columns(caption=pl.concat_str(pl.lit("of "), "image")),
        world.images,
        ("image", "question", "caption"),
    )
    asked = dict(AUDIT.probe(captioned, study))["orig@donor"]

    assert asked["caption_from"].equals(asked["image_from"].alias("caption_from"))


def test_donors_do_not_depend_on_the_order_of_rows(world: Dataset, study: Result) -> None:
    shuffled = Dataset(world.name, world.examples.sample(fraction=1.0, shuffle=True, seed=3), world.images)

    assert dict(AUDIT.probe(shuffled, study))["orig@donor"].equals(dict(AUDIT.probe(world, study))["orig@donor"])


texts = st.sampled_from(WORDS)
example = st.tuples(st.sampled_from("abc"), st.lists(texts, min_size=1, max_size=3), st.lists(texts, min_size=1))


@settings(deadline=None)
@given(drawn=st.lists(example, min_size=1, max_size=12), seed=st.integers(0, 5))
def test_a_donor_is_of_another_cluster_and_accepts_no_option_in_any_form(
    drawn: list[tuple[str, list[str], list[str]]], seed: int
) -> None:
    """Whoever has such a donor gets one, against a search in plain Python."""
    examples = pl.DataFrame(
        {
            "id": [f"{n:02}" for n in range(len(drawn))],
            "cluster": [cluster for cluster, _, _ in drawn],
            "image": "i",
            "question": "q",
            "answer": [answers[0] for _, answers, _ in drawn],
            "answers": [answers for _, answers, _ in drawn],
            "choices": [options for _, _, options in drawn],
        },
        schema_overrides={"answers": pl.List(pl.String), "choices": pl.List(pl.String)},
    )
    rows = examples.to_dicts()
    possible = {
        row["id"]: {
            other["id"]
            for other in rows
            if other["cluster"] != row["cluster"]
            and {FORMS[text] for text in other["answers"]}.isdisjoint({FORMS[text] for text in row["choices"]})
        }
        for row in rows
    }

    donors = dict(draw_donors(examples, examples.select("id", "choices"), SHOWN, seed).iter_rows())

    assert donors.keys() == {name for name, others in possible.items() if others}
    assert all(donor in possible[name] for name, donor in donors.items())


def test_donors_are_drawn_evenly() -> None:
    n = 4000
    examples = pl.DataFrame(
        {
            "id": [f"{k:04}" for k in range(n)] + ["x", "y", "z", "own"],
            "cluster": ["own"] * n + ["x", "y", "z", "own"],
            "image": "i",
            "question": "q",
            "answer": [None] * n + ["cat", "dog", "red", "fish"],
        }
    )
    choices = examples.head(n).select("id", choices=pl.lit(["red", "two"]))
    donors = draw_donors(examples, choices, SHOWN, 0)

    shares = dict(donors["donor"].value_counts(normalize=True).iter_rows())
    assert shares.keys() == {"x", "y"}
    assert shares["x"] == pytest.approx(0.5, abs=0.03)


def test_an_example_without_image_or_question_gives_none() -> None:
    examples = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "cluster": ["a", "b", "c"],
            "image": ["i", None, "k"],
            "question": ["q", "r", None],
            "answer": ["cat", "dog", "red"],
        }
    )

    donors = draw_donors(examples, examples.select("id", choices=pl.lit(["two", "three"])), SHOWN, 0)

    assert dict(donors.iter_rows()) == {"b": "a", "c": "a"}


def quiz(answers: list[str], choices: list[list[str]]) -> Dataset:
    n = len(answers)
    examples = pl.DataFrame(
        {
            "id": [f"{k:03}" for k in range(n)],
            "image": [f"i{k}" for k in range(n)],
            "question": [f"what is {k}?" for k in range(n)],
            "answer": answers,
            "choices": choices,
        }
    )
    return Dataset("quiz", examples, Images.named(examples["image"]))


@pytest.mark.parametrize(
    ("data", "label", "told"),
    [
        (
            quiz(["yes", "no"] * 30, [["yes", "No"], ["no", "Yes"]] * 30),
            "same options everywhere",
            "100% of the examples offer the same options",
        ),
        (
            quiz(["cat", "dog"] * 30, [["cat", "dog", "red"], ["cat", "dog", "blue"]] * 30),
            "no donors",
            "none can stand in for it",
        ),
    ],
)
def test_where_nobody_can_stand_in_the_reason_is_told(data: Dataset, label: str, told: str) -> None:
    audit = DecoysAudit(sets=("orig",))
    study = audit.study(data, Local())
    asked = dict(audit.probe(data, study))
    model = load_answerer("guesser")
    answers = [tidy(one.select("id", answer=pl.col("choices").list.first()), one, "first") for one in asked.values()]

    result = audit.judge(data, study, Predictions(model.name, pl.concat(answers)), Local())

    assert "orig@donor" not in asked
    assert (result.verdict.state, result.verdict.label) == ("not tested", label)
    assert told in result.verdict.sentence


def test_examples_without_a_donor_are_counted_and_left_out() -> None:
    """Whose options hold the answers of all others is not asked; it is told on how many the verdict stands."""
    options = [["cat", "dog", "red"]] * 10 + [["cat", "two"], ["two", "dog"]] * 25
    data = quiz(["cat", "dog"] * 30, options)
    audit = DecoysAudit(sets=("orig",))
    study = audit.study(data, Local())
    asked = dict(audit.probe(data, study))
    n, some = asked["orig"].height, asked["orig@donor"].height
    answers = [tidy(one.select("id", answer=pl.lit("cat")), one, "cat") for one in asked.values()]

    result = audit.judge(data, study, Predictions("cat", pl.concat(answers)), Local())

    left_out = result.tables["counts"].filter(pl.col("status") == "left out")
    assert 0 < some < n
    assert left_out.select("condition", "n").rows() == [("orig@donor", n - some)]
    assert f"on the {some} of {n} examples with a donor" in result.verdict.sentence


def test_options_that_people_write_in_different_ways_are_the_same() -> None:
    same = pl.Series([["Yes", "no"], ["no.", "yes"], ["yes", "no", "No"], ["red", "no"]])

    assert commonest_share(same) == 0.75
    assert commonest_share(same.clear()) == 0


@pytest.mark.parametrize("skip", [True, False])
def test_files_with_the_answers_that_were_enough_before_are_judged_without_donors(
    tmp_path: Path, *, skip: bool
) -> None:
    world = read("world", seed=3, images=60)
    audit = DecoysAudit(sets=("orig",))
    run = Run(Store(tmp_path / "run"), asking=Asking(skip=skip)).start(world)
    run.study([audit])
    assert "orig@donor" in run.probe()
    files = []
    for condition in ("orig", "orig-image-question", "rotate#1"):
        file = tmp_path / f"{condition}.csv"
        run.store.probes(condition).select("id", answer=pl.col("choices").list.first()).write_csv(file)
        files.append(f"{condition}={file}")

    result = run.audit(load(f"predictions:{','.join(files)},name=first"))["decoys"]

    assert (result.verdict.state, result.verdict.label) == ("not tested", "not asked")
    assert result.measure("accuracy", "orig").n == run.store.probes("orig").height
    assert run.store.wanted().spare == {"decoys": ("orig@donor",)}
