"""Pictures inside tables: every form is found, written once under its content, and damaged ones are counted."""

import base64
import io
import json
from collections.abc import Callable
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from eyechart import formats
from eyechart.base.errors import DataError, FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import arrow, streaming
from eyechart.formats.sources import find_sources
from eyechart.formats.table import read_table


def picture(color: str, kind: str = "PNG", **options: Any) -> bytes:  # noqa: ANN401 - options of Pillow
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(buffer, kind, **options)
    return buffer.getvalue()


def name(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(row["status"], row["reason"]): row["n"] for row in data.counts.to_dicts()}


RED, BLUE, GREEN = (picture(color) for color in ("red", "blue", "green"))
STRUCT = pl.Struct({"bytes": pl.Binary, "path": pl.String})


def cell(content: bytes | None, path: str | None = None) -> dict[str, object]:
    return {"bytes": content, "path": path}


def questions(**columns: pl.Series | list[Any]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    return pl.DataFrame({"question": [f"what is {i}?" for i in range(n)], "answer": ["a"] * n, **columns})


def as_parquet(table: pl.DataFrame, path: Path) -> None:
    table.write_parquet(path.with_suffix(".parquet"))


def as_arrow(table: pl.DataFrame, path: Path) -> None:
    table.write_ipc(path.with_suffix(".arrow"), compat_level=pl.CompatLevel.oldest())


def as_stream(table: pl.DataFrame, path: Path) -> None:
    table.write_ipc_stream(path.with_suffix(".arrow"), compat_level=pl.CompatLevel.oldest())


def as_lines(table: pl.DataFrame, path: Path) -> None:
    def plain(value: object) -> str:
        assert isinstance(value, bytes)
        return text(value)

    path.with_suffix(".jsonl").write_text("\n".join(json.dumps(row, default=plain) for row in table.to_dicts()))


def read(table: pl.DataFrame, folder: Path, write: Callable[[pl.DataFrame, Path], None] = as_parquet) -> Dataset:
    write(table, folder / "table")
    return read_table(next(folder.glob("table.*")))


def shown(data: Dataset) -> list[bytes | None]:
    """Return the content of the picture of each example."""
    files = dict(data.images.table.select("image", "path").iter_rows())
    return [image and (data.images.root / files[image]).read_bytes() for image in data.examples["image"]]


FORMS = {
    "records": pl.Series("image", [cell(RED), cell(BLUE, "b.jpg"), cell(RED)], STRUCT),
    "bytes": pl.Series("image", [RED, BLUE, RED]),
    "base64": pl.Series("image", [text(RED), text(BLUE), text(RED)]),
    "data addresses": pl.Series("image", [f"data:image/png;base64,{text(one)}" for one in (RED, BLUE, RED)]),
    "lists of records": pl.Series("image", [[cell(RED)], [cell(BLUE)], [cell(RED)]], pl.List(STRUCT)),
    "lists of bytes": pl.Series("images", [[RED], [BLUE], [RED]]),
    "lists of base64": pl.Series("images", [[text(RED)], [text(BLUE)], [text(RED)]]),
    "one numbered column": pl.Series("image_1", [cell(RED), cell(BLUE), cell(RED)], STRUCT),
    "another name": pl.Series("scene", [cell(RED), cell(BLUE), cell(RED)], STRUCT),
}


WRITERS = (as_parquet, as_arrow, as_stream, as_lines)


# In JSON a column of any other name is text, whatever it holds.
@pytest.mark.parametrize(
    ("form", "write"), [one for one in product(FORMS, WRITERS) if one != ("another name", as_lines)]
)
def test_every_form_is_found_and_written_once(
    form: str, write: Callable[[pl.DataFrame, Path], None], tmp_path: Path
) -> None:
    data = read(questions(**{FORMS[form].name: FORMS[form]}), tmp_path, write)

    assert data.examples["image"].to_list() == [name(RED), name(BLUE), name(RED)]
    assert shown(data) == [RED, BLUE, RED]
    assert set(data.examples.columns) == {"id", "image", "question", "answer"}
    assert data.images.table.select("width", "height").rows() == [(4, 3), (4, 3)]
    assert fates(data)["noted", "picture inside the file, written to a file of its own"] == 2


@pytest.mark.parametrize("write", [as_parquet, as_lines])
def test_several_pictures_of_an_example_are_listed_in_order(
    write: Callable[[pl.DataFrame, Path], None], tmp_path: Path
) -> None:
    empty = cell(None)
    table = questions(
        image_10=pl.Series([cell(GREEN), empty], dtype=STRUCT),
        image_1=pl.Series([cell(RED), cell(BLUE)], dtype=STRUCT),
        image_2=pl.Series([cell(BLUE), empty], dtype=STRUCT),
        image_3=pl.Series([None, None], dtype=STRUCT),
    )

    data = read(table, tmp_path, write)

    assert data.examples["images"].to_list() == [[name(RED), name(BLUE), name(GREEN)], [name(BLUE)]]
    assert data.examples["image"].to_list() == [name(RED), name(BLUE)]
    assert set(data.images.table["image"]) == {name(RED), name(BLUE), name(GREEN)}
    assert set(data.examples.columns) == {"id", "image", "images", "question", "answer"}


def test_the_file_is_named_by_what_it_holds(tmp_path: Path) -> None:
    kinds = {"JPEG": ".jpg", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp", "TIFF": ".tif"}
    contents = [picture("red", kind) for kind in kinds]

    data = read(questions(image=[cell(one, "wrong.png") for one in contents]), tmp_path)

    files = dict(data.images.table.select("image", "path").iter_rows())
    assert [Path(files[name(one)]).suffix for one in contents] == list(kinds.values())


DAMAGED = {
    "row with a picture that is damaged": [
        picture("red", "JPEG", quality=95)[:-40],
        RED[:50],
        b"\x89PNG\r\n\x1a\nxyz" + b"x" * 90,
    ],
    "row with a picture that is of no known kind": [b"%PDF-1.7 " + b"x" * 90],
}


@pytest.mark.parametrize("write", [as_parquet, as_lines])
def test_damaged_pictures_are_counted_with_the_reason_and_their_rows_dropped(
    write: Callable[[pl.DataFrame, Path], None], tmp_path: Path
) -> None:
    broken = [(reason, one) for reason, several in DAMAGED.items() for one in several]

    data = read(questions(image=[RED, *(one for _, one in broken), BLUE]), tmp_path, write)

    assert data.examples["id"].to_list() == ["0", str(len(broken) + 1)]  # numbers of the rows in the file
    for reason, several in DAMAGED.items():
        assert fates(data)["dropped", reason] == len(several)
    assert len(list(data.images.root.iterdir())) == 2


def test_text_that_is_no_base64_is_damaged(tmp_path: Path) -> None:
    data = read(questions(image=[text(RED), text(BLUE)[:-3] + "!?x", text(b"%PDF" * 40)]), tmp_path, as_lines)

    assert fates(data)["dropped", "row with a picture that is not base64"] == 1
    assert fates(data)["dropped", "row with a picture that is of no known kind"] == 1


def test_a_record_without_content_refers_to_a_file_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "blue.png").write_bytes(BLUE)
    (tmp_path.parent / "secret.png").write_bytes(GREEN)
    paths = ["deep/blue.png", "../secret.png", "lost.png"]

    data = read(questions(image=[cell(RED), *(cell(None, path) for path in paths), cell(None)]), tmp_path)

    assert data.examples["image"].to_list() == [name(RED), name(BLUE), "../secret.png", "lost.png", None]
    files = dict(data.images.table.select("image", "path").iter_rows())
    assert files["lost.png"] is None
    assert files["../secret.png"] is None
    assert fates(data)["noted", "picture file that the table refers to, but that is missing"] == 2
    assert fates(data)["noted", "row without an image"] == 1


def test_a_cell_may_be_an_address(tmp_path: Path) -> None:
    data = read(questions(image=[cell(None, "https://example.org/a.png"), cell(RED)]), tmp_path)

    files = dict(data.images.table.select("image", "path").iter_rows())
    assert files["https://example.org/a.png"] == "https://example.org/a.png"


def test_sound_and_other_content_are_no_pictures(tmp_path: Path) -> None:
    sound = pl.Series([cell(b"RIFF1234WAVEfmt ")], dtype=STRUCT)

    data = read(questions(image=[cell(RED)], audio=sound), tmp_path)

    assert data.examples["image"].to_list() == [name(RED)]
    assert "column 'audio' holds other pictures: left out" not in data.counts["reason"].to_list()


def test_a_second_column_of_pictures_is_left_out_and_noted(tmp_path: Path) -> None:
    data = read(questions(image=[cell(RED)], preview=[cell(BLUE)]), tmp_path)

    assert data.examples["image"].to_list() == [name(RED)]
    assert "preview" not in data.examples.columns
    assert fates(data)["noted", "column 'preview' holds other pictures: left out"] == 1


def test_two_columns_of_unknown_names_are_asked_about(tmp_path: Path) -> None:
    as_parquet(questions(left=[cell(RED)], right=[cell(BLUE)]), tmp_path / "table")

    with pytest.raises(SettingError, match="left and right"):
        read_table(tmp_path / "table.parquet")

    both = read_table(tmp_path / "table.parquet", map={"image": "right,left"})
    one = read_table(tmp_path / "table.parquet", map={"image": "left"})

    assert both.examples["images"].to_list() == [[name(BLUE), name(RED)]]
    assert one.examples["image"].to_list() == [name(RED)]


def test_a_map_to_names_leaves_the_pictures_out(tmp_path: Path) -> None:
    as_parquet(questions(image_id=[7], image=[cell(RED)]), tmp_path / "table")

    data = read_table(tmp_path / "table.parquet", map={"image": "image_id"})

    assert data.examples["image"].to_list() == ["7"]
    assert fates(data)["noted", "column 'image' holds other pictures: left out"] == 1


def test_names_of_pictures_stay_names(tmp_path: Path) -> None:
    data = read(questions(image=["a" * 80 + ".jpg", "b.jpg"]), tmp_path)

    assert data.examples["image"].to_list() == ["a" * 80 + ".jpg", "b.jpg"]
    assert data.images.owner is None


def test_the_pictures_follow_a_dataset_that_is_saved(tmp_path: Path) -> None:
    data = read(questions(image=[cell(RED), cell(BLUE)]), tmp_path)
    data.save(tmp_path / "saved")
    del data

    (tmp_path / "saved").rename(tmp_path / "moved")

    assert shown(Dataset.load(tmp_path / "moved")) == [RED, BLUE]


def test_pictures_may_be_written_to_a_folder_of_ones_own(tmp_path: Path) -> None:
    as_parquet(questions(image=[cell(RED)]), tmp_path / "table")

    data = read_table(tmp_path / "table.parquet", pictures=tmp_path / "mine")

    assert [file.name for file in (tmp_path / "mine").iterdir()] == [f"{name(RED)}.png"]
    assert data.images.root == tmp_path / "mine"


@pytest.mark.parametrize("group", [5, 100])
@pytest.mark.parametrize("with_pyarrow", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_batches_of_any_size_give_the_same(
    group: int,
    with_pyarrow: bool,  # noqa: FBT001 - a parameter
    large: bool,  # noqa: FBT001 - a parameter
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if with_pyarrow:
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(arrow, "find_spec", lambda _: None)
    monkeypatch.setattr(arrow, "BATCH", 2_000)
    if large:
        monkeypatch.setattr(streaming, "LARGE", 1)
    contents = [picture(f"#{i:06x}") for i in range(40)]
    questions(image=[cell(one) for one in contents]).write_parquet(tmp_path / "table.parquet", row_group_size=group)

    data = read_table(tmp_path / "table.parquet")

    assert shown(data) == contents
    assert data.examples["id"].to_list() == [str(i) for i in range(40)]


def test_no_batch_holds_more_than_its_share_of_one_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(arrow, "BATCH", 20_000)
    table = questions(image=[cell(picture("red") + bytes(2_000)) for _ in range(100)])
    table.write_parquet(tmp_path / "table.parquet", row_group_size=100, compression="uncompressed")
    heights = []
    whole = arrow.pl.DataFrame

    def watched(batch: Any) -> pl.DataFrame:  # noqa: ANN401 - a batch of pyarrow
        heights.append(batch.num_rows)
        return whole(batch)

    monkeypatch.setattr(arrow.pl, "DataFrame", watched)
    (source,) = find_sources(tmp_path, {".parquet"})
    n = sum(batch.height for batch in arrow.read_batches(source))

    assert n == 100
    assert max(heights) <= 15


@pytest.mark.parametrize("write", [as_parquet, as_arrow, as_stream])
def test_a_file_without_rows_is_one_clear_line(write: Callable[[pl.DataFrame, Path], None], tmp_path: Path) -> None:
    write(questions(image=[cell(RED)]).clear(), tmp_path / "table")

    with pytest.raises(FileFormatError, match="expected rows in"):
        read_table(next(tmp_path.glob("table.*")))


def test_labels_are_read_by_their_names(tmp_path: Path) -> None:
    features = {
        "answer": {"names": ["cat", "dog"], "_type": "ClassLabel"},
        "tags": {"feature": {"names": ["in", "out"], "_type": "ClassLabel"}, "_type": "List"},
        "question": {"dtype": "string", "_type": "Value"},
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pl.DataFrame({"question": ["a?", "b?", "c?"], "answer": [1, 0, -1], "tags": [[0, 1], [], [1]]})
    table.write_parquet(tmp_path / "table.parquet", metadata=metadata)

    data = read_table(tmp_path / "table.parquet")

    assert data.examples["answer"].to_list() == ["dog", "cat", None]
    assert data.examples["tags"].to_list() == [["in", "out"], [], ["out"]]


def test_the_size_of_a_turned_picture_is_not_taken_for_that_which_boxes_are_on(tmp_path: Path) -> None:
    """Nobody stated it: whoever drew boxes on the picture may have seen it upright or not."""
    exif = Image.Exif()
    rows = []
    for orientation in (1, 6):
        exif[0x0112] = orientation
        buffer = io.BytesIO()
        Image.new("RGB", (8, 4), "red").save(buffer, "JPEG", exif=exif, comment=str(orientation))
        thing = {"label": "it", "box": [0.0, 0.0, 2.0, 3.0]}
        rows.append(
            {
                "id": f"{orientation}",
                "question": "?",
                "answer": "a",
                "image": {"bytes": buffer.getvalue()},
                "evidence": [thing],
            }
        )
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")

    with pytest.raises(DataError, match="boxes=stored"):
        formats.read(tmp_path / "a.parquet")
    data = formats.read(tmp_path / "a.parquet", boxes="stored")
    assert sorted(data.images.table.select("width", "height", "boxes_upright").rows(), key=str) == [
        (4, 8, True),
        (8, 4, None),
    ]
    assert [list(each[0]["box"]) for each in data.examples["evidence"]] == [[0, 0, 2, 3], [1, 0, 4, 2]]


def test_links_that_lead_to_another_folder_are_counted_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    Image.new("RGB", (8, 4), "red").save(tmp_path / "secret.png")
    Image.new("RGB", (8, 4), "blue").save(tmp_path / "data" / "own.png")
    (tmp_path / "data" / "link.png").symlink_to(tmp_path / "secret.png")
    cells = [{"bytes": None, "path": name} for name in ("own.png", "link.png", "../secret.png")]
    pl.DataFrame({"id": list("abc"), "question": "?", "answer": "a", "image": cells}).write_parquet(
        tmp_path / "data" / "a.parquet"
    )

    data = read_table(tmp_path / "data" / "a.parquet")
    assert data.images.table["path"].null_count() == 2
    assert ("picture file that is a link to another folder, left out", 1) in data.counts.select("reason", "n").rows()
