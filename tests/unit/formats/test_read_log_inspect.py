"""The logs of inspect_ai are read however they are packed; epochs are draws, and only finished runs count unasked."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import zstandard

from eyechart.base.errors import FileFormatError, UnknownNameError
from eyechart.formats.predictions import PredictionFile, read_predictions

Record = dict[str, object]


def sample(key: object, epoch: int, answer: str | None = "cat", **more: object) -> Record:
    """Write a sample as the tool does: null fields are left out."""
    score = {"value": "C", "history": []} | ({} if answer is None else {"answer": answer})
    return {
        "id": key,
        "epoch": epoch,
        "input": "what?",
        "target": "dog",
        "output": {"model": "m", "choices": [], "completion": "It is a cat."},
        "scores": {"match": score},
    } | more


def head(status: str = "success", model: str = "m") -> Record:
    return {"version": 2, "status": status, "eval": {"task": "t", "model": model}}


class Member(NamedTuple):
    """A file inside an archive."""

    name: str
    content: bytes


def members(samples: list[Record], header: Record | None, *, chunked: bool = False) -> list[Member]:
    ending = "/sample.json" if chunked else ".json"
    found = [Member(f"samples/{one['id']}_epoch_{one['epoch']}{ending}", json.dumps(one).encode()) for one in samples]
    found += [Member("_journal/start.json", b"{}"), Member("summaries.json", b"[]")]
    if chunked:
        parts = ("messages/0.json", "events/0.json", "events/stats.json", "calls/0.json", "metadata.json")
        found += [
            Member(f"samples/{one['id']}_epoch_{one['epoch']}/{part}", b"[]") for one in samples for part in parts
        ]
    return found if header is None else [*found, Member("header.json", json.dumps(header).encode())]


def deflate(files: list[Member]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(*file)
    return data.getvalue()


def zstd(files: list[Member], *, off: int = 0) -> bytes:
    """Write a zip archive by hand whose members are packed with zstandard, method 93; `off` spoils the checksums."""
    body, directory = b"", b""
    for name, content in files:
        packed, path = zstandard.ZstdCompressor().compress(content), name.encode()
        sizes = struct.pack("<IIIHH", zlib.crc32(content) ^ off, len(packed), len(content), len(path), 0)
        common = struct.pack("<HHHHH", 63, 0x800, 93, 0, 0x21) + sizes
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + path
        body += b"PK\x03\x04" + common + path + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def read_archive(folder: Path, files: list[Member], *, unfinished: bool = False) -> PredictionFile:
    (folder / "log.eval").write_bytes(deflate(files))
    return read_predictions(folder / "log.eval", unfinished=unfinished)


def read_log(folder: Path, *samples: object, scorer: str | None = None) -> PredictionFile:
    (folder / "log.json").write_text(json.dumps(head() | {"samples": samples}))
    return read_predictions(folder / "log.json", scorer=scorer)


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


TWICE = [sample("007", 1, "cat"), sample("b/8", 1, "dog"), sample("007", 2, "owl"), sample("b/8", 2, "dog")]


@pytest.mark.parametrize("pack", [deflate, zstd])
@pytest.mark.parametrize("layout", ["whole", "chunked"])
def test_archives_are_read_however_they_are_packed(
    pack: Callable[[list[Member]], bytes], layout: str, tmp_path: Path
) -> None:
    (tmp_path / "log.eval").write_bytes(pack(members(TWICE, head(), chunked=layout == "chunked")))

    found = read_predictions(tmp_path / "log.eval")

    said = found.answers.select("id", "draw", "answer", "raw").sort("id", "draw").rows()
    raw = "It is a cat."
    assert said == [("007", 0, "cat", raw), ("007", 1, "owl", raw), ("b/8", 0, "dog", raw), ("b/8", 1, "dog", raw)]
    assert fates(found) == {("read", None): 4}


def test_a_json_log_gives_the_same_as_an_archive(tmp_path: Path) -> None:
    assert read_log(tmp_path, *TWICE).answers.equals(read_archive(tmp_path, members(TWICE, head())).answers)


def test_epochs_are_draws_in_their_order_from_0(tmp_path: Path) -> None:
    found = read_log(tmp_path, sample(1, 10, "c"), sample(1, 9, "b"), sample(1, 2, "a"), sample(2, 10, "d"))

    assert dict(found.answers.filter(id="1").select("draw", "answer").rows()) == {0: "a", 1: "b", 2: "c"}
    assert found.answers.filter(id="2")["draw"].to_list() == [0]


def test_the_same_epoch_twice_is_one_draw(tmp_path: Path) -> None:
    found = read_log(tmp_path, sample(1, 1, "a"), sample(1, 1, "b"), sample(1, 2, "c"))

    assert found.answers.select("draw", "answer").rows() == [(0, "a"), (1, "c")]
    assert fates(found)["dropped", "id answered before, other answer"] == 1


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"completion": "cat", "choices": []}, "cat"),
        ({"choices": [{"message": {"content": "cat"}}]}, "cat"),
        (
            {
                "choices": [
                    {"message": {"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "cat"}]}}
                ]
            },
            "cat",
        ),
        ({"completion": "", "choices": []}, ""),
    ],
)
def test_without_an_extracted_answer_it_is_what_the_model_said(output: Record, said: str, tmp_path: Path) -> None:
    found = read_log(tmp_path, sample(1, 1, None, output=output), sample(2, 1, "x", scores=None, output=output))

    assert found.answers["answer"].to_list() == [said, said]
    assert fates(found)["noted", "answer is the whole completion: no scorer extracted one"] == 2


def test_a_scorer_is_chosen_or_the_first_is_taken_and_noted(tmp_path: Path) -> None:
    scores = {"match": {"value": 1, "answer": "a"}, "judge": {"value": "N", "answer": "b"}}
    one = sample(1, 1, scores=scores)

    first, other = (read_log(tmp_path, one, scorer=name) for name in (None, "judge"))

    assert first.answers["answer"].to_list() == ["a"]
    assert fates(first)["noted", "answer by scorer 'match', the first of match, judge"] == 1
    assert other.answers["answer"].to_list() == ["b"]
    with pytest.raises(UnknownNameError, match="scorer of this log"):
        read_log(tmp_path, one, scorer="nobody")


def test_the_single_score_of_the_first_logs_is_read(tmp_path: Path) -> None:
    old = sample(1, 1)
    old["score"] = old.pop("scores", {})["match"]  # type: ignore[index]

    assert read_log(tmp_path, old).answers["answer"].to_list() == ["cat"]


def test_an_error_is_a_failure_and_a_filtered_answer_a_refusal(tmp_path: Path) -> None:
    stopped = {
        "choices": [{"message": {"content": "I cannot."}, "stop_reason": "content_filter"}],
        "completion": "I cannot.",
    }

    found = read_log(
        tmp_path,
        sample(1, 1, error={"message": "timeout", "traceback": "..."}),
        sample(2, 1, None, output=stopped),
        sample(3, 1, None, output={"choices": []}),
    )

    assert found.answers.select("id", "answer", "status").rows() == [
        ("1", None, "failed"),
        ("2", "I cannot.", "refused"),
        ("3", None, "failed"),
    ]


def test_scores_that_are_not_a_number_are_of_no_account(tmp_path: Path) -> None:
    text = json.dumps(head() | {"samples": [sample(1, 1, scores={"match": {"value": float("nan"), "answer": "a"}})]})
    (tmp_path / "log.json").write_text(text)

    assert "NaN" in text
    assert read_predictions(tmp_path / "log.json").answers["answer"].to_list() == ["a"]


@pytest.mark.parametrize("header", [head("error"), head("cancelled"), head("started"), None])
def test_a_run_that_was_not_finished_is_read_only_when_asked_for(header: Record | None, tmp_path: Path) -> None:
    files = members(TWICE[:1], header)

    with pytest.raises(FileFormatError, match="unfinished=yes"):
        read_archive(tmp_path, files)

    assert read_archive(tmp_path, files, unfinished=True).answers["id"].to_list() == ["007"]


def test_logs_of_two_models_are_refused(tmp_path: Path) -> None:
    for model in ("m", "n"):
        (tmp_path / f"{model}.eval").write_bytes(deflate(members(TWICE, head(model=model))))

    with pytest.raises(FileFormatError, match="answers of m, n"):
        read_predictions(tmp_path)


def test_entries_that_are_no_samples_are_counted(tmp_path: Path) -> None:
    found = read_log(tmp_path, sample(1, 1), "stray", None, sample(None, 1))

    assert fates(found) == {
        ("read", None): 1,
        ("dropped", "entry that is not a record"): 2,
        ("dropped", "answer without an id"): 1,
    }


def damage(data: bytes, at: bytes) -> bytes:
    """Change the bytes of the first sample's packed content."""
    place = data.index(at) + len(at) + 12
    return data[:place] + bytes(255 - byte for byte in data[place : place + 4]) + data[place + 4 :]


@pytest.mark.parametrize(
    "data",
    [
        b"no archive",
        deflate(members(TWICE, head()))[:-60],
        damage(deflate(members(TWICE, head())), b"samples/007_epoch_1.json"),
        damage(zstd(members(TWICE, head())), b"samples/007_epoch_1.json"),
        zstd(members(TWICE, head()), off=1),
        deflate([Member("other.txt", b"hello")]),
        deflate([Member("header.json", b"{")]),
    ],
    ids=["text", "cut", "deflate", "zstd", "checksum", "other", "header"],
)
def test_a_damaged_archive_is_one_clear_error(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(data)

    with pytest.raises(FileFormatError, match=r"log\.eval"):
        read_predictions(tmp_path / "log.eval")


def test_a_log_without_samples_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(head()))

    with pytest.raises(FileFormatError, match="a log without samples"):
        read_predictions(tmp_path / "log.json")
