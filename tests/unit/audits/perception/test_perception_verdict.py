"""The verdict knows of answers that never change, and of those that change too seldom."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.perception import PerceptionAudit
from eyechart.audits.perception.draws import WORST, changed, changed_another, other_donors
from eyechart.audits.perception.settings import PerceptionSettings
from eyechart.audits.perception.verdict import decide, ignored_table
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Removal
from eyechart.data.result import Measure, Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit

STILL = [(20, 0.5, "no"), (6, 0.5, "cannot tell"), (40, 0.1, "no"), (20, 0.1, "cannot tell")]
ONLY_IMAGES = PerceptionAudit(modalities=("image",))


class Says:
    """Read the answer to the question from the picture's name, or always say the same."""

    def __init__(self, *, looks: bool, words: str = "{}") -> None:
        self.name, self.looks, self.words = "looks" if looks else "constant", looks, words

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        seen = pl.col("image").str.split("|").list.get(1) if self.looks else pl.lit("yes")
        return probes.select("id", answer=pl.format(self.words, seen))


def pictures(n: int, rare: float, questions: int = 1) -> Dataset:
    """Make pictures that each say yes or no to every question, a share of them no."""
    mood = np.where(np.arange(n) < rare * n, "no", "yes").repeat(questions)
    table = pl.DataFrame(
        {
            "id": [f"{at:04}" for at in range(mood.size)],
            "image": [f"{at // questions}|{each}" for at, each in enumerate(mood)],
            "question": [f"is it so {at % questions}?" for at in range(mood.size)],
            "answer": mood,
        }
    )
    return Dataset("pictures", table, Images.named(table["image"]))


def judge(data: Dataset, *, looks: bool, **settings: object) -> Result:
    return audit(data, Says(looks=looks), [PerceptionAudit(modalities=("image",), **settings)])["perception"]


@pytest.mark.parametrize(("images", "rare", "state"), STILL)
def test_no_answer_that_changed_is_evidence_where_it_would_have_shown(images: int, rare: float, state: str) -> None:
    """Of 20 images at most 14 % can change: too few if half of the donors hold another answer, not if 18 % do."""
    result = judge(pictures(images, rare), looks=False)
    row = result.tables["ignored"].row(0, named=True)

    assert row["changed"] == 0
    assert row["at most"] == pytest.approx(1 - 0.05 ** (1 / images))
    assert row["ignored"] == (row["at most"] < row["another answer"] / 2)
    assert result.verdict.state == state
    assert "no answer changed" in result.verdict.sentence


@pytest.mark.parametrize(("looks", "state"), [(True, "cannot tell"), (False, "no")])
def test_answers_in_words_that_score_nothing_are_not_taken_for_blind(looks: bool, state: str) -> None:  # noqa: FBT001
    """Nothing is right and no score can fall, but answers that follow the picture are no sign of blindness."""
    model = Says(looks=looks, words="I would say {} or so")
    result = audit(pictures(200, 0.5), model, [ONLY_IMAGES])["perception"]

    assert result.measure("accuracy", "plain").value == 0
    assert result.verdict.state == state
    assert result.verdict.label == ("hardly ever right" if looks else "ignores image")


def test_clusters_count_rather_than_examples() -> None:
    one, four = judge(pictures(6, 0.5), looks=False), judge(pictures(6, 0.5, questions=4), looks=False)

    for result in (one, four):
        assert result.tables["ignored"]["at most"].item() == pytest.approx(1 - 0.05 ** (1 / 6))


def test_the_share_of_donors_with_another_answer_is_counted() -> None:
    result = judge(pictures(60, 0.2, questions=2), looks=True)
    rows = result.rows

    assert rows[changed("image")].equals(rows[other_donors("image")].alias(changed("image")))
    # The same question is asked of every picture, so the right answer is known for each donor.
    assert set(rows[changed_another("image")].drop_nulls()) == {1.0}
    some = rows.filter(pl.col(other_donors("image")) > 0).height
    assert rows[changed_another("image")].count() == result.measure("changed, another answer", "image").n == some
    assert result.measure("changed", "image").value == pytest.approx(rows[other_donors("image")].mean())


def test_another_answer_is_that_to_the_same_question() -> None:
    """A donor with another answer to another question says nothing about this one."""
    data = pictures(40, 0.5)
    data = Dataset(
        "unique", data.examples.with_columns(question=pl.format("is it {}?", "id")), data.images, data.modalities
    )
    result = judge(data, looks=True)

    assert result.measures.filter(pl.col("name") == "changed, another answer").is_empty()
    assert result.rows[changed_another("image")].null_count() == 40
    assert "same question" not in result.verdict.sentence


def test_a_skewed_looker_is_cleared() -> None:
    """Its answers change as often as its donors have another answer, however seldom that is."""
    result = judge(pictures(300, 0.1), looks=True)

    assert result.measure("changed", "image").value < 0.25
    assert (result.verdict.state, result.verdict.label) == ("yes", "looks")
    assert "for new examples and new donors like these" in result.verdict.sentence


@pytest.mark.parametrize(("share", "state"), [(0.3, "cannot tell"), (0.7, "yes")])
def test_a_mixture_that_looks_in_three_of_ten_questions_is_not_cleared(share: float, state: str) -> None:
    model = f"world:mix:seer={share},blind={1 - share:.1f}"
    result = audit(read("world", seed=12, images=300), model, [ONLY_IMAGES])["perception"]

    assert result.measure("perception", "image").low > 0.2
    assert result.verdict.state == state
    assert f"{100 * result.measure('changed', 'image').value:.0f} % of answers change" in result.verdict.sentence
    assert ("too seldom" in result.verdict.sentence) == (share < 0.5)


def test_what_is_left_out_has_no_donors() -> None:
    result = judge(pictures(20, 0.5), looks=False, removal=("blank",))

    assert np.isnan(result.tables["ignored"]["another answer"].item())
    assert result.tables["errors"]["donors_se"].to_list() == [0.0]
    assert result.verdict.state == "cannot tell"


def named(name: str, condition: str, value: float) -> Measure:
    return Measure(name, value, value - 0.1, value + 0.1, 100, condition=condition)


@pytest.mark.parametrize(("lost", "label"), [(0.4, "looks"), (0.05, "too many answers lost")])
def test_only_the_first_kind_of_removal_counts_for_lost_answers_too(lost: float, label: str) -> None:
    settings = PerceptionSettings(removal=("permute", "none"))
    removals = [Removal(("image",)), Removal(("image",), "none")]
    measures = [named("perception", each.name, 0.5) for each in removals]
    measures += [named(WORST, "image", lost), named(WORST, "image=none", 0.0), named("mirage", "image", 0.0)]
    ignored = ignored_table(pl.DataFrame(), [], 0.03)

    verdict = decide(settings, removals, measures, ignored, wants_more=False)

    assert verdict.label == label


def test_donors_of_one_answer_type_have_a_name() -> None:
    world = read("world", seed=4, images=60)
    chosen = PerceptionAudit(donors="same-answer-type", draws=1)
    probes = dict(chosen.probe(world, chosen.study(world, Local())))["image#0"]
    kinds = dict(world.examples.select("id", "answer_type").iter_rows())

    assert all(kinds[own] == kinds[donor] for own, donor in probes.select("id", "image_from").iter_rows())
    named = PerceptionAudit(donors="same:answer_type", draws=1)
    same = dict(named.probe(world, named.study(world, Local())))["image#0"]
    assert same["image_from"].equals(probes["image_from"])
