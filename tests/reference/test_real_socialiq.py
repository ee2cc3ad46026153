"""The published files of Social-IQ 2.0 are read row by row as the standard library sees them, in both forms."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eyechart.formats.socialiq import RowForm, read_socialiq

SIZES = {"train": 6_159, "val": 943}


def published(folder: Path, split: str) -> list[dict[str, Any]]:
    """Decode a file line by line and count up the ids that occur twice."""
    with gzip.open(folder / f"qa_{split}.json.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    seen: Counter[str] = Counter()
    for record in records:
        seen[record["qid"]] += 1
        if seen[record["qid"]] > 1:
            record["qid"] += f"#{seen[record['qid']]}"
    return records


@pytest.fixture(scope="module")
def folder(real_data: Path) -> Path:
    return real_data / "socialiq2"


@pytest.mark.parametrize("split", SIZES)
def test_every_question_is_read_with_its_own_options_and_answer(split: str, folder: Path) -> None:
    records = published(folder, split)

    data = read_socialiq(folder / f"qa_{split}.json.gz")

    assert data.examples.height == len(records) == SIZES[split]
    assert data.examples.to_dicts() == [
        {
            "id": one["qid"],
            "image": None,
            "video": one["vid_name"],
            "question": one["q"],
            "answer": one["ans_corr"],
            "choices": [one["a0"], one["a1"], one["a2"], one["a3"]],
            "idx_types": one["idx_types"],
            "ts": one["ts"],
            "split": split,
        }
        for one in records
    ]


@pytest.mark.parametrize("split", SIZES)
def test_every_candidate_is_true_or_false_as_its_index_says(split: str, folder: Path) -> None:
    records = published(folder, split)

    data = read_socialiq(folder / f"qa_{split}.json.gz", form="binary")

    assert data.examples.height == 4 * SIZES[split]
    assert data.examples.to_dicts() == [
        {
            "id": f"{one['qid']}-{at}",
            "image": None,
            "video": one["vid_name"],
            "question": one["q"],
            "answer": "true" if one["idx_types"][at] == "corr" else "false",
            "candidate": one[f"a{at}"],
            "idx_type": one["idx_types"][at],
            "qid": one["qid"],
            "ts": one["ts"],
            "split": split,
        }
        for one in records
        for at in range(4)
    ]


@pytest.mark.parametrize("form", ["choice", "binary"])
def test_the_folder_holds_both_splits_and_says_what_is_odd_about_them(form: RowForm, folder: Path) -> None:
    records = [one for split in SIZES for one in published(folder, split)]
    options = [[one[f"a{at}"] for at in range(4)] for one in records]
    twice = sum(len({*texts}) < 4 for texts in options)
    twins = sum(texts.count(one["ans_corr"]) - 1 for texts, one in zip(options, records, strict=True))

    data = read_socialiq(folder, form=form)

    rows = len(records) * (4 if form == "binary" else 1)
    odd = {
        "choice": ("row with the same option twice", twice),
        "binary": ("candidate marked false with the text of the true one", twins),
    }
    assert data.splits() == ("train", "val")
    assert data.examples["id"].n_unique() == rows
    assert data.examples["video"].n_unique() == 987 + 145
    assert {(status, reason): n for _, status, reason, n in data.counts.iter_rows()} == {
        ("read", None): rows,
        ("noted", "question that shares its id with another, marked by #2"): 26,
        ("noted", odd[form][0]): odd[form][1],
    }
