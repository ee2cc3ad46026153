"""Read files of benchmarks and models that other people made, as they lie, and score the complete answers among them.

    python benchmarks/real_files.py FOLDER [--only FILE] [--record]

FOLDER holds the real data, which are not part of the project. Each file is read without a map, first as data, then as
answers; what is doubtful or refused is told in the words of the reading. `LISTED` are the rows that somebody else
counted in the files, and the accuracies that were published or recomputed with other code.
"""

import argparse
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import EyechartError
from eyechart.formats.predictions import read_predictions
from record import Row, add_flag
from tables import Layout, report, table

KEY = "category,subcategory,set_id,figure_id,question_id"  # of HallusionBench
LISTED = {
    "amber/annotations.json.gz": 15_220,
    "amber/query_all.json.gz": 15_220,
    "aokvqa/aokvqa_v1p0_val.json.gz": 1_145,
    "gqa/ood_testdev_head.json.gz": 1_733,
    "gqa/ood_testdev_tail.json.gz": 1_063,
    "gqa/testdev_balanced_questions.tar.gz": 12_578,
    "hallusionbench/HallusionBench.json.gz": 1_129,
    "hallusionbench/HallusionBench_result_sample.json.gz": 254,
    **{
        f"mmmu_pro/gpt-4o_{name}.jsonl.gz": 1_730
        for name in ("standard10_options_cot", "standard10_options_direct", "vision_cot", "vision_direct")
    },
    "mmmu_val/answer_dict_val.json.gz": 900,
    "mmmu_val/example_outputs/llava1.5_13b/total_val_output.json": 900,
    "mmmu_val/example_outputs/llava1.5_13b_val.json": 900,
    "mmmu_val/example_outputs/qwen_vl/total_val_output.json": 900,
    "nextqa/mc_test.csv.gz": 8_564,
    "nextqa/mc_val.csv.gz": 4_996,
    "okvqa/OpenEnded_mscoco_train2014_questions.json.gz": 9_009,
    "okvqa/OpenEnded_mscoco_val2014_questions.json.gz": 5_046,
    "okvqa/lxmert_testdev.json.gz": 5_046,
    "okvqa/lxmert_train.json.gz": 9_009,
    "pope": 27_000,
    **{
        f"pope/{source}_pope_{kind}.json.gz": 3_000
        for source in ("aokvqa", "coco", "gqa")
        for kind in ("adversarial", "popular", "random")
    },
    "samples/llava_next_yi_34b_MMStar.xlsx": 1_500,
    "scienceqa/bunny_test_CQM-A.json.gz": 4_241,
    "scienceqa/predictions/gpt3_final_test_QCM-ALE_2_seed_3.json.gz": 4_241,
    "scienceqa/predictions/result_llava.json.gz": 2_017,
    "scienceqa/predictions/test_sqa_llava_13b_v0.json.gz": 4_241,
    "scienceqa/predictions/test_sqa_llava_lcs_558k_sqa_12e_vicuna_v1_3_13b.json.gz": 4_241,
    "socialiq2/qa_train.json.gz": 6_159,
    "socialiq2/qa_val.json.gz": 943,
    "textvqa": 5_000,
    "videomme/test-00000-of-00001.parquet": 2_700,
    "vizwiz": 4_319,
    "vqa2/predictions/pred_gpt2.json.gz": 100_000,
    "vqa2/predictions/pred_vggpt2.json.gz": 100_000,
    "vqa2/predictions/pred_vqa_baseline.json.gz": 100_000,
    "vqa2/vqa2_89710_with_objects.parquet": 89_710,
    "vqa2/vqa_vs_Val.zip": 32_723,
    "vsibench/test.jsonl.gz": 5_130,
}
PICA = "okvqa/predictions/pica_coco14_promptC_gpt3_{}_n16_repeat5_{}_CLIPImagequestion.json.gz"
LISTED |= {
    PICA.format(*words): 5_046 for words in (("5GT", "53.246136"), ("VinVLTag", "47.934998"), ("VinVL", "46.809354"))
}
OTHERS = (  # no questions and no answers
    "amber/relation.json",
    "amber/safe_words.txt",
    "coco_val2014_224px/vaq2.0.DevImages.txt.gz",
    "easyvqa/model.h5",
    "fimi/chess.dat.gz",
    "okvqa/detected_coco_objects.json.gz",
    "okvqa/detected_imagenet_objects.json.gz",
    "okvqa/detected_places.json.gz",
    "scienceqa/captions.json.gz",
    "scienceqa/pid_splits.json.gz",
    "vqa2/coco2014_objects.json.gz",
)
SHOWN = 110  # characters of what is told


class Case(NamedTuple):
    """Answers to be scored: the data, the file and its settings, the listed accuracy, and why ours may be another."""

    name: str
    data: Callable[[Path], Dataset]
    spec: str
    listed: float | None
    why: str = ""
    score: str = "auto"


def read_files(folder: Path, only: str) -> Iterator[Row]:
    """Read each file as data and, where it is none, as answers."""
    for name in sorted({*LISTED, *OTHERS}):
        if not name.startswith(only) or not (folder / name).exists():
            continue
        row: Row = {"table": "read", "file": name, "listed": LISTED.get(name)}
        told: list[str] = []
        for kind, read in (("data", eyechart.read), ("answers", read_predictions)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found = read(folder / name)
                except EyechartError as error:
                    told.append(f"no {kind}: expected {error.expected}, found {error.found}".replace(f"{folder}/", ""))
                    continue
            counts = found.counts.filter(pl.col("status") == "dropped")
            lost = "; ".join(f"{reason}: {n:,}" for reason, n in counts.select("reason", "n").iter_rows())
            rows = int(found.counts.filter(pl.col("status") == "read")["n"].sum())
            told = [f"doubtful: {warning.message}" for warning in caught]
            row |= {"as": kind, "rows": rows, "dropped": lost}
            break
        yield row | {"told": shorten("; ".join(told).replace(f"{folder}/", ""))}


def shorten(text: str) -> str:
    """Cut a text, and leave out what ends a cell."""
    plain = text.replace("|", "/").replace("\n", " ")
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}..."


@cache
def read_quietly(folder: Path, name: str, key: str = "") -> Dataset:
    """Read data, whatever is doubtful about them: `read_files` tells it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eyechart.read(folder / name, map={"id": key}) if key else eyechart.read(folder / name)


def data_of(name: str, key: str = "") -> Callable[[Path], Dataset]:
    """Return how to read a file."""
    return lambda folder: read_quietly(folder, name, key)


@cache
def mmmu_val(folder: Path) -> Dataset:
    """Make data of the multiple-choice questions of MMMU, of which the outputs have everything but the question."""
    files = sorted((folder / "mmmu_val" / "example_outputs" / "llava1.5_13b").glob("*/output.json"))
    rows = [row for file in files for row in json.loads(file.read_text(encoding="utf-8"))]
    kept = [row for row in rows if row["question_type"] == "multiple-choice"]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines.write("\n".join(json.dumps({name: row[name] for name in ("id", "answer", "index2ans")}) for row in kept))
        lines.flush()
        return eyechart.read(lines.name, map={"question": "id", "id": "id"})


def hallusionbench(folder: Path) -> Dataset:
    """Take the questions of HallusionBench that the sample has answers to."""
    whole = read_quietly(folder, "hallusionbench/HallusionBench.json.gz", KEY)
    sample = folder / "hallusionbench" / "HallusionBench_result_sample.json.gz"
    return whole.take(pl.col("id").is_in(read_predictions(sample, {"id": KEY}).answers["id"].implode()))


SQA, RESULTS = data_of("scienceqa/bunny_test_CQM-A.json.gz"), "scienceqa/predictions"
MMSTAR = "samples/llava_next_yi_34b_MMStar.xlsx"
MMMU, TWICE = "mmmu_val/example_outputs", "options that stand there twice are one"
LETTERS = "a question whose options are letters in another order"
OTHER = "responses that name another option than the released parser read, or none"
CASES = [
    Case("ScienceQA, GPT-3", SQA, f"{RESULTS}/gpt3_final_test_QCM-ALE_2_seed_3.json.gz", 0.7517, LETTERS),
    Case("ScienceQA, LLaVA-13B v0", SQA, f"{RESULTS}/test_sqa_llava_13b_v0.json.gz", 0.9092),
    Case(
        "ScienceQA, LLaVA-13B 558k",
        SQA,
        f"{RESULTS}/test_sqa_llava_lcs_558k_sqa_12e_vicuna_v1_3_13b.json.gz",
        0.9109,
        LETTERS,
    ),
    Case(
        "ScienceQA with pictures, LLaVA 7B, digits alone",
        data_of(f"{RESULTS}/result_llava.json.gz"),
        f"{RESULTS}/result_llava.json.gz,extract=no",
        0.284,
        "",
        "choice-index",
    ),
    *(
        Case(f"MMMU-Pro, GPT-4o, {about}{what}", data_of(file), f"{file},answer={column}", listed, why)
        for name, about, listed in (
            ("standard10_options_cot", "step by step", 0.5503),
            ("standard10_options_direct", "direct", 0.4012),
            ("vision_cot", "in the picture, step by step", 0.5006),
            ("vision_direct", "in the picture, direct", 0.4243),
        )
        for file in (f"mmmu_pro/gpt-4o_{name}.jsonl.gz",)
        for what, column, why in (
            (", as the released parser read it", "pred_indexs", TWICE),
            (", as we read it", "response", OTHER),
        )
    ),
    *(
        Case(f"MMMU val, multiple choice, {model}", mmmu_val, f"{MMMU}/{file}", right / 847, TWICE)
        for model, file, right in (
            ("LLaVA-1.5-13B", "llava1.5_13b/total_val_output.json", 328),
            ("LLaVA-1.5-13B, second run", "llava1.5_13b_val.json", 322),
            ("Qwen-VL", "qwen_vl/total_val_output.json", 319),
        )
    ),
    *(
        Case(f"OK-VQA, PICa, {about}{what}", data_of("okvqa/lxmert_testdev.json.gz"), f"{file}{more}", listed, why)
        for about, file, listed in (
            ("human captions", PICA.format("5GT", "53.246136"), 0.5504),
            ("VinVL and tags", PICA.format("VinVLTag", "47.934998"), 0.4933),
            ("VinVL", PICA.format("VinVL", "46.809354"), 0.4806),
        )
        for what, more, why in (
            (", as they stand", ",extract=no", "numbers in words are digits"),
            ("", "", 'numbers in words are digits, and "it is fake" is fake'),
        )
    ),
    Case("MMStar, LLaVA-NeXT-34B", data_of(MMSTAR), MMSTAR, None),
    Case(
        "HallusionBench, 254 questions, GPT-4V",
        hallusionbench,
        f"hallusionbench/HallusionBench_result_sample.json.gz,id={KEY}",
        None,
    ),
]


def score_answers(folder: Path, only: str) -> Iterator[Row]:
    """Audit the accuracy of each file of answers."""
    for case in CASES:
        if not case.spec.startswith(only):
            continue
        audit = Accuracy() if case.score == "auto" else Accuracy(score=case.score)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eyechart.audit(case.data(folder), f"predictions:{folder}/{case.spec}", [audit])["accuracy"]
        whole = result.measure("accuracy", "plain")
        row: Row = {"table": "accuracy", "answers": case.name, "n": whole.n, "ours": whole.value, "listed": case.listed}
        yield row | {"why": case.why if case.listed and round(whole.value - case.listed, 4) else ""}


def measure(folder: Path, only: str = "") -> list[Row]:
    """Read the files, and score the answers."""
    return [*read_files(folder, only), *score_answers(folder, only)]


LAYOUTS: dict[str, Layout] = {
    "read": table(
        "| file | read as | rows | listed | dropped | told |",
        "| `{file}` | {as} | {rows:,} | {listed:,} | {dropped} | {told} |",
        "read",
    ),
    "accuracy": table(
        "| answers | n | ours | listed | where they differ |",
        "| {answers} | {n:,} | {ours:points} | {listed:points} | {why} |",
        "accuracy",
    ),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="read only the files whose path begins so")
    add_flag(parser)
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # each audit tells what it read out of its wording
    try:
        report("real_files", LAYOUTS, measure(given.folder, given.only), kept=given.record)
    finally:  # a test runs this in a process that goes on
        logging.disable(logging.NOTSET)


if __name__ == "__main__":
    main()
