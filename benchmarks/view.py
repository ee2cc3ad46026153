"""How fast the explorer is on a large run: 214,000 examples, 1.65 million rules, two models; and what memory it takes.

    python benchmarks/view.py [FOLDER] [--rules 1650000] [--judged 214000] [--train 20000]

The run is written straight to Parquet (rules drawn from the words, objects and answers of the made-up questions), once
per folder. The real server runs as a process of its own; a request is timed as a client sees it, the first time (cold)
and again (warm). Behind each stands the time that the server's processors took, which a busy machine does not change
much. Memory is the highest the process had.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import numpy as np
import polars as pl

from eyechart.base.files import write_record, write_table
from eyechart.data.records import DivisionRecord, RunManifest
from eyechart.data.result import Key, Measure, Result, Verdict, measures_table
from eyechart.data.store import Store, fingerprint
from eyechart.data.tables import ANSWERS, COUNTS, empty
from mining_data import N_LABELS, make_dataset, zipf

FIRST, FILTER, MEMORY = 0.5, 1.0, 1.5  # what is promised at most: seconds, seconds, GB
FIRST_PAGES = ("/", "/rules")
PAGES = {
    "overview": "/",
    "rules": "/rules",
    "confirmed rules": "/rules?state=confirmed",
    "rules with a word": "/rules?word=w3",
    "rules with word and object": "/rules?word=w3&object=o13005",
    "rules with an answer": "/rules?answer=a1",
    "rules by support": "/rules?sort=support",
    "rules by support, page 20,000": "/rules?sort=support&page=20000",
    "one rule with its examples": "/rule?rule=77",
    "examples": "/examples",
    "examples with a text": "/examples?text=w77",
    "examples of a group": "/examples?where=rules.kind%3Deasy",
    "examples a model gets wrong": "/examples?model=one&fate=wrong",
    "wrong ones of a group": "/examples?model=one&fate=wrong&where=rules.kind%3Deasy&text=w1",
    "examples by a score": "/examples?model=one&sort=result.accuracy.accuracy&page=3000",
    "one example": "/example?id=val-7",
    "rules of an example": "/rules?example=val-7",
    "two models": "/compare?first=one&second=two",
    "where the second is better": "/compare?first=one&second=two&cell=second",
}


class Sizes(NamedTuple):
    """How many rules, and how many examples that are judged and that are not."""

    rules: int
    judged: int
    train: int


def make_run(folder: Path, sizes: Sizes) -> None:
    """Write a run."""
    data, run, rng = make_dataset(sizes.train, sizes.judged), Store(folder), np.random.default_rng(0)
    data.save(run.data_folder)
    write_record(RunManifest("run", "benchmarks/view.py", 0, None, fingerprint(run.data_folder)), run.manifest_file)
    write_record(DivisionRecord.of(data.decide()), run.division_file)
    judged = data.examples.filter(pl.col("split") == "val").select("id", "image", "answer").sort("id")
    kinds = pl.Series("kind", rng.choice(["easy", "counterexample", "uncovered"], judged.height, p=[0.75, 0.15, 0.1]))
    rows = judged.select("id", pl.col("image").alias("cluster")).with_columns(kinds)
    _save(run.study_folder("rules"), "rules", "made up", rows, {"rules": make_rules(sizes.rules, rng)})
    probes = judged.select("id", image_from="id", question_from="id", condition=pl.lit("plain"), probe="id")
    write_table(probes, run.probe_file("plain"))
    for model, share in {"one": 0.6, "two": 0.65}.items():
        right = pl.Series("right", rng.random(judged.height) < share)
        answer = pl.when(right).then("answer").otherwise(pl.lit("a2999"))
        answers = judged.select("id", condition=pl.lit("plain"), draw=pl.lit(0, pl.Int64), probe="id", answer=answer)
        answers = answers.with_columns(raw="answer", status=pl.lit("ok"))
        write_table(pl.concat([empty(ANSWERS), answers], how="diagonal"), run.answer_file(model, "plain"))
        scores = rows.select("id", "cluster").with_columns(right.cast(pl.Float64).alias("accuracy"))
        _save(run.result_folder(model, "accuracy"), "accuracy", model, scores, {})


def make_rules(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rules of one to three words and none to two objects."""
    words = _lists(rng, np.char.add("w", np.arange(5_000).astype(str)), rng.integers(1, 4, n))
    objects = _lists(rng, np.char.add("o", np.arange(13_000, 13_000 + N_LABELS).astype(str)), rng.integers(0, 3, n))
    support = rng.integers(8, 2_000, n)
    share, held = rng.uniform(0.3, 1, n), rng.uniform(0.1, 1, n)
    return pl.DataFrame(
        {
            "rule": np.arange(n),
            "words": words,
            "objects": objects,
            "answer": pl.Series(rng.integers(0, 3_000, n)).cast(pl.String).str.replace("^", "a"),
            "kind": rng.choice(["mixed", "words"], n),
            "support": support,
            "joint": (support * share).astype(np.int64),
            "confidence": share,
            "held_out_support": support // 2,
            "held_out_joint": (support // 2 * held).astype(np.int64),
            "held_out_confidence": held,
            "low": held * 0.9,
            "high": np.minimum(held * 1.1, 1),
            "p": rng.random(n),
            "q": rng.random(n),
            "power": rng.random(n),
            "state": rng.choice(["confirmed", "adds nothing", "refuted", "untestable"], n, p=[0.1, 0.3, 0.4, 0.2]),
            "kept": rng.random(n) < 0.05,
        }
    )


def _lists(rng: np.random.Generator, texts: np.ndarray, sizes: np.ndarray) -> pl.Series:
    flat = texts[np.searchsorted(zipf(len(texts)), rng.random(int(sizes.sum()))).clip(0, len(texts) - 1)]
    rows = pl.DataFrame({"row": np.repeat(np.arange(len(sizes)), sizes), "text": flat})
    lists = rows.group_by("row", maintain_order=True).agg("text")
    every = pl.DataFrame({"row": np.arange(len(sizes))}).join(lists, on="row", how="left", maintain_order="left")
    return every["text"].fill_null(pl.Series([[]], dtype=pl.List(pl.String)))


def _save(folder: Path, audit: str, subject: str, rows: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> None:
    measures = measures_table([Measure("accuracy", 0.6, 0.59, 0.61, rows.height, of="accuracy", condition="plain")])
    verdict = Verdict("not tested", "Made up?", "made up", "Made up.", Key("accuracy", "plain"))
    Result(audit, subject, {}, measures, rows, {"counts": empty(COUNTS)} | tables, (), verdict).save(folder)


def measure(folder: Path) -> None:
    """Start the server, ask for every page twice, and print seconds and memory."""
    command = [sys.executable, "-m", "eyechart", "view", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None  # noqa: S101 - it is a pipe
            address = server.stdout.readline().split()[-1]
            base, cookie = address.split("/?")[0], _enter(address)
            print(f"{'':32}{'cold':>8}{'cpu':>8}{'warm':>8}{'cpu':>8}")
            for name, path in PAGES.items():
                cold, warm = (_time(base + path, cookie, server.pid) for _ in range(2))
                over = cold.seconds > (FIRST if path in FIRST_PAGES else FILTER)
                print(f"{name:32}{cold}{warm}{'  over the limit' if over else ''}")
            print(f"{'CSV of all rules':32}{_time(base + '/rules.csv', cookie, server.pid)}")
            print(f"memory at most {_memory(server.pid):.2f} of {MEMORY} GB")
            print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        finally:
            server.terminate()


def _enter(address: str) -> str:
    with urlopen(address) as answer:  # noqa: S310 - our own server
        return str(answer.headers["Set-Cookie"]).split(";")[0]


class Time(NamedTuple):
    """How long a client waited, and how long the server's processors worked meanwhile."""

    seconds: float
    worked: float

    def __str__(self) -> str:
        return f"{self.seconds:8.2f}{self.worked:8.2f}"


def _time(address: str, cookie: str, process: int) -> Time:
    start, before = time.perf_counter(), _worked(process)
    with urlopen(Request(address, headers={"Cookie": cookie})) as answer:  # noqa: S310 - our own server
        while answer.read(1 << 20):
            pass
    return Time(time.perf_counter() - start, _worked(process) - before)


def _worked(process: int) -> float:
    """Read the seconds that the processors have worked for a process."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 2**20


def main() -> None:
    """Make the run unless it is there, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the run is kept; default: a temporary folder")
    parser.add_argument("--rules", type=int, default=1_650_000)
    parser.add_argument("--judged", type=int, default=214_000, help="examples")
    parser.add_argument("--train", type=int, default=20_000, help="further examples")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        chosen = (given.folder or Path(temporary)) / "run"
        if not (chosen / "results").is_dir():
            make_run(chosen, Sizes(given.rules, given.judged, given.train))
        measure(chosen)


if __name__ == "__main__":
    main()
