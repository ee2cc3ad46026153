"""Any table becomes a dataset: every row has a fate, every other column stays."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyechart.base.errors import EyechartError, FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats.names import ALIASES
from eyechart.formats.table import read_table

ROWS: list[dict[str, Any]] = [
    {"id": "007", "image": "a", "question": "what?", "answer": "x, y", "answers": ["x", "y"], "source": "one"},
    {"id": "8", "image": "a", "question": "who\nis it?", "answer": 'the "one"', "answers": [], "source": "two"},
    {"id": "9", "image": None, "question": "où?", "answer": None, "answers": None, "source": None},
]


def arrow_stream(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_ipc_stream(buffer)
    return buffer.getvalue()


def as_bytes(suffix: str) -> bytes:
    table = pl.DataFrame(ROWS)
    flat = table.with_columns(
        answers=pl.Series([None if r["answers"] is None else json.dumps(r["answers"]) for r in ROWS])
    )
    buffer = io.BytesIO()
    match suffix:
        case ".parquet":
            table.write_parquet(buffer)
        case ".arrow":
            table.write_ipc(buffer)
        case ".feather":
            return arrow_stream(table)
        case ".csv":
            flat.write_csv(buffer)
        case ".tsv":
            flat.write_csv(buffer, separator="\t")
        case ".jsonl" | ".ndjson":
            table.write_ndjson(buffer)
        case ".json":
            return json.dumps(ROWS).encode()
    return buffer.getvalue()


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def read_rows(folder: Path, rows: list[object], **settings: Any) -> Dataset:  # noqa: ANN401 - of whichever setting
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    return read_table(path, **settings)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv", ".tsv", ".jsonl", ".ndjson", ".json"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_rows(suffix: str, packed: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter
    path = tmp_path / f"data{suffix}{'.gz' * packed}"
    path.write_bytes(gzip.compress(as_bytes(suffix)) if packed else as_bytes(suffix))

    data = read_table(path)

    assert_frame_equal(data.examples, pl.DataFrame(ROWS), check_column_order=False)
    assert data.name == "data"
    assert fates(data) == {
        ("read", None): 3,
        ("noted", "row without an image"): 1,
        ("noted", "row without an answer"): 1,
    }


@pytest.mark.parametrize(("ours", "theirs"), [(ours, alias) for ours, names in ALIASES.items() for alias in names])
def test_every_alias_is_recognised(ours: str, theirs: str, tmp_path: Path) -> None:
    values = {"id": "1", "image": "i", "question": "q", "answer": "a", "answers": ["a"], "choices": ["a", "b"]}
    row = values | {"path": "p.jpg", "question_type": "t", "answer_type": "u"}
    row[theirs] = row.pop(ours)

    data = read_rows(tmp_path, [row])

    table = data.images.table if ours == "path" else data.examples
    assert table[ours].to_list() == [row[theirs]]
    assert theirs not in data.examples.columns


def test_a_map_wins_over_every_other_name_and_says_what_it_replaced(tmp_path: Path) -> None:
    row = {"id": 1, "question": "old", "prompt": "new", "label": "a"}

    data = read_rows(tmp_path, [row], map={"question": "prompt", "answer_type": "label"})

    assert data.examples.to_dicts() == [
        {"id": "1", "image": None, "question": "new", "answer": None, "answer_type": "a"}
    ]
    assert fates(data)["noted", "column 'question' replaced by 'prompt', as the map asks"] == 1


def test_our_own_name_wins_over_an_alias_which_stays(tmp_path: Path) -> None:
    data = read_rows(tmp_path, [{"id": "a", "question_id": 5, "question": "?"}])

    assert data.examples.select("id", "question_id").to_dicts() == [{"id": "a", "question_id": 5}]
    assert fates(data)["noted", "column 'question_id' left under its own name: 'id' exists"] == 1


def test_two_aliases_of_one_column_are_an_error_until_the_map_decides(tmp_path: Path) -> None:
    rows: list[object] = [{"qid": 1, "index": 2, "question": "?"}]

    with pytest.raises(SettingError, match="found qid and index; say which with map, such as id=qid"):
        read_rows(tmp_path, rows)

    assert read_rows(tmp_path, rows, map={"id": "index"}).examples["id"].to_list() == ["2"]


@pytest.mark.parametrize(
    ("mapping", "advice"),
    [({"question": "promt"}, "did you mean 'prompt'?"), ({"qestion": "prompt"}, "did you mean 'question'?")],
)
def test_a_map_that_names_nothing_is_an_error_with_the_nearest_name(
    mapping: dict[str, str], advice: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingError) as caught:
        read_rows(tmp_path, [{"id": 1, "prompt": "?"}], map=mapping)

    assert caught.value.advice == advice


def test_rows_without_an_id_column_are_numbered(tmp_path: Path) -> None:
    data = read_rows(tmp_path, [{"question": "a"}, {"question": None}, {"question": "c"}])

    assert data.examples["id"].to_list() == ["0", "2"]
    assert fates(data)["noted", "row without an id column: its number is its id"] == 3


def test_damaged_rows_are_counted(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "question": "a"},
        7,
        {"id": None, "question": "b"},
        {"id": 2, "question": " "},
        {"id": 1, "question": "c"},
    ]

    data = read_rows(tmp_path, rows)

    assert data.examples["question"].to_list() == ["a"]
    assert fates(data) == {
        ("read", None): 1,
        ("dropped", "entry that is not a record"): 1,
        ("dropped", "row without an id"): 1,
        ("dropped", "row without a question"): 1,
        ("dropped", "row with an id seen before"): 1,
        ("noted", "row without an image"): 1,
        ("noted", "row without an answer"): 1,
    }


def test_columns_of_mixed_values_lose_none(tmp_path: Path) -> None:
    values = [1, "x", [1, 2], {"b": 1}, None, True]

    data = read_rows(tmp_path, [{"id": at, "question": "?", "extra": value} for at, value in enumerate(values)])

    found = data.examples["extra"].to_list()
    assert [*found[:2], *map(json.loads, found[2:4]), *found[4:]] == ["1", "x", [1, 2], {"b": 1}, None, "true"]


def test_letters_name_the_options_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "mc.tsv").write_text(
        "index\tquestion\tA\tB\tC\tanswer\n1\twhich?\tred\tblue\t\tB\n2\twhich?\tred\tblue\tgrey\tD\n"
    )

    data = read_table(tmp_path / "mc.tsv")

    assert data.examples.to_dicts() == [
        {"id": "1", "image": None, "question": "which?", "answer": "blue", "choices": ["red", "blue"]}
    ]
    assert fates(data)["dropped", "row whose answer is not among its choices (read as auto)"] == 1


def test_a_number_that_is_a_text_and_an_index_is_asked_for(tmp_path: Path) -> None:
    row = {"id": 1, "question": "?", "choices": ["1", "2"], "answer": 1}

    with pytest.raises(SettingError, match="say which with answer_is=text or answer_is=index"):
        read_rows(tmp_path, [row])
    assert read_rows(tmp_path, [row], answer_is="text").examples["answer"].to_list() == ["1"]
    assert read_rows(tmp_path, [row], answer_is="index").examples["answer"].to_list() == ["2"]


def test_several_answers_give_the_reference(tmp_path: Path) -> None:
    data = read_rows(tmp_path, [{"id": 1, "question": "?", "answers": [{"answer": a} for a in "baab"]}])

    assert data.examples["answer"].to_list() == ["b"]
    assert data.examples["answers"].to_list() == [["b", "a", "a", "b"]]


def test_objects_and_paths_move_to_the_images(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "image_id": 5, "image_path": "p/5.jpg", "question": "?", "objects": ["cat"]},
        {"id": 2, "image_id": 5, "image_path": "p/5.jpg", "question": "?", "objects": ["cat", "dog"]},
        {"id": 3, "image_id": None, "image_path": None, "question": "?", "objects": ["car"]},
    ]

    data = read_rows(tmp_path, rows)

    assert set(data.examples.columns) == {"id", "image", "question", "answer"}
    (row,) = data.images.table.to_dicts()
    assert (row["image"], row["path"], [one["label"] for one in row["objects"]]) == ("5", "p/5.jpg", ["cat", "dog"])
    assert data.images.root == tmp_path
    assert fates(data)["noted", "objects of a question without an image, left out"] == 1
    assert fates(data)["noted", "image whose rows name different objects, combined"] == 1


def test_a_path_alone_names_the_image_and_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "here.jpg").touch()
    rows = [{"id": n, "image_path": name, "question": "?"} for n, name in enumerate(["here.jpg", "gone.jpg"])]

    data = read_rows(tmp_path, rows, images=tmp_path)

    assert data.images.table.sort("image").to_dicts() == [
        {"image": "gone.jpg", "path": None},
        {"image": "here.jpg", "path": "here.jpg"},
    ]
    assert fates(data)["noted", "image without a picture file"] == 1


def test_evidence_and_relevance_are_typed(tmp_path: Path) -> None:
    evidence = [{"label": "cat", "box": [0, 1, 2, 3]}]
    row = {"id": 1, "question": "?", "answer": "a", "choices": ["a", "b"], "relevance": [1, 0], "evidence": evidence}

    (found,) = read_rows(tmp_path, [row]).examples.to_dicts()

    assert found["relevance"] == [1.0, 0.0]
    assert found["evidence"] == [{"label": "cat", "box": [0.0, 1.0, 2.0, 3.0]}]


def test_the_parts_of_a_table_are_stacked(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1], "question": ["a"]}).write_parquet(tmp_path / "part-0.parquet")
    pl.DataFrame({"id": ["x"], "question": ["b"], "split": ["val"]}).write_parquet(tmp_path / "part-1.parquet")

    data = read_table(tmp_path)

    assert data.examples.select("id", "split").to_dicts() == [{"id": "1", "split": None}, {"id": "x", "split": "val"}]
    assert read_table(tmp_path, split="all").splits() == ("all",)


def test_parts_that_do_not_fit_together_are_an_error(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1], "question": ["a"]}).write_parquet(tmp_path / "part-0.parquet")
    pl.DataFrame({"id": [["x"]], "question": ["b"]}).write_parquet(tmp_path / "part-1.parquet")

    with pytest.raises(FileFormatError, match="do not match"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    "content",
    [{"data": [{"id": "1", "question": "?"}], "version": 2}, {"1": {"question": "?"}}, [{"id": 1, "question": "?"}]],
)
def test_records_are_found_in_the_usual_forms_of_json(content: object, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(content))

    assert read_table(tmp_path / "x.json").examples.select("id", "question").to_dicts() == [
        {"id": "1", "question": "?"}
    ]


def test_json_lines_under_the_name_of_json_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"id": 1, "question": "a"}\n{"id": 2, "question": "b"}\n')

    assert read_table(tmp_path / "x.json").examples["id"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("x.json", b"", "empty"),
        ("x.csv", b" \n", "empty"),
        ("x.json", b"[1, 2", "broken JSON"),
        ("x.json", b"7", "JSON int"),
        ("x.json", b"[]", "none at all"),
        ("x.jsonl", b"[]", "none at all"),
        ("x.csv", b"id,question\n", "none at all under the columns id, question"),
        ("x.csv", b"id,question\r", "none at all under the columns id, question"),
        ("x.json", b'["a", "b"]', "only entries that are not records (2)"),
        ("x.jsonl", b'["a", "b"]', "only entries that are not records (2)"),
        ("x.jsonl", b'["a"]\n["b"]\n', "only entries that are not records (2)"),
        ("x.json", b'[{"question": "caf\xe9?"}]', "not UTF-8 (byte 0xe9 at 18)"),
        ("x.jsonl", b'{"question": "caf\xe9?"}\n', "not UTF-8 (byte 0xe9 at 17)"),
        ("x.csv", b"\xff\xfei", "broken UTF-16"),
        ("x.jsonl", b'{"id": 1}\n{"id": \n', "line 1"),
        ("x.parquet", b"PAR1 no more", "content that cannot be read as one"),
        ("x.arrow", b"ARROW1 no more", "content that cannot be read as one"),
        ("x.feather", b"no arrow", "content that cannot be read as one"),
        ("x.csv", b"id,question\n1,a,b,c\n", "content that cannot be read as one"),
        ("x.csv", b"id,question\n1,\xff\xfe\n", "content that cannot be read as one"),
        ("x.docx", b"x", "x.docx"),
        ("x.pkl", b"x", "a pickle"),
        ("x.csv", b"id,text\n1,a\n", "columns id, text"),
        ("x.json", b'[{"id": 0.5, "question": "?"}]', "0.5"),
        ("x.json", b'[{"id": 1, "question": ["?"]}]', "List"),
        (
            "x.json",
            b'[{"id": 1, "question": "?", "choices": ["a"], "answer": "a", "relevance": ["x"]}]',
            "other values",
        ),
    ],
)
def test_a_bad_file_is_one_clear_error(name: str, content: bytes, found: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(EyechartError) as caught:
        read_table(tmp_path / name)

    assert found in caught.value.found


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("x.json", b'[{"question": "caf\xe9?"}]', "save it as UTF-8"),
        ("x.jsonl", b'{"question": "caf\xe9?"}\n', "save it as UTF-8"),
        ("x.csv", b"id,question\n1,caf\xe9?\n", "save it as UTF-8"),
        ("x.csv", b"id,question\n1,a,b,c\n", "create or download it again"),
        ("x.json", b'[{"question": "a?"', "create or download it again"),
        ("x.json", b'[{"score": NaN}]', "create or download it again (NaN and Infinity are not JSON: write null)"),
        ("x.jsonl", b'["a"]', 'write each as an object, such as {"question": "What is it?", "answer": "a bus"}'),
    ],
)
def test_the_advice_fits_what_is_wrong(name: str, content: bytes, advice: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(FileFormatError) as caught:
        read_table(tmp_path / name)

    assert caught.value.advice == advice


def test_a_table_without_rows_is_an_error_in_every_format(tmp_path: Path) -> None:
    pl.DataFrame(schema={"id": pl.String, "question": pl.String}).write_parquet(tmp_path / "x.parquet")

    with pytest.raises(FileFormatError, match=r"expected rows in .* found none at all under the columns id, question"):
        read_table(tmp_path / "x.parquet")


def test_a_part_without_rows_does_no_harm_to_the_others(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["1"], "question": ["a"]})
    table.write_parquet(tmp_path / "part-0.parquet")
    table.clear().write_parquet(tmp_path / "part-1.parquet")

    assert read_table(tmp_path).examples["id"].to_list() == ["1"]


@pytest.mark.parametrize(
    "content", ['[{"question": "a"}, {"question": "b"}]', ' [\n{"question": "a"},\n{"question": "b"}]']
)
def test_a_list_under_the_name_of_json_lines_is_read(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(content)

    assert read_table(tmp_path / "x.jsonl").examples["question"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'id,question\r1,"a,\nb"\r2,c\r'),
        ("x.csv", b'id,question\r\n1,"a,\nb"\r\n2,c\r\n'),
        ("x.csv", b'id;question\n1;"a,\nb"\n2;c\n'),
        ("x.csv", b'id;"question"\r1;"a,\nb"\r2;c'),
        ("x.csv", b'id\tquestion\n1\t"a,\nb"\n2\tc\n'),
        ("x.tsv", b'id,question\n1,"a,\nb"\n2,c\n'),
        ("x.csv", 'id,question\n1,"a,\nb"\n2,c\n'.encode("utf-16")),
        ("x.tsv", 'id\tquestion\r\n1\t"a,\nb"\r\n2\tc\r\n'.encode("utf-16")),
        ("x.json", '[{"id": 1, "question": "a,\\nb"}, {"id": 2, "question": "c"}]'.encode("utf-16")),
        ("x.jsonl", '{"id": 1, "question": "a,\\nb"}\n{"id": 2, "question": "c"}'.encode("utf-16")),
        ("x.json", gzip.compress(b'[{"id": 1, "question": "a,\\nb"}, {"id": 2, "question": "c"}]', mtime=0)),
        ("x.jsonl", gzip.compress(b'{"id": 1, "question": "a,\\nb"}\n{"id": 2, "question": "c"}', mtime=0)),
        ("x.csv", gzip.compress(b'id;question\n1;"a,\nb"\n2;c\n', mtime=0)),
    ],
)
def test_other_line_ends_separators_encodings_and_unnamed_gzip_give_the_same_rows(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)

    assert read_table(tmp_path / name).examples.select("id", "question").rows() == [("1", "a,\nb"), ("2", "c")]


def test_a_mark_within_a_header_does_not_part_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('question,"note; here; and; there"\na,b\n')

    assert read_table(tmp_path / "x.csv").examples["note; here; and; there"].to_list() == ["b"]


@pytest.mark.parametrize("more", [{}, {"choices": ["a", "b"]}])
@pytest.mark.parametrize("answer", ["", "   ", "\t\n", None])
def test_a_blank_answer_is_none_and_counted(answer: str | None, more: dict[str, object], tmp_path: Path) -> None:
    data = read_rows(
        tmp_path, [{"id": n, "question": "?", "answer": text, **more} for n, text in enumerate(["a", answer])]
    )

    assert data.examples["answer"].to_list() == ["a", None]
    assert fates(data)["noted", "row without an answer"] == 1


def test_blank_answers_do_not_make_a_majority(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "question": "?", "answer": " ", "answers": ["", "", "a"]},
        {"id": 2, "question": "?", "answers": [""]},
    ]

    assert read_rows(tmp_path, [*rows]).examples["answer"].to_list() == ["a", None]


def test_the_usual_splits_go_by_our_names_and_others_stay(tmp_path: Path) -> None:
    theirs = [
        "train",
        "Train",
        "TRAIN ",
        "training",
        "validation",
        "Validation",
        "dev",
        "VAL",
        "Test",
        "testdev",
        "Mine",
        None,
    ]
    ours = [*["train"] * 4, *["val"] * 4, "test", "testdev", "Mine", None]

    data = read_rows(tmp_path, [{"id": n, "question": "?", "split": name} for n, name in enumerate([*theirs, "dev"])])

    assert data.examples["split"].to_list() == [*ours, "val"]
    renamed = {reason: n for (_, reason), n in fates(data).items() if reason and reason.startswith("row of split")}
    assert len(renamed) == 8
    assert renamed["row of split 'dev', which is 'val' here"] == 2


def test_the_setting_split_is_taken_as_it_stands(tmp_path: Path) -> None:
    data = read_rows(tmp_path, [{"id": 1, "question": "?", "split": "dev"}], split="Dev")

    assert data.splits() == ("Dev",)
    assert not [reason for _, reason in fates(data) if reason and reason.startswith("row of split")]


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": 1}\n\n{"id": \n')

    with pytest.raises(FileFormatError, match=r"line 3 of .*x\.jsonl"):
        read_table(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "lines", ["{}", '{"question": "why?", "answer": "so"}\n{}', '{}\n{"question": "why?", "answer": "so"}']
)
def test_an_empty_record_among_json_lines_is_counted(tmp_path: Path, lines: str) -> None:
    (tmp_path / "it.jsonl").write_text(f'{{"question": "what?", "answer": "that"}}\n{lines}')
    data = read_table(tmp_path / "it.jsonl")

    assert data.examples.height == lines.count("why") + 1
    assert data.counts.filter(pl.col("status") == "dropped")["n"].sum() == 1
