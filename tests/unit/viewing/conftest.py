"""A run made by hand, with pictures, full of characters that HTML must not take at their word."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from starlette.testclient import TestClient

from eyechart.base.files import write_record, write_table
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import tidy
from eyechart.data.probes import Prober
from eyechart.data.records import DivisionRecord, RunManifest
from eyechart.data.result import Key, Measure, Result, Verdict, measures_table
from eyechart.data.store import Store, fingerprint
from eyechart.data.tables import COUNTS, OBJECT, empty
from eyechart.viewing.server import Guard, build_explorer

NASTY = "<script>alert('x')</script>\"&"
TOKEN = "a-token"  # noqa: S105 - of a server that nobody reaches
WORDS = ("cat", "dog", "red", "blue", "big")
LABELS = ("ball", "tree", NASTY)
ANSWERS = ("yes", "no", f"b {NASTY}")


def make_examples() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    picks = [rng.choice(WORDS, 2, replace=False) for _ in range(120)]
    answers = [ANSWERS[n % 3] for n in range(120)]
    return pl.DataFrame(
        {
            "id": [f"e/{n:03}" for n in range(120)],
            "image": [f"i{n % 12}" for n in range(120)],
            "question": [f"is the {' '.join(pick)} {NASTY if n % 7 == 0 else 'here'}?" for n, pick in enumerate(picks)],
            "answer": answers,
            "answers": [[*[answer] * 4, "perhaps"] for answer in answers],
            "question_type": ["odd" if n % 2 else f"even {NASTY}" for n in range(120)],
            "split": ["train" if n < 40 else "test" for n in range(120)],
        }
    )


def make_images(folder: Path) -> Images:
    rng, rows = np.random.default_rng(2), []
    folder.mkdir(parents=True)
    for n in range(12):
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), np.uint8)).save(folder / f"{n}.png")
        seen = [label for place, label in enumerate(LABELS) if (n >> place) & 1]
        objects = [{"label": label, "box": [1.0, 2.0, 11.0, 12.0], "score": None} for label in seen]
        rows.append({"image": f"i{n}", "path": f"{n}.png", "width": 40, "height": 30, "objects": objects})
    types = {"image": pl.String, "path": pl.String, "width": pl.Int64, "height": pl.Int64, "objects": pl.List(OBJECT)}
    return Images(pl.DataFrame(rows, schema=types), folder)


def make_rules() -> pl.DataFrame:
    rng, n = np.random.default_rng(3), 160
    states = [("confirmed", "refuted", "untestable", None)[k % 4] for k in range(n)]
    share = rng.random(n).round(2)
    return pl.DataFrame(
        {
            "rule": np.arange(n),
            "words": [list(rng.choice(WORDS, k % 3, replace=False)) for k in range(n)],
            "objects": [list(rng.choice(LABELS, k % 2, replace=False)) for k in range(n)],
            "answer": [ANSWERS[k % 3] for k in range(n)],
            "kind": [("words", "objects", "mixed")[k % 3] for k in range(n)],
            "support": rng.integers(1, 30, n),
            "joint": rng.integers(1, 30, n),
            "confidence": share,
            "held_out_support": rng.integers(1, 30, n),
            "held_out_joint": rng.integers(1, 30, n),
            "held_out_confidence": share,
            "low": [None if state is None else value for state, value in zip(states, share, strict=True)],
            "high": share,
            "p": share,
            "q": share,
            "power": share,
            "state": states,
            "kept": [True] * n,
        },
        schema_overrides={"words": pl.List(pl.String), "objects": pl.List(pl.String)},
    )


def save_result(folder: Path, subject: str, rows: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> None:
    measures = measures_table([Measure("accuracy", 0.5, 0.4, 0.6, rows.height, of="accuracy", condition="plain")])
    told = f"It is not {NASTY}."
    verdict = Verdict("no", f"Is it well {NASTY}?", f"is not well {NASTY}", told, Key("accuracy", "plain"))
    counts = {"counts": empty(COUNTS)}
    Result(folder.name, subject, {}, measures, rows, counts | tables, (), verdict).save(folder)


def make_run(folder: Path) -> Store:
    run, examples = Store(folder / "run"), make_examples()
    data = Dataset(f"data {NASTY}", examples, make_images(folder / "pictures"))
    data.save(run.folder / "data")
    write_record(
        RunManifest("run", f"it {NASTY}", 0, None, fingerprint(run.folder / "data")), run.folder / "manifest.json"
    )
    write_record(DivisionRecord.of(data.decide()), run.division_file)
    judged = examples.filter(pl.col("split") == "test")
    rows = judged.select("id", pl.col("image").alias("cluster"))
    kinds = pl.Series("kind", ["easy", "counterexample"] * 40)
    save_result(run.study_folder("rules"), "the data", rows.with_columns(kinds), {"rules": make_rules()})
    prober = Prober(data)
    hidden = judged.select("id", hidden=pl.lit([[0.0, 0.0, 20.0, 30.0]], pl.List(pl.Array(pl.Float64, 4))))
    plain, rest = (
        prober.plain(judged["id"]),
        prober.complete(hidden.with_columns(removal=pl.lit("hidden=mask")), "rest"),
    )
    for name, probes in {"plain": plain, "rest": rest}.items():
        write_table(probes, run.probe_file(name))
    for model, every in {"org/one": 2, f"two {NASTY}": 3}.items():
        said = [answer if n % every else "wrong" for n, answer in enumerate(judged["answer"])]
        reply = judged.select("id", answer=pl.Series(said, dtype=pl.String))
        write_table(tidy(reply, plain, model), run.answer_file(model, "plain"))
        right = pl.Series("accuracy", [float(n % every > 0) for n in range(judged.height)])
        save_result(run.result_folder(model, "accuracy"), model, rows.with_columns(right), {})
    return run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_run(tmp_path_factory.mktemp("viewing"))


@pytest.fixture
def fresh(tmp_path: Path) -> Store:
    """Lay out a run that a test may change."""
    return make_run(tmp_path)


@pytest.fixture
def guard() -> Guard:
    return Guard(TOKEN, ["127.0.0.1"], 8000)


@pytest.fixture
def client(run: Store, guard: Guard) -> Iterator[TestClient]:
    """Open the explorer as somebody who has the token."""
    with TestClient(
        build_explorer(run, guard), base_url="http://127.0.0.1:8000", cookies={guard.cookie: TOKEN}
    ) as opened:
        yield opened


@pytest.fixture
def nasty() -> str:
    return NASTY
