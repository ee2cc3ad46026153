"""Heat maps become boxes around what is hot, in the pixels of the picture."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.audits.grounding import GroundingAudit
from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.engines import Local
from eyechart.formats.heat_maps import hot_boxes, with_heat_evidence


def heat(*regions: tuple[int, int, int, int, int]) -> np.ndarray:
    """Draw (left, top, right, bottom, value) on a map of 40 x 20."""
    drawn = np.zeros((20, 40), np.uint8)
    for left, top, right, bottom, value in regions:
        drawn[top:bottom, left:right] = value
    return drawn


@pytest.fixture
def data() -> Dataset:
    examples = pl.DataFrame({"id": ["7", "8", "q_9"], "image": ["a", "a", "b"], "question": "what?", "answer": "cat"})
    table = pl.DataFrame({"image": ["a", "b"], "width": [80, None], "height": [60, None]})
    return Dataset("hot", examples, Images(table))


def boxes(data: Dataset) -> list[list[list[float]] | None]:
    return [None if each is None else [part["box"] for part in each] for each in data.examples["evidence"].to_list()]


def test_each_hot_region_has_its_box_and_specks_have_none() -> None:
    found = hot_boxes(
        heat((4, 2, 12, 10, 250), (20, 10, 30, 18, 130), (35, 1, 36, 2, 250), (0, 0, 3, 3, 100)), 0.5, 0.01
    )

    assert found == [(0.1, 0.1, 0.3, 0.5), (0.5, 0.5, 0.75, 0.9)]


def test_a_map_without_heat_marks_nothing() -> None:
    assert hot_boxes(heat()) == []


def test_maps_are_found_by_id_scaled_and_averaged(data: Dataset, tmp_path: Path) -> None:
    """Of the two maps of 7 the common part stays hot; 8 has none; a picture of unknown size is as large as its map."""
    Image.fromarray(heat((4, 2, 12, 10, 200))).save(tmp_path / "7_1.png")
    Image.fromarray(heat((8, 2, 20, 10, 90))).save(tmp_path / "7_2.png")
    Image.fromarray(heat((10, 5, 30, 15, 255))).save(tmp_path / "q_9.png")
    found = with_heat_evidence(data, tmp_path, least=0.9)

    assert boxes(found) == [[[16, 6, 24, 30]], None, [[10, 5, 30, 15]]]


def test_heat_is_evidence_for_the_audit(data: Dataset, tmp_path: Path) -> None:
    Image.fromarray(heat((4, 2, 12, 10, 200))).save(tmp_path / "7.png")
    marked = with_heat_evidence(data, tmp_path)
    audit = GroundingAudit(min_size=0)
    study = audit.study(marked, Local())

    assert study.rows["id"].to_list() == ["7"]
    assert dict(audit.probe(marked, study))["rest"]["hidden"].to_list() == [[[8, 6, 24, 30]]]


def test_a_folder_without_maps_is_an_error(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="heat maps"):
        with_heat_evidence(data, tmp_path)


def test_maps_of_16_bits_keep_their_heat_and_transparent_ones_are_refused(data: Dataset, tmp_path: Path) -> None:
    Image.fromarray(heat((4, 2, 12, 10, 200)).astype(np.uint16) * 257).save(tmp_path / "7.png")
    assert boxes(with_heat_evidence(data, tmp_path))[0] == [[8, 6, 24, 30]]

    Image.fromarray(np.dstack([heat((4, 2, 12, 10, 200))] * 4)).save(tmp_path / "8.png")
    with pytest.raises(FileFormatError, match="an opaque heat map"):
        with_heat_evidence(data, tmp_path)
