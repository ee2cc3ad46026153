"""Compare the answers that our rules find in real responses with those that each harness's own parser found.

    python benchmarks/extraction.py FOLDER [--only FILE] [--show FILE] [--record]

FOLDER holds the real data (`mmmu_pro/`, `mmmu_val/`, `scienceqa/`, `hallusionbench/`, `samples/`), which are not part
of the project. Answers that a harness released are compared; where a file has none, the rule of the harness is written
again here, after its description. MMMU's parser draws an option at random where it finds none: its rule shows where it
did. Of the rows where ours and theirs differ a sample was drawn and read by a person (`READ`); --show prints that of a
file.
"""

import argparse
import ast
import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.language.prompts import choose_template
from eyechart.models.extraction import extract
from record import Row, add_flag
from tables import Layout, report, table

SAMPLE, SEED = 10, 31
SHOWN = 400  # characters of a response, from its end
MMMU_PRO = {
    "gpt-4o_standard10_options_direct": "MMMU-Pro, GPT-4o, direct",
    "gpt-4o_standard10_options_cot": "MMMU-Pro, GPT-4o, step by step",
    "gpt-4o_vision_direct": "MMMU-Pro in the picture, GPT-4o, direct",
    "gpt-4o_vision_cot": "MMMU-Pro in the picture, GPT-4o, step by step",
}
MMMU_VAL = {"llava1.5_13b": "MMMU, LLaVA-1.5-13B", "qwen_vl": "MMMU, Qwen-VL"}
SCIENCEQA = {
    "gpt3_final_test_QCM-ALE_2_seed_3": "ScienceQA, GPT-3",
    "test_sqa_llava_13b_v0": "ScienceQA, LLaVA-13B v0",
    "test_sqa_llava_lcs_558k_sqa_12e_vicuna_v1_3_13b": "ScienceQA, LLaVA-13B 558k",
}
# How many rows of the sample were read, and in how many ours, or theirs, is what a person understands.
READ: dict[str, tuple[int, int, int]] = {
    "MMMU-Pro, GPT-4o, direct": (10, 10, 0),
    "MMMU-Pro in the picture, GPT-4o, direct": (10, 10, 0),
    "MMMU, Qwen-VL": (10, 4, 2),
}


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever is there
    """Read a file of JSON, or of JSON lines."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if ".jsonl" in path.name else json.loads(text)


def tabulate(rows: Iterator[tuple[str, list[str], str | None, str]]) -> pl.DataFrame:
    """Make a table of responses, options, the letters a harness read (null: none, or a guess) and the right ones."""
    table = pl.DataFrame(list(rows), schema=["response", "choices", "theirs", "gold"], orient="row")
    return table.cast({"theirs": pl.String})


def load_mmmu_pro(folder: Path, name: str) -> pl.DataFrame:
    """Read released responses and parsed answers of MMMU-Pro."""
    marks = ("({})", "{} ", "{}.")
    return tabulate(
        (row["response"], options, found_letter(row["pred_indexs"], row["response"], options, marks), row["answer"])
        for row in read_json(folder / "mmmu_pro" / f"{name}.jsonl.gz")
        if isinstance((options := ast.literal_eval(row["options"]))[0], str)
    )


def load_mmmu_val(folder: Path, name: str) -> pl.DataFrame:
    """Read released responses and parsed answers of MMMU."""
    parsed = read_json(folder / "mmmu_val" / "example_outputs" / name / "total_val_output.json")
    files = sorted((folder / "mmmu_val" / "example_outputs" / name).glob("*/output.json"))
    rows = [row for file in files for row in read_json(file) if row["question_type"] == "multiple-choice"]
    return tabulate(
        (
            row["response"],
            options,
            found_letter(parsed[row["id"]], row["response"], options, ("({})", " {} ")),
            row["answer"],
        )
        for row in rows
        if (options := list(row["index2ans"].values()))
    )


def found_letter(parsed: str, response: str, options: list[str], marks: tuple[str, ...]) -> str | None:
    """Return the letter that MMMU's parser gave, or null where it can only have drawn one at random.

    It looks for one letter after "Answer:", for letters with these marks, and for options in more than five words.
    """
    letters = [chr(ord("A") + index) for index in range(len(options))]
    tail = response.rpartition("Answer:")[2] if "Answer:" in response else ""
    text = f" {response.strip(chr(44) + '.!?;:' + chr(39))} "
    is_marked = any(mark.format(each) in text for each in letters for mark in marks)
    is_worded = len(text.split()) > 5 and any(option.lower() in text.lower() for option in options)
    is_found = sum(each in tail for each in letters) == 1 or is_marked or is_worded
    return parsed if is_found else None


def load_scienceqa(folder: Path, name: str) -> pl.DataFrame:
    """Read released outputs and results of ScienceQA, with the options of the test split's prompts."""
    prompts = {row["id"]: row for row in read_json(folder / "scienceqa" / "bunny_test_CQM-A.json.gz")}
    found = read_json(folder / "scienceqa" / "predictions" / f"{name}.json.gz")
    return tabulate(
        (text, options, letter(found["results"][key], text), prompts[key]["conversations"][1]["value"])
        for key, text in found["outputs"].items()
        if (options := re.findall(r"^[A-E]\. (.*)$", prompts[key]["conversations"][0]["value"], re.MULTILINE))
    )


def letter(index: int, text: str) -> str | None:
    """Name an option by its index, where the harness's rule ("The answer is A.") found it."""
    return chr(ord("A") + index) if index >= 0 and re.search(r"[Tt]he answer is [A-E]\.", text) else None


def load_mmstar(folder: Path) -> pl.DataFrame:
    """Read the predictions of a VLMEvalKit workbook, with the options in the questions' texts."""
    sheet = pl.read_excel(folder / "samples" / "llava_next_yi_34b_MMStar.xlsx").cast(pl.String)
    return tabulate(
        (row["prediction"], options, vlmeval_letter(row["prediction"], len(options)), row["answer"])
        for row in sheet.iter_rows(named=True)
        if (options := read_options(row["question"]))
    )


def read_options(question: str) -> list[str]:
    """Read the options in a question's text, `A: red, B: blue` or `(A) red`."""
    pattern = r"\(([A-D])\) ?(.*?)(?=\n\([A-D]\)|$)" if "\n(A)" in question else r"([A-D]): ?(.*?)(?=, [A-D]: |$)"
    return [text.strip() for _, text in re.findall(pattern, re.split(r"Options:|Choices:", question)[-1], re.DOTALL)]


def vlmeval_letter(text: str, n: int) -> str | None:
    """Find the only letter among the words of a response, as VLMEvalKit does before it asks another model."""
    words = re.sub(r"[.()\[\],:;!*#{}]", " ", text).split()
    found = {word for word in words if len(word) == 1 and "A" <= word < chr(ord("A") + n)}
    return found.pop() if len(found) == 1 else None


def load_hallusionbench(folder: Path) -> pl.DataFrame:
    """Read sentences that answer yes-or-no questions; VLMEvalKit reads them by the words in them."""
    gold = {
        hallusion_key(row): row["gt_answer"] for row in read_json(folder / "hallusionbench" / "HallusionBench.json.gz")
    }
    rows = read_json(folder / "hallusionbench" / "HallusionBench_result_sample.json.gz")
    return tabulate(
        (
            row["model_prediction"],
            ["yes", "no"],
            yes_no_letter(row["model_prediction"]),
            "BA"[int(gold[hallusion_key(row)])],
        )
        for row in rows
    )


def hallusion_key(row: Row) -> tuple[str, ...]:
    """Return what tells the questions of HallusionBench apart."""
    return tuple(str(row[name]) for name in ("category", "subcategory", "set_id", "figure_id", "question_id"))


def yes_no_letter(text: str) -> str | None:
    """Read yes or no where only one of the words occurs."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return None if len(words & {"yes", "no"}) != 1 else "A" if "yes" in words else "B"


FILES: dict[str, tuple[str, Callable[[Path], pl.DataFrame]]] = {
    **{about: ("MMMU", partial(load_mmmu_pro, name=name)) for name, about in MMMU_PRO.items()},
    **{about: ("MMMU", partial(load_mmmu_val, name=name)) for name, about in MMMU_VAL.items()},
    **{about: ("ScienceQA", partial(load_scienceqa, name=name)) for name, about in SCIENCEQA.items()},
    "MMStar, LLaVA-NeXT-34B": ("VLMEvalKit", load_mmstar),
    "HallusionBench, GPT-4V": ("VLMEvalKit", load_hallusionbench),
}


def compare(responses: pl.DataFrame) -> pl.DataFrame:
    """Add what our rules find: the letters of the option (several if it stands there twice), or null."""
    probes = responses.select("choices", id=pl.int_range(pl.len()).cast(pl.String))
    found = extract(responses["response"], probes, choose_template("choice"))
    letters = [
        None if answer is None else "".join(chr(ord("A") + at) for at, option in enumerate(options) if option == answer)
        for options, answer in zip(responses["choices"].to_list(), found["answer"], strict=True)
    ]
    ours, theirs = pl.Series("ours", letters, dtype=pl.String), pl.col("theirs")
    same = pl.col("ours").str.contains(theirs)
    kind = pl.when(same).then(pl.lit("same")).when(~same).then(pl.lit("different"))
    kind = kind.when(theirs.is_not_null()).then(pl.lit("lost")).when(pl.col("ours").is_not_null()).then(pl.lit("more"))
    return responses.with_columns(ours, found["status"]).with_columns(kind.otherwise(pl.lit("neither")).alias("kind"))


def measure(folder: Path, only: str = "") -> list[Row]:
    """Count for each file where ours and theirs agree, and how often either is right."""
    rows = []
    for name, (harness, load) in FILES.items():
        if not name.startswith(only):
            continue
        compared = compare(load(folder))
        counts = dict(compared["kind"].value_counts(name="n").iter_rows())
        kinds = {kind: counts.get(kind, 0) for kind in ("same", "lost", "different", "more", "neither")}
        right = compared.select(
            ours=pl.col("ours").str.contains(pl.col("gold")).fill_null(value=False).mean(),
            theirs=(pl.col("theirs") == pl.col("gold")).fill_null(value=False).mean(),
        ).row(0, named=True)
        refused = int((compared["status"] == "refused").sum())
        read = dict(zip(("read", "ours right", "theirs right"), READ.get(name, ()), strict=False))
        rows.append(
            {"file": name, "harness": harness, "n": compared.height, **kinds, "refused": refused, **right, **read}
        )
    return rows


def sample(compared: pl.DataFrame) -> pl.DataFrame:
    """Draw rows where ours and theirs differ, the same ones each time."""
    rows = compared.filter(pl.col("kind").is_in(["lost", "different"]))
    return rows.sample(min(SAMPLE, rows.height), seed=SEED)


HEAD = (
    "| file | parser | n | same | lost | different | only ours | none | right: ours | right: theirs "
    "| read | ours right | theirs right |"
)
LINE = (
    "| {file} | {harness} | {n:,} | {same:,} | {lost} | {different} | {more} | {neither} | {ours:points} "
    "| {theirs:points} | {read} | {ours right} | {theirs right} |"
)
LAYOUTS: dict[str, Layout] = {"": table(HEAD, LINE)}


def main() -> None:
    """Print the tables, or the sample of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="compare only the files whose name begins so")
    parser.add_argument("--show", metavar="FILE", choices=FILES, help="print the rows of a file to be read by a person")
    add_flag(parser)
    given = parser.parse_args()
    if given.show:
        for row in sample(compare(FILES[given.show][1](given.folder))).iter_rows(named=True):
            print(json.dumps(row | {"response": row["response"][-SHOWN:]}, ensure_ascii=False, indent=1))
    else:
        report("extraction", LAYOUTS, measure(given.folder, given.only), kept=given.record)


if __name__ == "__main__":
    main()
