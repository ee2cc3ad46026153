"""The sets of objects against a literal version, what is left out, and what is said of bad input."""

from collections.abc import Callable
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.grounding import GroundingAudit
from eyechart.audits.grounding.scene import find_relevance, make_scene
from eyechart.audits.grounding.study import select_questions
from eyechart.base.errors import DataError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.engines import Local

Make = Callable[..., Dataset]
LEFT, TOP, SIDE = st.integers(-6, 30), st.integers(-6, 20), st.integers(0, 24)
BOX = st.tuples(LEFT, TOP, SIDE, SIDE).map(lambda b: (b[0] / 2, b[1] / 2, (b[0] + b[2]) / 2, (b[1] + b[3]) / 2))
THING, AWAY = (10.0, 10.0, 30.0, 30.0), (50.0, 50.0, 70.0, 70.0)


def literal(evidence: list[tuple], detection: tuple, published: str) -> tuple[bool, bool]:
    """Decide as methods.md describes the paper (appendix A) and the authors' script, box by box."""
    if published == "fpvg":
        evidence, detection = [tuple(map(int, box)) for box in evidence], tuple(map(int, detection))
    own = Fraction(detection[2] - detection[0]) * Fraction(detection[3] - detection[1])
    relevant, clear = False, bool(evidence) and (own > 0 or published == "fpvg")
    for box in evidence:
        wide = Fraction(min(box[2], detection[2]) - max(box[0], detection[0]))
        high = Fraction(min(box[3], detection[3]) - max(box[1], detection[1]))
        common = wide * high if wide > 0 and high > 0 else Fraction(0)
        area = Fraction(box[2] - box[0]) * Fraction(box[3] - box[1])
        below = own if published == "fpvg" else area
        relevant |= common > 0 and common / (area + own - common) > Fraction(1, 2)
        clear &= not (common > 0 and common / below > Fraction(1, 4))
    return relevant, clear and not relevant


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.lists(BOX, max_size=3), st.lists(BOX, min_size=1, max_size=5)), min_size=1, max_size=4),
    st.sampled_from(["none", "fpvg"]),
)
def test_sets_are_those_of_the_literal_version(questions, published: str) -> None:  # noqa: ANN001 - drawn
    marked = [[{"label": "x", "box": box} for box in marks] for marks, _ in questions]
    objects = [[{"label": "x", "box": box, "score": 1.0} for box in seen] for _, seen in questions]
    # One far box on each side keeps small numbers from being taken for shares of the picture.
    marked.append([{"label": "x", "box": (90.0, 90.0, 95.0, 95.0)}])
    objects.append([{"label": "x", "box": (90.0, 90.0, 95.0, 95.0), "score": 1.0}])
    names = [f"i{at}" for at in range(len(objects))]
    evidence = pl.Series(marked, dtype=pl.List(EVIDENCE))
    examples = pl.DataFrame({"id": names, "image": names, "question": "?", "answer": "a", "evidence": evidence})
    images = pl.DataFrame({"image": names, "objects": pl.Series(objects, dtype=pl.List(OBJECT))})
    data = Dataset("x", examples, Images(images))
    audit = GroundingAudit(published=published)
    found = find_relevance(audit, make_scene(select_questions(data), data))
    assert not (found.relevant & found.irrelevant).any()
    columns = (found.rows, found.position, found.relevant, found.irrelevant)
    for row, place, relevant, irrelevant in zip(*columns, strict=True):
        boxes = [mark["box"] for mark in marked[row]]
        assert (relevant, irrelevant) == literal(boxes, objects[row][place]["box"], published)


def test_paper_and_release_divide_by_different_areas(make_data: Make) -> None:
    """A huge box over a small object is excluded in the paper and irrelevant in the release; a tiny one the reverse."""
    huge, tiny = (0.0, 0.0, 100.0, 80.0), (12.0, 12.0, 15.0, 15.0)
    data = make_data([[THING]], [[THING, huge, tiny, AWAY]])
    found = {}
    for published in ("none", "fpvg"):
        audit = GroundingAudit(published=published)
        sets = find_relevance(audit, make_scene(select_questions(data), data))
        found[published] = sets.position[sets.irrelevant].tolist()

    assert found == {"none": [2, 3], "fpvg": [1, 3]}


def test_thresholds_are_strict(make_data: Make) -> None:
    """IoU of exactly a half is not relevant; exactly a quarter covered is still irrelevant."""
    half, quarter = (10.0, 10.0, 30.0, 50.0), (20.0, 20.0, 40.0, 40.0)
    audit, data = GroundingAudit(), make_data([[THING]], [[half, quarter]])
    found = find_relevance(audit, make_scene(select_questions(data), data))

    assert found.relevant.tolist() == [False, False]
    assert found.irrelevant.tolist() == [False, True]


def test_questions_that_lack_something_are_counted_and_left_out(make_data: Make) -> None:
    flat = (10.0, 10.0, 10.0, 30.0)
    both = [THING, AWAY]
    data = make_data(
        [[THING], None, [], [flat], [THING], [THING], [THING], [AWAY]],
        [both, both, both, both, None, [AWAY], [THING], [None, THING]],
    )
    study = GroundingAudit().study(data, Local())
    lost = {row["reason"]: row["n"] for row in study.tables["counts"].to_dicts() if row["status"] == "left out"}

    assert study.rows["id"].to_list() == ["q0"]
    assert lost == {
        "no evidence is given": 1,
        "the evidence is an empty list": 1,
        "no box of the evidence has an area": 1,
        "no object of the image has a box": 1,
        "no object where the evidence is": 2,
        "no object away from the evidence": 1,
    }
    notes = " ".join(study.tables["notes"]["note"])
    assert "1 boxes of the evidence have no area" in notes
    assert "1 objects have no box" in notes


def test_the_statistics_are_those_of_table_5(make_data: Make) -> None:
    data = make_data(
        [[THING], [THING]],
        [[THING, AWAY, AWAY], [THING, THING, (31.0, 31.0, 40.0, 40.0), AWAY, (11.0, 11.0, 25.0, 21.0)]],
    )
    table = GroundingAudit().study(data, Local()).tables["statistics"]

    assert table.select("set", "mean", "most", "n", "questions").rows() == [
        ("objects", 4.0, 5, 2, 2),
        ("relevant", 1.5, 2, 2, 2),
        ("irrelevant", 2.0, 2, 2, 2),
    ]
    assert table["low"][0] < 4 < table["high"][0]
    assert table.row(2, named=True)["low"] is None, "two equal counts say nothing of their spread"


def test_boxes_that_are_sizes_are_refused(make_data: Make) -> None:
    corners = [(at, at, at + 40.0, at + 40.0) for at in map(float, range(20, 30))]
    sizes = [(box[0], box[1], box[2] - box[0], box[3] - box[1]) for box in corners]
    for evidence, objects, name in ((sizes, corners, "evidence"), (corners, sizes, "objects")):
        data = make_data([[box] for box in evidence], [[box, (0.0, 0.0, 2.0, 2.0)] for box in objects])
        with pytest.raises(DataError, match=f"boxes of the {name} as left, top, right, bottom.*100%.*left \\+ width"):
            GroundingAudit().study(data, Local())


def test_shares_of_the_picture_are_scaled(make_data: Make) -> None:
    """Relative evidence beside objects in pixels gives the sets that evidence in pixels gives."""
    evidence, objects = [(0.1, 0.125, 0.3, 0.375)], [THING, AWAY]
    study = GroundingAudit().study(make_data([evidence], [objects]), Local())

    assert study.rows.select("relevant", "irrelevant").row(0) == (1, 1)
    assert "boxes of the evidence are shares of the picture: scaled" in study.verdict.sentence


def test_shares_of_a_picture_of_unknown_size_are_refused(make_data: Make) -> None:
    data = make_data([[(0.1, 0.1, 0.3, 0.4)]], [[THING, AWAY]], size=None)

    with pytest.raises(DataError, match="width and height"):
        GroundingAudit().study(data, Local())


def test_evidence_that_names_nothing_in_the_scene_is_noted(make_data: Make) -> None:
    data = make_data([[THING]], [[THING, AWAY]])
    renamed = pl.col("evidence").list.eval(pl.struct(label=pl.lit("unicorn"), box=pl.element().struct.field("box")))
    strange = Dataset(data.name, data.examples.with_columns(renamed), data.images)
    study = GroundingAudit().study(strange, Local())

    assert "1 parts of the evidence have a label that no object of their image has" in study.verdict.sentence


def test_boxes_beyond_the_picture_are_noted_and_hidden_up_to_its_edge(make_data: Make) -> None:
    audit, data = GroundingAudit(), make_data([[(80.0, 60.0, 130.0, 90.0)]], [[(80.0, 60.0, 130.0, 90.0), THING]])
    study = audit.study(data, Local())
    probes = dict(audit.probe(data, study))

    assert "1 boxes of the evidence reach beyond their picture" in study.verdict.sentence
    assert probes["rest"]["hidden"].to_list() == [[[80, 60, 100, 80]]]


def test_data_without_boxed_objects_can_be_asked_by_pixels_alone(make_data: Make) -> None:
    data = make_data([[THING], [(0.0, 0.0, 100.0, 80.0)], [(200.0, 0.0, 210.0, 9.0)]], [None, None, None])
    study = GroundingAudit().study(data, Local())
    reasons = study.tables["counts"]["reason"].to_list()

    assert study.rows["id"].to_list() == ["q0"]
    assert {"the evidence fills the picture", "the evidence is outside the picture"} <= set(reasons)
    assert all("visible" not in probes.columns for _, probes in GroundingAudit().probe(data, study))
    with pytest.raises(DataError, match="objects with boxes"):
        GroundingAudit(sees="objects").study(data, Local())
    with pytest.raises(SettingError, match="pixels alone"):
        GroundingAudit(extra=("without",)).study(data, Local())


def test_pictures_that_are_not_on_disk_are_noted(make_data: Make, tmp_path) -> None:  # noqa: ANN001
    data = make_data([[THING], [THING]], [[THING, AWAY]] * 2)
    (tmp_path / "i0.png").write_bytes(b"there")
    table = data.images.table.with_columns(path=pl.col("image") + ".png")
    lost = Dataset(data.name, data.examples, Images(table, tmp_path))

    study = GroundingAudit().study(lost, Local())
    by_pixels = GroundingAudit(sees="pixels").study(lost, Local())

    assert study.rows.height == 2
    assert "1 pictures are not on disk" in study.verdict.sentence
    assert by_pixels.rows["id"].to_list() == ["q0"]
    assert "the picture is not on disk" in by_pixels.tables["counts"]["reason"].to_list()


def test_nothing_to_judge_is_a_one_line_error(make_data: Make) -> None:
    with pytest.raises(DataError, match="no evidence is given: 2") as caught:
        GroundingAudit().study(make_data([None, None], [[THING]] * 2), Local())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"published": "authors"}, "published as one of none, fpvg"),
        ({"sees": "both"}, "sees"),
        ({"hide": "paint"}, "hide"),
        ({"same": "loosely"}, "same"),
        ({"iou": 50}, "iou from 0 to 1"),
        ({"feather": -1}, "feather"),
        ({"extra": ("keep@0",)}, "extra"),
        ({"extra": ("evidence",)}, "keep@25"),
    ],
)
def test_meaningless_settings_are_rejected(settings_: dict, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        GroundingAudit(**settings_)
