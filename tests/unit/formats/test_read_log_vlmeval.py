"""VLMEvalKit's files give what the model said, never the reference beside it, and failures are told from answers."""

import io
import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats.predictions import PredictionFile, read_predictions

Table = list[list[object]]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
WORKBOOK = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{SHEET}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def workbook(rows: Table) -> bytes:
    """Write a workbook of one sheet by hand: numbers as numbers, text as text."""
    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in WORKBOOK.items():
            archive.writestr(name, content)
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>'
        )
    return data.getvalue()


def read_sheet(folder: Path, header: str, *rows: list[object]) -> PredictionFile:
    (folder / "model_MMStar.xlsx").write_bytes(workbook([list(header.split()), *rows]))
    return read_predictions(folder / "model_MMStar.xlsx")


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


ROWS: Table = [[0, "which?", "A", "It is B"], [1, "which?", "B", "C"]]


@pytest.mark.parametrize("kind", ["xlsx", "tsv", "json"])
def test_every_kind_of_file_gives_the_predictions(kind: str, tmp_path: Path) -> None:
    names = ["index", "question", "answer", "prediction"]
    records = [dict(zip(names, row, strict=True)) for row in ROWS]
    content = {
        "xlsx": workbook([list(names), *ROWS]),
        "tsv": pl.DataFrame(records).write_csv(separator="\t", quote_style="always").encode(),
        "json": json.dumps(records, indent=4).encode(),
    }[kind]
    (tmp_path / f"it.{kind}").write_bytes(content)

    found = read_predictions(tmp_path / f"it.{kind}")

    assert found.answers.rows() == [("0", "It is B", "It is B", "ok"), ("1", "C", "C", "ok")]
    assert fates(found) == {("read", None): 2}


def test_an_index_is_a_number_or_text(tmp_path: Path) -> None:
    found = read_sheet(tmp_path, "index prediction", [7, "a"], ["007", "b"], ["x_1", "c"], [None, "d"])

    assert found.answers["id"].to_list() == ["7", "007", "x_1"]
    assert fates(found)["dropped", "answer without an id"] == 1


@pytest.mark.parametrize("word", ["nan", "None", "N/A", "null", "NA", "1e5", "007", "TRUE", "  B "])
def test_a_prediction_that_looks_like_something_else_stays_the_text_it_is(word: str, tmp_path: Path) -> None:
    assert read_sheet(tmp_path, "index prediction", [0, word]).answers["answer"].to_list() == [word]


def test_a_call_that_failed_and_an_empty_cell_are_no_answers(tmp_path: Path) -> None:
    failure = "Failed to obtain answer via API."

    found = read_sheet(
        tmp_path, "index prediction", [0, failure], [1, f"{failure} "], [2, None], [3, "I failed to obtain it."]
    )

    assert found.answers["status"].to_list() == ["failed", "failed", "failed", "ok"]
    assert found.answers["answer"].to_list() == [None, None, None, "I failed to obtain it."]


def test_not_a_number_in_json_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('[{"index": 1, "A": NaN, "prediction": NaN}, {"index": 2, "prediction": "B"}]')

    found = read_predictions(tmp_path / "it.json")

    assert found.answers.select("id", "answer", "status").rows() == [("1", None, "failed"), ("2", "B", "ok")]


def test_what_the_judge_drew_by_chance_is_unparsed(tmp_path: Path) -> None:
    guess = "Failed to predict, thus randomly generate one. "

    found = read_sheet(tmp_path, "index prediction hit log", [0, "hm", 1, guess], [1, "B", 1, "Option B matched"])

    assert found.answers.rows() == [("0", None, "hm", "unparsed"), ("1", "B", "B", "ok")]


def test_what_the_tool_extracted_is_the_answer_and_unknown_is_unparsed(tmp_path: Path) -> None:
    found = read_sheet(
        tmp_path, "index prediction extracted", [0, "Yes, it is", "Yes"], [1, "Maybe", "Unknown"], [2, "No", None]
    )

    assert found.answers.select("answer", "status").rows() == [("Yes", "ok"), (None, "unparsed"), ("No", "ok")]
    assert fates(found)["noted", "answer as the tool extracted it"] == 2


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("prediction index", [["A", 3], ["B", 1_000_003], ["C", 2_000_003], ["A", 4]]),
        ("prediction index g_index", [["A", 3, 3], ["B", 103, 3], ["C", 203, 3], ["A", 4, 4]]),
    ],
)
def test_the_rotations_of_a_circular_question_stay_apart(header: str, rows: Table, tmp_path: Path) -> None:
    found = read_sheet(tmp_path, header, *rows)

    assert found.answers["id"].to_list() == [str(row[1]) for row in rows]
    assert fates(found)["noted", "rotation of a circular question"] == 2


def test_a_large_index_alone_is_no_rotation(tmp_path: Path) -> None:
    found = read_sheet(tmp_path, "index prediction", [1_000_003, "A"], [4, "B"])

    assert fates(found) == {("read", None): 2}


def test_a_text_cut_off_by_the_size_of_a_cell_is_noted(tmp_path: Path) -> None:
    found = read_sheet(tmp_path, "index prediction", [0, "x" * 32_767], [1, "x" * 32_766])

    assert fates(found)["noted", "prediction cut off at the 32,767 characters of a cell"] == 1


def test_the_reference_can_be_a_list_written_as_text(tmp_path: Path) -> None:
    found = read_sheet(tmp_path, "index answer prediction", [0, "['red', 'blue']", "red"])

    assert found.answers["answer"].to_list() == ["red"]


def test_a_scored_file_beside_its_predictions_adds_no_answers(tmp_path: Path) -> None:
    """The scored file of a circular set has one row for each group of rotations."""
    header = ["index", "prediction", "hit", "log"]
    (tmp_path / "m_MMBench_openai_result.xlsx").write_bytes(workbook([list(header), [3, "A", 1, "Option A matched"]]))

    alone = read_predictions(tmp_path)
    read_sheet(tmp_path, "index prediction", [3, "A"], [1_000_003, "B"])
    (tmp_path / "model_MMStar.xlsx").rename(tmp_path / "m_MMBench.xlsx")
    both = read_predictions(tmp_path)

    assert alone.answers["id"].to_list() == ["3"]
    assert both.answers["id"].to_list() == ["3", "1000003"]
    assert fates(both)["dropped", "id answered before, same answer"] == 1


def test_any_workbook_is_read_with_a_map(tmp_path: Path) -> None:
    (tmp_path / "mine.xlsx").write_bytes(workbook([["key", "said"], ["01", "yes"]]))

    found = read_predictions(tmp_path / "mine.xlsx", {"id": "key", "answer": "said"})

    assert found.answers.rows() == [("01", "yes")]


@pytest.mark.parametrize("content", [b"no workbook", workbook([]), workbook([["index", "question"], [1, "q"]])])
def test_a_workbook_without_predictions_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "it.xlsx").write_bytes(content)

    with pytest.raises(FileFormatError, match=r"it\.xlsx"):
        read_predictions(tmp_path / "it.xlsx", format="vlmeval")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model_MMStar_acc.csv", "split,Overall,math\nnone,0.4,0.3\n"),
        ("model_POPE_score.csv", "split,acc,f1\nrandom,80,81\n"),
        ("status.json", '{"eval_id": "T2", "commit": "x", "argv": [], "datasets": {}}'),
    ],
)
def test_aggregates_are_named_as_such_and_passed_over_beside_predictions(
    name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FileFormatError, match=r"VLMEvalKit; give the file of predictions"):
        read_predictions(tmp_path / name)

    found = read_sheet(tmp_path, "index prediction", [0, "A"])
    beside = read_predictions(tmp_path)

    assert beside.answers.equals(found.answers)
    assert fates(beside)["noted", "file of aggregates next to the answers, skipped"] == 1


def test_a_real_file_is_read_whole(real_data: Path) -> None:
    path = real_data / "samples" / "llava_next_yi_34b_MMStar.xlsx"
    published = pl.read_excel(path, engine="calamine")

    found = read_predictions(path)

    assert found.counts.select("status", "n").rows() == [("read", 1_500)]
    assert found.answers["id"].to_list() == published["index"].cast(pl.String).to_list()
    assert found.answers["answer"].to_list() == published["prediction"].to_list()
