"""Boxes belong to a picture: evidence on any of several is shown and hidden there, and nowhere else."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image
from starlette.testclient import TestClient

from eyechart.audits import make_audit
from eyechart.base.errors import TableError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.pictures import show_all_pictures
from eyechart.data.probes import Prober, fill
from eyechart.data.store import Store
from eyechart.data.tables import BOX, EVIDENCE
from eyechart.formats import read
from eyechart.reporting.gallery import SIDE, _frames, _make_thumbnail
from eyechart.runs.run import Run
from eyechart.viewing.pictures import picture_of
from eyechart.viewing.server import Guard, build_explorer

SIZES = {"a": (40, 30), "b": (60, 50), "c": (20, 20)}
ON_SECOND = {"label": "dot", "box": [10.0, 20.0, 30.0, 40.0]}
ON_FIRST = {"label": "dot", "box": [5.0, 5.0, 15.0, 15.0]}


def write_pictures(folder: Path) -> Images:
    for number, (name, (width, height)) in enumerate(SIZES.items()):
        pixels = np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{name}.png")
    columns = {"image": list(SIZES), "path": [f"{name}.png" for name in SIZES]}
    sizes = {side: [size[n] for size in SIZES.values()] for n, side in enumerate(("width", "height"))}
    return Images(pl.DataFrame(columns | sizes), folder)


def make(folder: Path, evidence: list[dict[str, Any]], places: list[int] | None) -> Dataset:
    examples = pl.DataFrame(
        {
            "id": ["1", "2"],
            "image": ["a", "c"],
            "images": [["a", "b", "c"], ["c"]],
            "question": "what is there?",
            "answer": "a dot",
            "evidence": [evidence, [ON_FIRST]],
        },
        schema_overrides={"evidence": pl.List(EVIDENCE)},
    )
    if places is not None:
        examples = examples.with_columns(evidence_pictures=pl.Series([places, None], dtype=pl.List(pl.Int64)))
    return Dataset("several", examples, write_pictures(folder))


def probe(data: Dataset, folder: Path, **settings: str) -> Store:
    run = Run(Store(folder / "run")).start(data)
    run.study([make_audit("grounding", {"hide": "mask", "feather": "0", "min_size": "1", **settings})])
    run.probe()
    return run.store


def changed(store: Store, condition: str) -> list[np.ndarray]:
    """Return where the pixels of each picture of the first example differ from those of the file."""
    probes = fill(store.probes(condition).filter(pl.col("id") == "1"), store.data)
    (pictures,) = show_all_pictures(probes, store.data.images)
    originals = [np.asarray(Image.open(store.data.images.root / f"{name}.png")) for name in SIZES]  # type: ignore[operator]  # it has a root
    return [(one.pixels != other).any(axis=2) for one, other in zip(pictures, originals, strict=True)]


def inside(name: str, box: dict[str, Any]) -> np.ndarray:
    width, height = SIZES[name]
    covered = np.zeros((height, width), bool)
    left, top, right, bottom = (int(side) for side in box["box"])
    covered[top:bottom, left:right] = True
    return covered


def alike(found: np.ndarray, expected: np.ndarray) -> bool:
    """Compare but for single pixels that happen to be the mean colour."""
    return bool((found & ~expected).sum() == 0 and (expected & ~found).sum() <= 2)


def test_evidence_on_the_second_picture_is_hidden_and_kept_there(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_SECOND], [1]), tmp_path)
    nothing = {name: np.zeros((height, width), bool) for name, (width, height) in SIZES.items()}

    first, second, third = changed(store, "rest")
    assert not first.any()
    assert not third.any()
    assert alike(second, inside("b", ON_SECOND))

    first, second, third = changed(store, "evidence")
    assert alike(first, ~nothing["a"])
    assert alike(second, ~inside("b", ON_SECOND))
    assert alike(third, ~nothing["c"])


def test_evidence_on_two_pictures_is_handled_on_both(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_SECOND, ON_FIRST], [1, 0]), tmp_path)

    first, second, third = changed(store, "rest")

    assert alike(first, inside("a", ON_FIRST))
    assert alike(second, inside("b", ON_SECOND))
    assert not third.any()


def test_a_placebo_stays_on_the_picture_of_its_evidence(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_SECOND], [1]), tmp_path)

    first, second, third = changed(store, "rest-placebo")

    assert not first.any()
    assert not third.any()
    assert 390 <= second.sum() <= 400  # as large as the evidence
    assert (second & inside("b", ON_SECOND)).sum() <= 100


def test_without_positions_boxes_are_on_the_first_and_probes_say_nothing_of_others(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_FIRST], None), tmp_path)

    first, second, third = changed(store, "evidence")

    assert alike(first, ~inside("a", ON_FIRST))
    assert not second.any()
    assert not third.any()
    assert "hidden_pictures" not in store.probes("evidence").columns


def test_boxes_beyond_their_picture_do_not_reach_the_next_one(tmp_path: Path) -> None:
    wide = {"label": "dot", "box": [30.0, 5.0, 90.0, 25.0]}  # the first picture is 40 wide

    store = probe(make(tmp_path, [wide], [0]), tmp_path)

    first, second, third = changed(store, "rest")
    assert alike(first, inside("a", {"box": [30, 5, 40, 25]}))
    assert not second.any()
    assert not third.any()


def test_boxes_as_shares_are_those_of_their_own_picture(tmp_path: Path) -> None:
    half = {"label": "dot", "box": [0.0, 0.0, 0.5, 0.5]}
    data = make(tmp_path, [half], [1]).take(pl.col("id") == "1")

    _, second, _ = changed(probe(data, tmp_path), "rest")

    assert alike(second, inside("b", {"box": [0, 0, 30, 25]}))


def test_boxes_on_pictures_that_there_are_not_are_counted(tmp_path: Path) -> None:
    data = make(tmp_path, [ON_FIRST, ON_FIRST], [0, 7])

    study = make_audit("grounding", {}).study(data, None)  # type: ignore[arg-type]  # it needs no engine

    notes = study.tables["notes"]["note"].to_list()
    assert "1 boxes of the evidence are on pictures that their question does not have" in notes


def test_the_explorer_shows_each_picture_as_the_model_saw_it(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_SECOND], [1]), tmp_path)

    plain = [picture_of(store, "1", "plain", "large", place) for place in range(3)]
    rest = [picture_of(store, "1", "rest", "large", place) for place in range(3)]

    assert [one == other for one, other in zip(plain, rest, strict=True)] == [True, False, True]


def test_the_position_of_hidden_boxes_is_part_of_what_is_asked(tmp_path: Path) -> None:
    data = make(tmp_path, [ON_FIRST], None)
    keys = pl.DataFrame({"id": ["1"], "hidden": [[ON_FIRST["box"]]]}, schema_overrides={"hidden": pl.List(BOX)})
    prober = Prober(data)

    first, zero, one = (
        prober.complete(keys if place is None else keys.with_columns(hidden_pictures=[place]), "it")["probe"][0]
        for place in (None, 0, 1)
    )

    assert len({first, zero, one}) == 3


def test_a_page_frames_the_evidence_on_its_picture(tmp_path: Path) -> None:
    images = make(tmp_path, [ON_SECOND], [1]).images
    record = {"image": "a", "boxes": [ON_SECOND, ON_FIRST], "box_pictures": [1, 0], "hidden": None, "removal": None}

    (drawn,) = (_make_thumbnail(record, images, SIDE),)

    assert drawn is not None
    assert (drawn.width, drawn.height) == (80, 60)
    second, first = _frames(record["boxes"], record["box_pictures"], drawn)  # type: ignore[arg-type]  # lists of these
    scale = 30 / 50  # of the second picture, which is 60 x 50, in a cell of 40 x 30
    assert second.left == pytest.approx(100 * (40 + (40 - 36) / 2 + 10 * scale) / 80)
    assert second.top == pytest.approx(100 * 20 * scale / 60)
    assert (first.left, first.top) == (100 * 5 / 80, 100 * 5 / 60)


def test_the_explorer_frames_the_evidence_on_its_picture(tmp_path: Path) -> None:
    store = probe(make(tmp_path, [ON_SECOND], [1]), tmp_path)

    guard = Guard("a-token", ["127.0.0.1"], 8000)
    explorer = build_explorer(store, guard)
    with TestClient(explorer, base_url="http://127.0.0.1:8000", cookies={guard.cookie: "a-token"}) as client:
        page = client.get("/example?id=1").text

    figures = page.split("<figure>")[1:]
    assert ["<rect" in each.split("</figure>")[0] for each in figures] == [False, True, False]


def test_evidence_in_files_names_its_pictures(tmp_path: Path) -> None:
    write_pictures(tmp_path)
    evidence = [{"label": "dot", "box": [1, 2, 3, 4], "picture": 1}, {"label": "dot", "box": [1, 2, 3, 4]}]
    rows = [
        {"question": "what?", "answer": "a dot", "images": ["a.png", "b.png"], "evidence": evidence},
        {"question": "what?", "answer": "a dot", "images": ["c.png"], "evidence": None},
    ]
    (tmp_path / "it.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    data = read(tmp_path / "it.jsonl")

    assert data.examples["evidence_pictures"].to_list() == [[1, None], None]
    assert data.examples["evidence"].list.len().to_list() == [2, None]


@pytest.mark.parametrize("places", [[0], [-1, 0]])
def test_positions_that_fit_no_box_are_an_error(places: list[int], tmp_path: Path) -> None:
    with pytest.raises(TableError, match="evidence_pictures"):
        make(tmp_path, [ON_FIRST, ON_FIRST], places)
