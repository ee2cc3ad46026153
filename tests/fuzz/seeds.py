"""Small sound files of each format, to be damaged."""

import csv
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl

from fuzz.damage import dumps

Content = Any  # what JSON can hold


class Seed(NamedTuple):
    """The content of a few files, how it is written, and how many rows it should give or lose.

    `rows` counts the records of a (perhaps damaged) content, or gives None where it has no list of records any more.
    """

    content: Content
    write: Callable[[Content], dict[str, bytes]]
    rows: Callable[[Content], int | None]
    lost: str = ""  # how the reasons begin that count such records, where the reader counts others too


def as_json(content: Content) -> dict[str, bytes]:
    """Write each entry of the content as a JSON file of that name."""
    if not isinstance(content, dict):
        return {"file.json": dumps(content)}
    return {f"{name}.json": dumps(part) for name, part in content.items()}


def as_lines(content: Content) -> dict[str, bytes]:
    """Write a list as JSON lines."""
    rows = content if isinstance(content, list) else [content]
    return {"file.jsonl": b"\n".join(map(dumps, rows))}


def as_separated(separator: str, suffix: str) -> Callable[[Content], dict[str, bytes]]:
    """Write a list of records as CSV or TSV."""

    def write(content: Content) -> dict[str, bytes]:
        rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
        out = io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(out, names, delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
        return {f"file.{suffix}": out.getvalue().encode("utf-8", errors="replace")}

    return write


def length(content: Content) -> int | None:
    """Count the entries of a list."""
    return len(content) if isinstance(content, list) else None


def length_at(*keys: Any) -> Callable[[Content], int | None]:  # noqa: ANN401 - keys of JSON
    """Count the entries of a list further inside."""

    def count(content: Content) -> int | None:
        for key in keys:
            if not isinstance(content, dict) or key not in content:
                return None
            content = content[key]
        return length(content)

    return count


def unknown(_: Content) -> None:
    """Claim nothing about the number of rows: a record may be split or merged on the way."""


QUESTIONS = [{"question_id": 10 + n, "image_id": n // 2, "question": f"what is {n}?"} for n in range(4)]
ANNOTATIONS = [
    {
        "question_id": 10 + n,
        "image_id": n // 2,
        "question_type": "what is",
        "answer_type": "other",
        "multiple_choice_answer": "cat",
        "answers": [{"answer": word, "answer_confidence": "yes", "answer_id": 1} for word in ("cat", "dog")],
    }
    for n in range(4)
]
ROWS = [
    {
        "question_id": f"0{n}",
        "image_id": n,
        "prompt": f"what is {n}?",
        "answer": "cat",
        "answers": ["cat", "dog"],
        "choices": ["cat", "dog"],
        "objects": [{"label": "cat", "box": [0, 0, 5, 5], "score": 0.9}],
    }
    for n in range(4)
]
FLAT_ROWS = [
    {"id": f"0{n}", "image": "a", "question": f"what is {n}?", "A": "cat", "B": "dog", "answer": "B"} for n in range(4)
]

SOCIAL = [
    {
        "qid": f"q{n}",
        "q": "why?",
        "vid_name": "v",
        "a0": "x",
        "a1": "y",
        "a2": "z",
        "a3": "w",
        "answer_idx": 1,
        "ts": "0-9",
    }
    for n in range(3)
]
POPE = [
    {"question_id": n, "image": "COCO_val2014_000000000042.jpg", "text": "Is there a cat?", "label": "yes"}
    for n in range(3)
]
ROUND = {"question": 0, "answer": 1, "answer_options": [0, 1], "gt_index": 1}
VISDIAL = {
    "version": "1.0",
    "split": "val",
    "data": {
        "questions": ["is it red", "why"],
        "answers": ["yes", "no"],
        "dialogs": [{"image_id": n, "caption": "a cat", "dialog": [ROUND, ROUND]} for n in (5, 6)],
    },
}
NEXTQA = [
    {"video": "v", "frame_count": 9, "width": 4, "height": 3, "question": "why?", "answer": 1, "qid": n, "type": "CW"}
    | {f"a{at}": f"answer {at}" for at in range(5)}
    for n in range(3)
]
VLMEVAL = [
    {"index": n, "question": "which?", "A": "cat", "B": "dog", "answer": "B", "category": "x", "image_path": "a.jpg"}
    for n in range(3)
]


GQA = {
    f"0{n}": {
        "question": "what is it?",
        "answer": "cat",
        "imageId": "n1",
        "isBalanced": True,
        "types": {"structural": "query", "semantic": "rel", "detailed": "relS"},
        "groups": {"local": "a", "global": None},
        "annotations": {"question": {"0": "1"}, "answer": {"0:2": "2"}, "fullAnswer": {}},
        "entailed": ["02"],
    }
    for n in range(3)
}
VISUAL7W = {
    "dataset": "visual7w-telling",
    "images": [
        {
            "image_id": n,
            "filename": f"v7w_{n}.jpg",
            "split": "val",
            "qa_pairs": [
                {
                    "qa_id": 10 + n,
                    "question": "What?",
                    "answer": "A cat.",
                    "multiple_choices": ["A dog.", "A cow."],
                    "type": "what",
                }
            ],
        }
        for n in range(3)
    ],
}
SCIENCEQA = {
    f"{n}": {"question": "which?", "choices": ["a", "b"], "answer": 1, "hint": "look", "image": None, "split": "train"}
    for n in range(3)
}
AOKVQA = [
    {
        "question_id": f"q{n}",
        "image_id": 7,
        "question": "which?",
        "choices": ["a", "b"],
        "correct_choice_idx": 1,
        "direct_answers": ["a", "b", "b"],
        "split": "val",
    }
    for n in range(3)
]
COCOQA = [{"questions": "what is it", "answers": "cat", "img_ids": "7", "types": "0"} for _ in range(3)]

DOT = (  # a PNG file of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
PICTURED = [
    {"question": f"what is {n}?", "answer": "cat", "image": {"bytes": DOT, "path": "a.png"}, "preview": [DOT]}
    for n in range(4)
]
SEVERAL = [
    {
        "question": "what is it?",
        "choices": ["a", "b"],
        "answer": "b",
        "image_1": DOT,
        "image_2": f"data:image/png;base64,{DOT}",
    }
    for _ in range(4)
]
ASKED = "Which bus?\n\nA) red\nB) blue"
EVALSCOPE = [
    {
        "index": n,
        "target": ["B"],
        "messages": [{"role": "user", "content": [{"type": "text", "text": ASKED}]}],
        "sample_score": {"score": {"extracted_prediction": "A", "prediction": "A"}, "group_id": n},
    }
    for n in range(3)
]
HELM = {
    "adapter_spec": {},
    "request_states": [
        {
            "instance": {
                "id": f"id{n}",
                "input": {"text": "Which bus?", "multimedia_content": {"media_objects": [{"location": "a.png"}]}},
                "references": [{"output": {"text": "red"}, "tags": ["correct"]}, {"output": {"text": "blue"}}],
                "split": "test",
            }
        }
        for n in range(3)
    ],
}
OPENCOMPASS = {
    f"{n}": {"origin_prompt": [{"role": "HUMAN", "prompt": ASKED}], "prediction": "A", "gold": "B"} for n in range(3)
}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"model": "m"},
    "samples": [
        {"id": n, "epoch": 1, "input": "Which bus?", "choices": ["red", "blue"], "target": "B"} for n in range(3)
    ],
}
LIGHTEVAL = [
    {
        "doc": {"query": ASKED, "choices": [" A", " B"], "gold_index": 1, "id": f"{n}"},
        "metric": {"acc": 0},
        "model_response": {"text": ["A"], "logprobs": []},
    }
    for n in range(3)
]
CARD = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n    path: data.jsonl\n---\n# Quiz\n"


def as_repository(content: Content) -> dict[str, bytes]:
    """Write a list as JSON lines beside a card, as the hub has it."""
    return {"data.jsonl": as_lines(content)["file.jsonl"], "README.md": CARD.encode()}


def as_details(content: Content) -> dict[str, bytes]:
    """Write a list of records as Parquet; fields that it cannot hold become JSON text."""
    rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
    names = dict.fromkeys(name for row in rows for name in row)
    out = io.BytesIO()
    pl.DataFrame([_one_type([row.get(name) for row in rows], name) for name in names]).write_parquet(out)
    return {"details_quiz|0_2026.parquet": out.getvalue()}


def _one_type(values: list[Any], name: str) -> pl.Series:
    try:
        column = pl.Series(name, values)
        column.to_frame().write_parquet(io.BytesIO())  # which has no empty records
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [dumps(value).decode(errors="replace") for value in values])
    return column


def as_columns(content: Content) -> dict[str, bytes]:
    """Write each field of a list of records into a text file of its own, line by line."""
    rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
    names = ("questions", "answers", "img_ids", "types")
    lines = {name: [str(row[name]) for row in rows if name in row] for name in names}
    return {f"{name}.txt": "\n".join(texts).encode("utf-8", errors="replace") for name, texts in lines.items()}


def entries(key: str) -> Callable[[Content], int | None]:
    """Count the entries of an object."""
    return lambda content: len(content[key]) if isinstance(content.get(key), dict) else None


DATASETS: dict[str, list[Seed]] = {
    "vqa2": [
        Seed(
            {"ques": {"questions": QUESTIONS}, "ans": {"annotations": ANNOTATIONS}},
            as_json,
            length_at("ques", "questions"),
            "question",
        ),
        Seed({"Val-Ques": QUESTIONS, "Val-Ans": ANNOTATIONS}, as_json, length_at("Val-Ques"), "question"),
    ],
    "table": [
        Seed(ROWS, as_lines, length, ""),
        Seed({"file": ROWS}, as_json, length_at("file"), ""),
        Seed(PICTURED, as_lines, length, ""),
        Seed(SEVERAL, as_lines, length, ""),
        Seed(FLAT_ROWS, as_separated(",", "csv"), unknown),
        Seed(FLAT_ROWS, as_separated("\t", "tsv"), unknown),
    ],
    "hf": [Seed(PICTURED, as_repository, length)],
    "evalscope": [Seed(EVALSCOPE, as_lines, unknown)],
    "helm": [Seed({"scenario_state": HELM}, as_json, unknown)],
    "opencompass": [Seed({"quiz": OPENCOMPASS}, as_json, unknown)],
    "inspect": [Seed({"log": INSPECT}, as_json, unknown)],
    "lighteval": [Seed(LIGHTEVAL, as_details, unknown)],
    "socialiq": [Seed(SOCIAL, as_lines, length)],
    "pope": [Seed(POPE, as_lines, length)],
    "visdial": [Seed({"visdial": VISDIAL}, as_json, unknown)],
    "nextqa": [Seed(NEXTQA, as_separated(",", "csv"), unknown)],
    "vlmeval": [Seed(VLMEVAL, as_separated("\t", "tsv"), unknown)],
    "gqa": [Seed({"val_questions": GQA}, as_json, entries("val_questions"))],
    "visual7w": [Seed({"dataset_v7w_telling": VISUAL7W}, as_json, unknown)],
    "cocoqa": [Seed(COCOQA, as_columns, unknown)],
    "scienceqa": [Seed({"problems": SCIENCEQA}, as_json, entries("problems"))],
    "aokvqa": [Seed(AOKVQA, lambda content: {"file.json": dumps(content)}, length)],
}
