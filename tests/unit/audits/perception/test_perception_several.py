"""Several pictures an example: donors give as many, and conditions show one of them or another order."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest

import eyechart
from eyechart.audits.perception.donors import draw, make_pool
from eyechart.base.errors import DataError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.models.function import Function

COLORS = ("red", "blue")
COUNTS = [2, 2, 2, 3, 3, 1, 1, 1, 4] * 4


@pytest.fixture(scope="module")
def data() -> Dataset:
    """Ask which color comes last, of one to four pictures, each of which is named after its color."""
    lists = [
        [f"{number:02}-{place} {COLORS[(number + place) % 2]}" for place in range(n)] for number, n in enumerate(COUNTS)
    ]
    examples = pl.DataFrame(
        {
            "id": [f"{number:02}" for number in range(len(lists))],
            "image": [names[0] for names in lists],
            "question": ["which color comes last?"] * len(lists),
            "answer": [names[-1].split()[-1] for names in lists],
            "images": lists,
        }
    )
    names = pl.Series("image", [name for each in lists for name in each])
    return Dataset("colors", examples, Images(names.to_frame().with_columns(path="image")))


def last(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    return [(probe["image_paths"] or ["none"])[-1].split()[-1] for probe in probes]


def first(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    return [(probe["image_paths"] or ["none"])[0].split()[-1] for probe in probes]


def audit(data: Dataset, answerer: Any, removal: str) -> Result:  # noqa: ANN401 - a function over a batch
    perception = eyechart.make_audit("perception", {"removal": removal, "modalities": "image", "draws": "2"})
    return eyechart.audit(data, Function("it", answerer), [perception])["perception"]


@pytest.mark.parametrize("policy", ["other", "uniform", "other-answer"])
def test_donors_have_as_many_pictures(data: Dataset, policy: str) -> None:
    pool = make_pool(data, "image", policy)
    counts = dict(zip(data.examples["id"], COUNTS, strict=True))
    answers = dict(data.examples.select("id", "answer").iter_rows())
    able = dict(zip(pool.ids, pool.choices, strict=True))

    for name, n in able.items():
        alike = [other for other in able if counts[other] == counts[name] and (policy == "uniform" or other != name)]
        assert n == sum(policy != "other-answer" or answers[other] != answers[name] for other in alike)
    for k in range(5):
        for name, donor in draw(pool, 0, k).iter_rows():
            assert counts[donor] == counts[name]
            assert policy != "other-answer" or answers[donor] != answers[name]


def test_who_has_no_donor_with_as_many_pictures_is_counted() -> None:
    lists = [["a", "b"], ["c", "d"], ["e", "f", "g"], None]
    examples = pl.DataFrame(
        {"id": ["0", "1", "2", "3"], "image": ["a", "c", "e", "h"], "question": "?", "answer": "x", "images": lists}
    )
    lonely = Dataset("lonely", examples, Images(pl.DataFrame({"image": list("abcdefgh")})))
    study = eyechart.study(lonely, [eyechart.make_audit("perception", {"modalities": "image"})])["perception"]

    assert ("image", "left out", "no donor with as many pictures", 2) in study.tables["counts"].rows()


def test_conditions_tell_who_needs_the_order_and_the_further_pictures(data: Dataset) -> None:
    whole, poster = (audit(data, each, "permute,first,shuffled,single-frame") for each in (last, first))

    assert whole.measure("accuracy", "plain").value == 1
    assert whole.measure("perception", "image=first").value == pytest.approx(24 / 24 - 8 / 24)
    assert whole.measure("perception", "image=shuffled").value > 0
    assert poster.measure("perception", "image=first").value == 0
    assert {each.n for each in (whole.measure("perception", f"image={one}") for one in ("first", "shuffled"))} == {24}


def test_only_examples_with_several_pictures_are_asked_and_the_others_counted(data: Dataset) -> None:
    study = eyechart.study(data, [eyechart.make_audit("perception", {"removal": "first", "modalities": "image"})])
    counts = study["perception"].tables["counts"].rows()

    assert ("image=first", "left out", "fewer than two pictures", COUNTS.count(1)) in counts


def test_a_choice_of_pictures_does_not_decide_whether_it_looks(data: Dataset) -> None:
    """One who needs no more than the first picture looks all the same."""
    both, alone = audit(data, first, "first,permute"), audit(data, first, "first")

    assert both.verdict.measure is not None
    assert both.verdict.measure.condition == "image"
    assert alone.verdict.state == "not tested"


def test_there_must_be_several_pictures_to_choose_from(data: Dataset) -> None:
    single = Dataset("single", data.examples.filter(pl.col("images").list.len() == 1), data.images)

    with pytest.raises(DataError, match="examples with several pictures for 'image=shuffled'; found at most one"):
        eyechart.study(single, [eyechart.make_audit("perception", {"removal": "shuffled"})])
    with pytest.raises(SettingError, match="the modality image for 'first'"):
        eyechart.study(data, [eyechart.make_audit("perception", {"removal": "first", "modalities": "question"})])
