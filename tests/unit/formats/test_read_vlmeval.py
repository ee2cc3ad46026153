"""VLMEvalKit's datasets: options, answers in three forms, circular rows, and pictures inside the table."""

import base64
import csv
import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats.vlmeval import read_vlmeval

KINDS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp", "BMP": ".bmp"}


def picture(colour: str, kind: str = "PNG") -> str:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(file, kind)
    return base64.b64encode(file.getvalue()).decode()


def name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write(folder: Path, head: str, *rows: list[str], file: str = "Bench.tsv") -> Path:
    with (folder / file).open("w", newline="", encoding="utf-8") as open_file:
        csv.writer(open_file, delimiter="\t").writerows([head.split(), *rows])
    return folder / file


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for _, status, reason, n in data.counts.iter_rows()}


def test_a_row_becomes_an_example_with_its_own_columns(tmp_path: Path) -> None:
    red = picture("red")
    head = "index question hint A B C answer category l2-category split image"
    path = write(
        tmp_path,
        head,
        ["007", "What\tcolour?", "", "red", "blue", "", "B", "colour", "look", "dev", red],
        ["8", "Why?", 'see "it"', "x", "nan", "y", "C", "reason", "think", "dev", red],
    )

    data = read_vlmeval(path)

    assert data.examples.to_dicts() == [
        {
            "id": "007",
            "image": name(red),
            "question": "What\tcolour?",
            "answer": "blue",
            "hint": "",
            "category": "colour",
            "l2_category": "look",
            "split": "dev",
            "choices": ["red", "blue"],
        },
        {
            "id": "8",
            "image": name(red),
            "question": "Why?",
            "answer": "y",
            "hint": 'see "it"',
            "category": "reason",
            "l2_category": "think",
            "split": "dev",
            "choices": ["x", "y"],
        },
    ]
    assert data.modalities == ("image", "question", "hint")
    assert fates(data) == {
        ("read", None): 2,
        ("noted", "picture inside the file, not written; see pictures"): 1,
    }


def test_hints_that_are_all_empty_are_no_modality(tmp_path: Path) -> None:
    data = read_vlmeval(write(tmp_path, "index question hint answer", ["1", "?", " ", "yes"]))

    assert data.modalities == ("image", "question")
    assert "hint" not in data.examples.columns


@pytest.mark.parametrize(
    ("answer", "options", "meant"),
    [
        ("B", ["red", "blue"], "blue"),
        ("blue", ["red", "blue"], "blue"),
        ("A", ["B", "A"], "B"),  # the letter, not the text
        ("['B', 'B', 'A']", ["red", "blue"], "blue"),
        ("", ["red", "blue"], None),
        ("yes", ["", ""], "yes"),
        ("['cat', 'dog', 'dog']", ["", ""], "dog"),
        ("[0.1, 0.2]", ["", ""], "[0.1, 0.2]"),
        ("['broken", ["", ""], "['broken"),
    ],
)
def test_an_answer_is_a_letter_a_text_or_a_list(
    answer: str, options: list[str], meant: str | None, tmp_path: Path
) -> None:
    data = read_vlmeval(write(tmp_path, "index question A B answer", ["1", "?", *options, answer]))

    assert data.examples["answer"].to_list() == [meant]


def test_several_answers_stay_where_there_are_no_options(tmp_path: Path) -> None:
    rows = [["1", "?", "", "", "['cat', 'dog']"], ["2", "?", "red", "blue", "['A', 'B']"], ["3", "?", "", "", "cow"]]

    data = read_vlmeval(write(tmp_path, "index question A B answer", *rows))

    assert data.examples["answers"].to_list() == [["cat", "dog"], None, None]
    assert fates(data)["noted", "row with options and several answers, the most frequent kept"] == 1


def test_circular_rows_share_a_group_and_stay(tmp_path: Path) -> None:
    rows = [["5", "?", "a", "b", "A"], ["1000005", "?", "b", "a", "B"], ["6", "?", "a", "b", "A"]]

    data = read_vlmeval(write(tmp_path, "index question A B answer", *rows))
    named = read_vlmeval(write(tmp_path, "index question A B answer g_index", *([*row, "x"] for row in rows)))

    assert data.examples.select("id", "group", "answer").rows() == [
        ("5", "5", "a"),
        ("1000005", "5", "a"),
        ("6", "6", "a"),
    ]
    assert named.examples["group"].to_list() == ["x", "x", "x"]


def test_rows_that_are_not_circular_have_no_group(tmp_path: Path) -> None:
    small = read_vlmeval(write(tmp_path, "index question answer", ["5", "?", "a"], ["6", "?", "a"]))
    words = read_vlmeval(write(tmp_path, "index question answer", ["2000000", "?", "a"], ["x", "?", "a"]))

    assert "group" not in small.examples.columns
    assert "group" not in words.examples.columns


def test_a_short_cell_is_the_picture_of_another_row(tmp_path: Path) -> None:
    red, blue = picture("red"), picture("blue")
    cells = {"1": "2", "2": red, "3": blue, "4": "2", "5": "9", "6": "4", "7": "nan", "8": ""}

    data = read_vlmeval(write(tmp_path, "index question image", *([key, "?", cell] for key, cell in cells.items())))

    assert data.examples["image"].to_list() == [name(red), name(red), name(blue), name(red), *[None] * 4]
    assert fates(data)["noted", "image index that refers to no row with a picture"] == 2
    assert fates(data)["noted", "row without an image"] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_picture_is_the_one_in_the_table(kind: str, tmp_path: Path) -> None:
    red = picture("red", kind)
    path = write(tmp_path, "index question image", ["1", "?", red], ["2", "?", red])

    data = read_vlmeval(path, pictures=tmp_path / "deep" / "pictures")

    (row,) = data.images.table.to_dicts()
    assert row == {"image": name(red), "path": name(red) + KINDS[kind]}
    assert data.images.root is not None
    assert (data.images.root / row["path"]).read_bytes() == base64.b64decode(red)
    assert read_vlmeval(path).examples["image"].to_list() == data.examples["image"].to_list()
    assert read_vlmeval(path, images=data.images.root).images.table["path"].to_list() == [row["path"]]
    assert fates(data) == {
        ("read", None): 2,
        ("noted", "picture written"): 1,
        ("noted", "row without an answer"): 2,
    }


def test_a_data_address_and_broken_lines_are_the_same_picture(tmp_path: Path) -> None:
    red = picture("red")
    cells = [f"data:image/png;base64,{red}", "\n".join(red[at : at + 20] for at in range(0, len(red), 20)), red]

    data = read_vlmeval(write(tmp_path, "index question image", *([str(n), "?", c] for n, c in enumerate(cells))))

    assert set(data.examples["image"]) == {name(red)}


def test_what_is_no_picture_is_noted(tmp_path: Path) -> None:
    text, cut = base64.b64encode(b"x" * 99).decode(), picture("red")[:-3]
    cells = ["https://example.org/" + "x" * 60, text, cut]
    path = write(tmp_path, "index question image", *([str(n), "?", cell] for n, cell in enumerate(cells)))

    data = read_vlmeval(path, pictures=tmp_path / "pictures")

    assert data.examples["image"].to_list() == [None, name(text), name(cut)]
    assert fates(data)["noted", "picture that is not base64, left out"] == 1
    assert fates(data)["noted", "picture of unknown kind or truncated, not written"] == 2
    assert fates(data)["noted", "image without a picture file"] == 2


def test_several_images_of_a_row_are_all_named(tmp_path: Path) -> None:
    red, blue = picture("red"), picture("blue")
    path = write(tmp_path, "index question image", ["1", "?", str([red, blue])], ["2", "?", red])

    data = read_vlmeval(path, pictures=tmp_path / "pictures")

    assert data.examples["images"].to_list() == [[name(red), name(blue)], [name(red)]]
    shown = data.images.list_pictures(data.examples["image"])
    assert shown.to_list() == [[name(red), name(blue)], [name(red)]]
    assert data.clusters().to_list() == [name(red), name(red)]
    assert data.images.table["path"].null_count() == 0
    assert fates(data)["noted", "row with several images, shown in order"] == 1


def test_images_may_lie_in_files(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.jpg").touch()
    rows = [["1", "?", "a.jpg"], ["2", "?", "['b.jpg', 'a.jpg']"], ["3", "?", ""]]
    path = write(tmp_path, "index question image_path", *rows)

    beside = read_vlmeval(path)
    inside = read_vlmeval(path, images=tmp_path / "pictures")

    assert beside.examples["image"].to_list() == ["a.jpg", "b.jpg", None]
    assert beside.images.table.select("image", "path").rows() == [("a.jpg", "a.jpg"), ("b.jpg", "b.jpg")]
    assert beside.images.list_pictures(beside.examples["image"]).to_list() == [["a.jpg"], ["b.jpg", "a.jpg"], None]
    assert beside.images.root == tmp_path
    assert inside.images.table["path"].to_list() == ["a.jpg", None]


def test_several_files_are_told_apart_by_their_names(tmp_path: Path) -> None:
    for file, colour in (("MME.tsv", "red"), ("POPE.tsv", "blue")):
        write(tmp_path, "index question image", ["1", "?", picture(colour)], ["2000000", "?", "1"], file=file)

    data = read_vlmeval(tmp_path, split="test")

    assert data.examples["id"].to_list() == ["MME-1", "MME-2000000", "POPE-1", "POPE-2000000"]
    assert data.examples["group"].to_list() == ["MME-1", "MME-0", "POPE-1", "POPE-0"]
    assert data.examples["image"].n_unique() == 2
    assert data.splits() == ("test",)


def test_every_row_has_a_fate(tmp_path: Path) -> None:
    rows = [
        ["1", "9", "?", "a", "b", "A"],
        ["1", "9", "?", "a", "b", "A"],
        ["", "9", "?", "a", "b", "A"],
        ["2", "9", "", "a", "b", "A"],
        ["3", "9", "?", "a", "b", "D"],
        ["4", "9", "?", "a", "b", "c"],
    ]

    data = read_vlmeval(write(tmp_path, "index id question A B answer", *rows))

    assert fates(data) == {
        ("read", None): 1,
        ("dropped", "row whose answer is not among its choices (read as letter or text)"): 2,
        ("dropped", "row with an id seen before"): 1,
        ("dropped", "row without an id"): 1,
        ("dropped", "row without a question"): 1,
        ("noted", "column 'id' left out: the index is the id"): 6,
        ("noted", "row without an image"): 1,
    }


def test_columns_that_bear_our_names_are_typed_or_noted(tmp_path: Path) -> None:
    head = "index question answers choices evidence answer"
    path = write(tmp_path, head, ["1", "?", "['a']", "['a', 'b']", "none", "b"], ["2", "?", "", "", "", "['x']"])

    data = read_vlmeval(path)

    assert data.examples["choices"].to_list() == [["a", "b"], None]
    assert data.examples["answer"].to_list() == ["b", "['x']"]


def test_what_cannot_be_read_or_written_is_one_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path, "index question image", ["1", "?", picture("red")])

    with pytest.raises(SettingError, match="a folder to write pictures to"):
        read_vlmeval(path, pictures=path)
    for head in ("question answer", "index answer"):
        with pytest.raises(FileFormatError, match=r"a column '(index|question)'"):
            read_vlmeval(write(tmp_path, head, ["1", "?"]))
