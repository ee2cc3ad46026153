"""What is asked: conditions, removals, rounds; and what becomes of bad input."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.audits.perception import PerceptionAudit
from eyechart.audits.perception.probing import Rounds
from eyechart.audits.perception.settings import removals_of
from eyechart.base.errors import DataError, EyechartError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from eyechart.runs.verbs import audit


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=4, images=400)


def probes_of(data: Dataset, turn: int = 0, **settings: object) -> dict[str, pl.DataFrame]:
    chosen = PerceptionAudit(**settings)
    return dict(chosen.probe(data, chosen.study(data, Local()), turn))


def test_every_modality_is_taken_from_donors_and_the_rest_stays(world: Dataset) -> None:
    probes = probes_of(world, draws=2, interactions=True)

    assert list(probes) == ["plain", *(f"{s}#{k}" for s in ("image", "question", "image+question") for k in (0, 1))]
    image = (
        probes["image#1"]
        .join(world.examples.select("id", own="image"), on="id")
        .join(world.examples.select(image_from="id", seen="image"), on="image_from")
    )
    assert image.height == probes["image#1"].height
    assert (image["own"] != image["seen"]).all()
    assert (image["question_from"] == image["id"]).all()
    both = probes["image+question#0"]
    assert both["image_from"].equals(probes["image#0"]["image_from"])
    assert (both["image_from"] != both["question_from"]).mean() > 0.9


@pytest.mark.parametrize("named", [(), ("image",)])
def test_what_is_asked_besides_the_examples_as_they_are_is_known_before_the_study(
    world: Dataset, named: tuple[str, ...]
) -> None:
    known = PerceptionAudit(draws=1, modalities=named).beyond_plain(world)

    assert ["plain", *known] == list(probes_of(world, draws=1, modalities=named))


@pytest.mark.parametrize("kind", ["none", "blank", "mean", "noise", "guess", "as-if"])
def test_other_removals_say_what_is_shown_instead(world: Dataset, kind: str) -> None:
    probes = probes_of(world, removal=(kind,), modalities=("image",))[f"image={kind}"]

    if kind in {"blank", "mean", "noise"}:
        assert probes["image_from"].equals(probes["id"])  # the models' room paints it over
    else:
        assert probes["image_from"].null_count() == probes.height
    assert set(probes["removal"]) == {f"image={kind}"}
    result = audit(world, "world:seer", [PerceptionAudit(removal=(kind,), modalities=("image",))])["perception"]
    assert result.measure("perception", f"image={kind}").value > 0.9
    assert result.tables["errors"]["draws_se"].to_list() == [0.0]


def test_blind_prompts_are_for_pictures_only(world: Dataset) -> None:
    assert list(probes_of(world, removal=("guess",))) == ["plain", "image=guess"]
    with pytest.raises(SettingError, match="a picture to remove by 'guess'"):
        probes_of(world, removal=("guess",), modalities=("question",))


def test_a_model_that_overlooks_a_removal_is_pointed_out(world: Dataset) -> None:
    result = audit(world, "world:blind", [PerceptionAudit(removal=("none",), modalities=("image",))])["perception"]

    assert any("does not read the column `removal`" in note for note in result.tables["notes"]["note"])


def test_rounds_add_to_each_other_and_stop(world: Dataset, tmp_path: Path) -> None:
    """No probe is asked twice, earlier ones stay as they were, and the run ends with intervals as narrow as wanted."""
    chosen = PerceptionAudit(precision=14.0, modalities=("image",))
    study = chosen.study(world, Local())
    rounds = [dict(chosen.probe(world, study, turn)) for turn in range(6)]
    keys = pl.concat([part.select("id", "condition") for each in rounds for part in each.values()])
    assert not keys.is_duplicated().any()
    assert 200 < rounds[0]["plain"].height < 400
    assert sum(each["plain"].height for each in rounds if "plain" in each) == 600

    run = Run(Store(tmp_path / "run")).start(world)
    run.study([chosen])
    result = run.audit(load("world:mix:seer=0.5,blind=0.5"))["perception"]
    found = result.measure("perception", "image")
    assert 100 * (found.high - found.low) <= 14
    assert found.n < 600
    assert not result.wants_more
    first = run.store.probes("image#0").join(rounds[0]["image#0"], on=["id", "probe"], how="semi")
    assert first.height == rounds[0]["image#0"].height


@pytest.mark.parametrize("last", [0, 1, 2, 3])
def test_the_last_round_that_has_answers_is_the_one_that_is_judged(world: Dataset, last: int) -> None:
    """First half of the examples, then all, then two draws of each, then four."""
    chosen = PerceptionAudit(precision=5.0, modalities=("image",))
    study = chosen.study(world, Local())
    parts = [part for turn in range(last + 1) for _, part in chosen.probe(world, study, turn)]
    answers = pl.concat(tidy(part.select("id", answer=pl.lit("yes")), part, "yes") for part in parts)

    reached = Rounds.of(chosen, study).reached(removals_of(chosen, world), Predictions("yes", answers))

    assert reached == last


def test_a_second_round_is_judged_with_the_first(world: Dataset) -> None:
    chosen = PerceptionAudit(precision=9.0, modalities=("image",))
    result = audit(world, "world:mix:seer=0.5,blind=0.5", [chosen])["perception"]

    assert result.measure("perception", "image").n == 600
    assert any("points wide after round 2" in note for note in result.tables["notes"]["note"])


def test_a_precision_out_of_reach_is_noted_and_drawing_stops(world: Dataset) -> None:
    chosen = PerceptionAudit(precision=2.0)
    result = audit(world, "world:mix:seer=0.5,blind=0.5", [chosen])["perception"]

    assert any("out of reach" in note for note in result.tables["notes"]["note"])
    assert result.tables["errors"]["draws"].max() <= 4


def test_too_few_rounds_are_noted(world: Dataset) -> None:
    chosen = PerceptionAudit(precision=2.0, max_rounds=1)
    result = audit(world, "world:mix:seer=0.5,blind=0.5", [chosen])["perception"]

    assert any("raise `max_rounds`" in note for note in result.tables["notes"]["note"])


def test_the_papers_protocol_repeats_the_score(world: Dataset) -> None:
    result = audit(world, "world:mix:seer=0.5,blind=0.5", [PerceptionAudit(draws=2, repeats=3)])["perception"]
    repeats = result.tables["repeats"].filter(pl.col("removed") == "image")

    assert repeats["repeat"].to_list() == [0, 1, 2]
    assert repeats["perception"].mean() == pytest.approx(result.measure("perception", "image").value)


def examples(n: int, **columns: object) -> Dataset:
    table = pl.DataFrame(
        {
            "id": [f"{at:02}" for at in range(n)],
            "image": [f"i{at}" for at in range(n)],
            "question": [f"what is {at}?" for at in range(n)],
            "answer": ["yes", "no"] * (n // 2) + ["yes"] * (n % 2),
        }
    ).with_columns(**columns)
    return Dataset("few", table, Images.named(table["image"]))


def test_one_example_has_no_donor() -> None:
    with pytest.raises(DataError, match="at least two judged examples"):
        audit(examples(1), "world:guesser", ["perception"])


def test_equal_images_leave_no_donor() -> None:
    data = examples(6, image=pl.lit("same"))
    with pytest.raises(DataError, match="by the policy 'other'; found none among 6 examples, which all have the same"):
        audit(data, "world:guesser", ["perception"])
    result = audit(data, "world:guesser", [PerceptionAudit(modalities=("question",))])["perception"]
    assert result.measures.filter(pl.col("name") == "perception").height == 1


def test_examples_without_the_modality_or_a_donor_are_counted() -> None:
    """Of ten examples two have no image; of eight, three have types of their own and so no donor of the same type."""
    types = pl.Series(["x"] * 5 + ["p", "q", "r"] + ["x"] * 2)
    image = pl.when(pl.col("id") < "08").then("image")
    data = examples(10, question_type=types, image=image)
    chosen = PerceptionAudit(donors="same-type", modalities=("image",))
    study = chosen.study(data, Local())

    counts = {(row["status"], row["reason"]): row["n"] for row in study.tables["counts"].iter_rows(named=True)}
    assert counts == {
        ("judged", None): 10,
        ("left out", "no donor"): 3,
        ("left out", "no image of its own"): 2,
    }
    assert dict(chosen.probe(data, study))["image#0"].height == 5


def test_choices_belong_to_another_audit(world: Dataset) -> None:
    with pytest.raises(SettingError, match="decoys"):
        audit(world, "world:seer", [PerceptionAudit(modalities=("choices",))])
    with pytest.raises(DataError, match="'sound' where world-4 has image, question"):
        audit(world, "world:seer", [PerceptionAudit(modalities=("sound",))])


def test_without_examples_to_learn_from_the_normalisation_is_left_out(world: Dataset) -> None:
    test = replace(world, examples=world.examples.filter(pl.col("split") == "test"))
    result = audit(test, "world:seer", ["perception"])["perception"]
    assert "perception / task" not in set(result.measures["name"])
    assert any("no examples to learn the most frequent answer" in note for note in result.tables["notes"]["note"])


@pytest.mark.parametrize(("setting", "instead"), [("split", "--judge"), ("majority_split", "--learn")])
def test_splits_are_no_longer_settings_and_one_line_says_what_to_do(setting: str, instead: str) -> None:
    with pytest.raises(SettingError, match=instead) as caught:
        make_audit("perception", {setting: "val"})
    assert "\n" not in str(caught.value)


def test_the_majority_and_the_shares_of_train_are_learned_where_the_run_says(world: Dataset) -> None:
    """Learned from test and judged on val, by the study as by the judgement, and the rest is counted."""
    decided = world.decide(learn=["test"], judge=["val"])
    result = audit(decided, "world:blind", [PerceptionAudit(draws=1)])["perception"]
    studied = PerceptionAudit(draws=1).study(decided, Local())
    sizes = dict(world.examples["split"].value_counts().iter_rows())
    counts = dict(studied.tables["counts"].select("reason", "n").rows())
    asked = world.examples.filter(pl.col("split") == "test")["question"].str.to_lowercase().str.split(" ").list.first()

    assert f"learned on {sizes['test']:,} examples of 'test'" in studied.tables["notes"]["note"][0]
    assert result.rows.height == sizes["val"]
    assert counts == {None: sizes["val"], "in another split": sizes["train"]}
    for token, n in result.tables["proportions"].select("token", "train n").iter_rows():
        assert n == (asked == token).sum()


def test_a_study_of_an_older_version_is_probed_and_judged_by_its_rows(world: Dataset) -> None:
    """It judged train, of whatever the run would judge now; its donors and what it learned from are its own."""
    chosen = PerceptionAudit(draws=1)
    other = world.decide(learn=["test"], judge=["train"])
    studied = chosen.study(other, Local())
    old = replace(studied, settings=studied.settings | {"split": "train", "majority_split": "test"})
    probes = dict(chosen.probe(world, old))
    answers = pl.concat(
        tidy(load("world:seer").answer(fill(part, world), world.images), part, "seer") for part in probes.values()
    )
    judged = chosen.judge(world, old, Predictions("seer", answers), Local())

    assert {name: part.equals(probes[name]) for name, part in chosen.probe(other, studied)} == dict.fromkeys(
        probes, True
    )
    assert set(judged.rows["id"]) == set(world.examples.filter(pl.col("split") == "train")["id"])
    again = chosen.judge(other, studied, Predictions("seer", answers), Local())
    assert judged.tables["proportions"].equals(again.tables["proportions"])


class Failing:
    """Fail on every fifth probe of the permuted ones, say nothing usable on one plain one."""

    name = "failing"

    def __init__(self) -> None:
        self.failures = 0  # on permuted probes

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        answers = load("world:seer").answer(probes, images)
        permuted = probes["condition"].str.contains("#") & (pl.Series(range(probes.height)) % 5 == 0)
        self.failures += int(permuted.sum())
        plain = (probes["condition"] == "plain") & (probes["id"] == probes["id"].min())
        return answers.with_columns(answer=pl.when(~(permuted | plain)).then("answer"))


def test_failures_are_counted_and_bounded(world: Dataset) -> None:
    model = Failing()
    chosen = [PerceptionAudit(modalities=("image",))]
    result = audit(world, model, chosen, asking=Asking(allow_partial=True))["perception"]
    counts = result.tables["counts"]
    found = {name: result.measure(name, "image") for name in ("perception", *BOUNDS)}

    assert counts.filter(pl.col("condition") == "image#0")["n"].sum() == 600
    failed = counts.filter(pl.col("status") == "failed")
    assert failed.filter(pl.col("condition") == "plain")["n"].item() >= 1
    draws = failed.filter(pl.col("condition") != "plain")["n"].sum()
    assert draws == model.failures > 0
    assert found[BOUNDS[1]].value == pytest.approx(found[BOUNDS[0]].value - draws / 2400)
    assert found[BOUNDS[1]].value < found["perception"].value < found[BOUNDS[0]].value + 0.02


BOUNDS = ("perception, lost as wrong", "perception, lost as right")


def test_a_model_that_lost_most_answers_is_not_cleared(world: Dataset, tmp_path: Path) -> None:
    chosen = PerceptionAudit(draws=1)
    audit(world, "world:seer", [chosen], to=tmp_path / "run")
    answers = Store(tmp_path / "run").answers("seer").answers
    last = answers["id"].unique().sort().tail(-20).implode()
    lost = pl.col("condition").str.starts_with("image") & pl.col("id").is_in(last)
    answers.select("id", "condition", pl.when(~lost).then("answer").alias("answer")).write_parquet(
        tmp_path / "a.parquet"
    )

    lost_some = Asking(allow_partial=True)
    found = audit(world, f"predictions:{tmp_path}/a.parquet", [chosen], asking=lost_some)["perception"]

    assert found.measure("perception", "image").low > chosen.margin
    assert (found.verdict.label, found.headline) == ("too many answers lost", found.measure("perception", "image"))
    assert (found.verdict.state, "Too many answers were lost" in found.verdict.sentence) == ("cannot tell", True)


@pytest.mark.parametrize(
    "settings",
    [
        {"removal": "shuffle"},
        {"removal": ""},
        {"donors": "mine"},
        {"draws": 0},
        {"precision": 0},
        {"published": "z"},
        {"majority": "topic"},
        {"margin": 0},
        {"emap": 5, "precision": 2},
    ],
)
def test_meaningless_settings_are_rejected(settings: dict[str, object]) -> None:
    with pytest.raises(EyechartError):
        make_audit("perception", settings)


def test_answers_returned_in_files_are_judged_the_same(world: Dataset, tmp_path: Path) -> None:
    """One file for each condition, or one file with a column that names it."""
    chosen = PerceptionAudit(draws=2, removal=("permute", "none"))
    straight = audit(world, "world:mix:seer=0.5,blind=0.5", [chosen], to=tmp_path / "run")["perception"]
    answers = Store(tmp_path / "run").answers("mix:seer=0.5,blind=0.5").answers.select("id", "condition", "answer")
    answers.write_csv(tmp_path / "all.csv")
    again = audit(world, f"predictions:{tmp_path}/all.csv", [chosen])["perception"]
    assert again.measures.equals(straight.measures)

    permuted = PerceptionAudit(draws=2)
    spec = []
    for condition in ("plain", "image#0", "image#1", "question#0", "question#1"):
        answers.filter(pl.col("condition") == condition).drop("condition").write_csv(tmp_path / f"{condition}.csv")
        spec.append(f"{condition}={tmp_path}/{condition}.csv")
    parts = audit(world, f"predictions:{','.join(spec)}", [permuted])["perception"]
    assert parts.rows["perception image"].equals(straight.rows["perception image"])
