"""Adversaries choose and learn without the examples they are tried on, and verdicts on options rest on them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from eyechart.audits.decoys import DecoysAudit, adversaries
from eyechart.audits.decoys.adversaries import ALONE, UNSEEN, Way, find_adversaries
from eyechart.audits.decoys.blind import CONTROL, CrossValidation
from eyechart.audits.decoys.diagnosis import Solver, SolverResult, hold_against_chance
from eyechart.audits.decoys.repaired import repair
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.audits.decoys.soundness import decide, repairs_table
from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.engines import Local

LETTERS = list("abcdefghijklmnopqrstuvwxyz")
WORDS = ("oak", "elm", "fir", "ash", "yew", "bay", "fig", "box")


def ask(n: int, seed: int, longest: float = 0.0) -> Dataset:
    """Ask with four options that occur once each, the right one of which is longer in a share of the questions."""
    draw = np.random.default_rng(seed)
    rows = []
    for at in range(n):
        right, is_longer = int(draw.integers(4)), draw.random() < longest
        options = ["".join(draw.choice(LETTERS, 20 if place == right and is_longer else 9)) for place in range(4)]
        rows.append((f"{at:04}", f"i{at}", f"which is it, {at} ?", options[right], options))
    examples = pl.DataFrame(rows, schema=["id", "image", "question", "answer", "choices"], orient="row")
    return Dataset("asked", examples, Images.named(examples["image"]))


def study(data: Dataset, *sets: str) -> Result:
    return DecoysAudit(sets=sets or ("orig",)).study(data, Local())  # type: ignore[arg-type]


def test_the_choice_and_the_score_are_those_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way is scored in a loop over examples, by counts that leave out one fold, or two."""
    draw = np.random.default_rng(3)
    rows = []
    for at in range(90):
        options = draw.permutation(list(WORDS))[:3]
        weights = [1 + 2 * (option in WORDS[:3]) for option in options]
        right = draw.choice(3, p=np.array(weights) / sum(weights))
        rows += [(f"{at:02}", f"i{at % 30}", place, option, place == right) for place, option in enumerate(options)]
    offers = pl.DataFrame(rows, schema=["id", "cluster", "place", "text", "target"], orient="row")
    offers = offers.with_columns(image="cluster", question=pl.lit("which?"))
    data = Dataset(
        "x", offers.filter("target").select("id", "image", "question", answer="text"), Images.named(offers["image"])
    )
    monkeypatch.setattr(adversaries, "WAYS", {ALONE: ("prior rule", "position", "length")})
    monkeypatch.setattr(adversaries, "SCORED", ())
    settings = DecoysSettings(folds=4)
    validation = CrossValidation.of(offers, np.ones(offers.height, np.bool_), data, settings)

    [found] = find_adversaries(offers, validation, settings, Local())

    fold = dict(zip(offers["id"], adversaries.folds_of(offers, settings.seed + 1, 4).tolist(), strict=True))
    items = {key[0]: part.to_dicts() for key, part in offers.partition_by("id", as_dict=True).items()}

    def right(values: list[float], options: list[dict[str, object]]) -> float:
        best = [at for at, value in enumerate(values) if value == max(values)]
        return sum(bool(options[at]["target"]) for at in best) / len(best)

    def prior(text: object, left_out: set[int]) -> float:
        known = [
            one for key, options in items.items() if fold[key] not in left_out for one in options if one["text"] == text
        ]
        targets = sum(bool(one["target"]) for one in known)
        return round(targets / (targets + (len(known) - targets) / 2), 9) if known else 0.5

    def score(way: str, key: str, left_out: set[int]) -> float:
        options = items[key]
        if way.startswith("option"):
            return right([one["place"] == int(way[-1]) - 1 for one in options], options)
        sign = -1 if way in ("shortest", "least likely by Eq. 2") else 1
        if way in ("longest", "shortest"):
            return right([sign * len(str(one["text"])) for one in options], options)
        return right([sign * prior(one["text"], left_out) for one in options], options)

    ways = ("option 1", "option 2", "option 3", "longest", "shortest", "likeliest by Eq. 2", "least likely by Eq. 2")
    expected, chosen = {}, Counter[str]()
    for f in range(4):
        sums = {way: sum(score(way, key, {f, fold[key]}) for key in items if fold[key] != f) for way in ways}
        best = max(sums, key=lambda way: sums[way])
        chosen[best] += 1
        expected |= {key: score(best, key, {f}) for key in items if fold[key] == f}
    assert dict(found.scores.iter_rows()) == pytest.approx(expected)
    assert all(f"{way} ({n} of 4 folds)" in found.picks for way, n in chosen.items())
    assert np.mean(list(expected.values())) > 0.4


def test_choosing_among_many_ways_finds_nothing_where_nothing_is() -> None:
    """The best way in hindsight is surely above chance; the one that was chosen without the examples is not."""
    best, chosen = [], []
    for seed in range(12):
        table = study(ask(360, seed)).tables["solvers"]
        over = dict(table.filter(pl.col("solver") != CONTROL).select("solver", "over_chance").iter_rows())
        chosen.append(over[ALONE])
        best.append(max(value for solver, value in over.items() if solver not in (ALONE, UNSEEN)))

    assert np.mean(best) > 2.5 * np.std(best, ddof=1) / np.sqrt(len(best))
    assert abs(np.mean(chosen)) < 2.5 * np.std(chosen, ddof=1) / np.sqrt(len(chosen))


def test_a_cue_that_the_scorer_of_answers_does_not_see_decides() -> None:
    """No option occurs twice, so that A is at chance; the longest is right two times in three."""
    found = study(ask(900, 1, longest=0.55))

    assert (found.verdict.state, found.verdict.question) == ("no", "Free of answers in its options?")
    assert "longest (3 of 3 folds)" in found.verdict.sentence
    assert found.headline == found.measure("options alone over chance", "orig")
    assert found.further[0].state == "no"
    assert found.measure("A", "orig").low < 0.25 < found.measure("A", "orig").high


def test_options_without_a_cue_are_free_of_answers() -> None:
    found = study(ask(6000, 2))

    assert [verdict.state for verdict in found.verdicts] == ["yes", "yes"]
    assert [verdict.question for verdict in found.verdicts] == [
        "Free of answers in its options?",
        "Free of answers without the picture?",
    ]


def result(options: str, name: str, over: tuple[float, ...], *, p: float = 0.5, draws: int = 0) -> SolverResult:
    scores = pl.DataFrame({"id": ["a", "b"], "cluster": ["a", "b"], "score": [0.0, 1.0], "chance": [0.25, 0.25]})
    [made] = hold_against_chance([Solver(options, Way(name, name, scores.select("id", "score")), scores)])
    made = made._replace(
        accuracy=made.accuracy._replace(value=0.25 + over[0]),
        over=made.over._replace(value=over[0], low=over[1], high=over[2], p=p),
    )
    return made._replace(solver=made.solver._replace(way=made.solver.way._replace(draws=(0.25,) * draws)))


@pytest.mark.parametrize(
    ("options", "alone", "control", "a", "state"),
    [
        ("orig", (0.20, 0.15, 0.25), 0.5, (0.0, -0.02, 0.02), "no"),
        ("orig", (0.00, -0.03, 0.03), 0.5, (0.0, -0.02, 0.02), "yes"),
        ("orig", (0.04, 0.01, 0.07), 0.5, (0.0, -0.02, 0.02), "cannot tell"),
        ("orig", (0.20, 0.15, 0.25), 0.009, (0.0, -0.02, 0.02), "cannot tell"),
        ("orig", (0.00, -0.03, 0.03), 0.009, (0.0, -0.02, 0.02), "cannot tell"),
        ("iou", (0.00, -0.03, 0.03), 0.5, (-0.12, -0.15, -0.09), "no"),
        ("iou", (0.00, -0.03, 0.03), 0.5, (-0.05, -0.07, -0.04), "yes"),
        ("orig", (0.00, -0.03, 0.03), 0.5, (-0.12, -0.15, -0.09), "yes"),
    ],
)
def test_a_set_is_judged_from_both_sides_and_by_its_control(
    options: str, alone: tuple[float, ...], control: float, a: tuple[float, ...], state: str
) -> None:
    """Only made sets are held to be no worse than chance; a control off chance leaves everything open."""
    solvers = [
        result(options, ALONE, alone),
        result(options, UNSEEN, (0.2, 0.15, 0.25)),
        result(options, "A", a),
        result(options, CONTROL, (0.01, 0.0, 0.02), p=control, draws=20),
    ]

    verdict, unseen = decide(solvers, options, 0.05)

    assert verdict.state == state
    assert unseen.state == ("cannot tell" if control < 0.01 else "no")


def test_a_control_of_one_draw_decides_nothing() -> None:
    solvers = [
        result("orig", ALONE, (0.0, -0.03, 0.03)),
        result("orig", UNSEEN, (0.0, -0.03, 0.03)),
        result("orig", CONTROL, (0.1, 0.05, 0.15), p=0.001),
    ]

    assert [verdict.state for verdict in decide(solvers, "orig", 0.05)] == ["yes", "yes"]


def test_the_control_is_tested_over_its_draws() -> None:
    """Its interval and p-value are those of a t-test over draws."""
    draws = tuple(np.random.default_rng(0).normal(0.27, 0.02, 20))
    ids = [str(at) for at in range(50)]
    scores = pl.DataFrame({"id": ids, "cluster": ids, "score": np.mean(draws), "chance": 0.25})

    [found] = hold_against_chance([Solver("orig", Way(CONTROL, "", scores.select("id", "score"), draws), scores)])

    from scipy import stats

    by_scipy = stats.ttest_1samp(draws, 0.25)
    interval = by_scipy.confidence_interval()
    assert found.over.p == pytest.approx(by_scipy.pvalue)
    assert (found.over.low, found.over.high) == pytest.approx((interval.low - 0.25, interval.high - 0.25))
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx((interval.low, interval.high))
    assert (found.over.n, found.over.clusters) == (50, 50)


def test_a_control_that_learned_nothing_is_at_chance() -> None:
    """Every option scores the same in every draw, so that there is no spread to test by."""
    scores = pl.DataFrame({"id": ["a", "b"], "cluster": ["a", "b"], "score": 0.25, "chance": 0.25})

    [found] = hold_against_chance(
        [Solver("orig", Way(CONTROL, "", scores.select("id", "score"), (0.25,) * 20), scores)]
    )

    assert (found.over.low, found.over.high, found.over.p) == (0, 0, 1)


def test_few_judged_examples_get_verdicts_without_a_control() -> None:
    solvers = [result("orig", ALONE, (0.0, -0.03, 0.03)), result("orig", UNSEEN, (0.2, 0.15, 0.25))]

    assert [verdict.state for verdict in decide(solvers, "orig", 0.05)] == ["yes", "no"]


@pytest.fixture(scope="module")
def one_an_image() -> tuple[Dataset, Result]:
    data = ask(240, 5)
    return data, study(data, "orig", "iou")


def test_a_set_of_fillers_is_not_offered_and_says_why(one_an_image: tuple[Dataset, Result]) -> None:
    """With one question an image nothing else is true of it, so its decoys are frequent answers."""
    data, found = one_an_image

    [row] = found.tables["repairs"].to_dicts()
    assert (row["options"], row["sound"]) == ("iou", False)
    assert "100% of the 'iou' decoys are fillers" in row["reason"]
    assert "No made options are better; 'iou': 100% of the 'iou' decoys are fillers" in found.verdict.sentence
    with pytest.raises(DataError, match=r"no worse than those of the data; found 'iou': 100% of .*repair=iou"):
        repair(data, found)


def test_a_set_that_is_not_sound_is_written_where_it_is_named(one_an_image: tuple[Dataset, Result]) -> None:
    data, found = one_an_image

    assert repair(data, replace(found, settings=found.settings | {"repair": "iou"})).options == "iou"
    with pytest.raises(DataError, match="decoys 'qou' in the study; found the sets iou"):
        repair(data, replace(found, settings=found.settings | {"repair": "qou"}))


def test_a_set_that_is_easier_than_what_it_replaces_is_not_sound() -> None:
    """Pairs of examples are compared: half of them solved before, nearly all of them after."""
    ids = [f"{at:03}" for at in range(200)]
    drawn = pl.DataFrame({"source": ["qou"], "filler": [False]})

    def solved(options: str, share: float) -> list[SolverResult]:
        scores = pl.DataFrame(
            {"id": ids, "cluster": ids, "score": [float(at < share * 200) for at in range(200)], "chance": 0.25}
        )
        ways = (Way(name, "", scores.select("id", "score")) for name in (ALONE, UNSEEN))
        return hold_against_chance(Solver(options, way, scores) for way in ways)

    [harder] = repairs_table([*solved("orig", 0.5), *solved("qou", 0.45)], drawn, 0.05).to_dicts()
    [easier] = repairs_table([*solved("orig", 0.5), *solved("qou", 0.9)], drawn, 0.05).to_dicts()

    assert harder == {"options": "qou", "sound": True, "reason": None}
    assert not easier["sound"]
    assert "solved 40.0 [33.2, 46.8] points further above chance than 'orig' by the options alone" in easier["reason"]
    assert "without the picture" in easier["reason"]


@pytest.mark.parametrize(("over", "low", "sound"), [(0.2, 0.15, False), (0.1, 0.04, True)])
def test_where_there_are_no_options_to_replace_made_ones_must_not_give_the_answer_away(
    over: float,
    low: float,
    sound: bool,  # noqa: FBT001
) -> None:
    drawn = pl.DataFrame({"source": ["qou"], "filler": [False]})
    solvers = [result("qou", ALONE, (over, low, 0.25)), result("qou", UNSEEN, (0.4, 0.35, 0.45))]

    [row] = repairs_table(solvers, drawn, 0.05).to_dicts()

    assert row["sound"] == sound
    assert sound or row["reason"] == "20.0 [15.0, 25.0] points over chance by the options alone"
