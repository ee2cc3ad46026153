"""What people said as the answers of a model, so that it is judged like any other."""

from collections.abc import Sequence
from dataclasses import asdict

import polars as pl

from eyechart.errors import FileFormatError
from eyechart.files import write_record, write_table
from eyechart.store import Asked, Store
from eyechart.tables import ANSWERS, empty
from eyechart.viewing.asking.log import Log, Said

HUMAN = "human"


def open_log(run: Store) -> Log:
    """Open the log of a run; answers of another `human` are not overwritten."""
    file = run.folder / "people.jsonl"
    if not file.exists() and any(run.answer_folder(HUMAN).glob("*")):
        advice = "ask in another run, or move those answers away"
        raise FileFormatError(f"no answers of {HUMAN!r} from elsewhere in {run.folder}", "some", advice)
    return Log(file)


def answer_table(said: Sequence[Said]) -> pl.DataFrame:
    """Lay out what was said; those who answered the same probe are the draws, in the order they came."""
    if not said:
        return empty(ANSWERS)
    told = pl.DataFrame([asdict(each) for each in said])
    draw = pl.col("number").rank("ordinal").over("id", "condition").cast(pl.Int64) - 1
    rows = told.select("id", "condition", draw.alias("draw"), "probe", "answer", raw="answer", status=pl.lit("ok"))
    return rows.sort(ANSWERS.key)


def save_answers(run: Store, said: Sequence[Said], condition: str) -> None:
    """Write the answers under one condition where those of a model lie."""
    table = answer_table([each for each in said if each.condition == condition])
    write_table(table, run.answer_file(HUMAN, condition))


def save_origin(run: Store, items: int, seed: int) -> None:
    """Write down what was asked of people."""
    write_record(Asked("asked", {"kind": "people", "items": items, "seed": seed}), run.asked_file(HUMAN))
