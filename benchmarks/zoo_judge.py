"""Judge what came back: by the audits on the test part as it is, by accuracy on the shifted and the balanced one."""

import json
from pathlib import Path

import numpy as np
import polars as pl

from eyechart.base.files import write_table
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.runs.run import Run
from eyechart.scoring import score
from eyechart.zoo.arrays import Array, read_arrays
from zoo_prepare import SCORE
from zoo_rows import BY_OPTION


def judge(folder: Path, shards: list[Path]) -> None:
    """Measure every row and write `rows.json` into the folder; rows measured before are kept."""
    file = folder / "rows.json"
    measured: dict[str, dict[str, float]] = json.loads(file.read_text()) if file.is_file() else {}
    worlds = {name: Dataset.load(folder / name) for name in ("iid", "shifted", "balanced")}
    texts = (folder / "answers.txt").read_text(encoding="utf-8").split("\n")
    for shard in shards:
        arrays = read_arrays(shard)
        for row in dict.fromkeys(key.partition("/")[0] for key in arrays):
            if row not in measured:
                answered = {key.partition("/")[2]: each for key, each in arrays.items() if key.startswith(f"{row}/")}
                measured[row] = measure(row, answered, worlds, texts, folder / "run")
                file.write_text(json.dumps(measured, indent=1))
                print(row, {key: round(100 * value, 1) for key, value in measured[row].items()}, flush=True)


def measure(
    row: str, answered: dict[str, Array], worlds: dict[str, Dataset], texts: list[str], run: Path
) -> dict[str, float]:
    """Take the numbers of one row."""
    by_option = row.split(maxsplit=1)[0] in BY_OPTION
    opened = Run(Store(run))
    found: dict[str, float] = {}
    for name in (each for each in ("shifted", "balanced", "best shifted", "best balanced") if each in answered):
        examples = worlds[name.removeprefix("best ")].examples
        found[name] = _accuracy(examples, _texts(answered[name], texts, examples if by_option else None))
    for condition in opened.store.conditions():
        asked = opened.store.probes(condition)
        own = asked.select("id").join(
            worlds["iid"].examples, on="id", how="left", validate="1:1", maintain_order="left"
        )
        options = own if by_option else None
        write_table(
            _answers(asked, _texts(answered[condition], texts, options)), opened.store.answer_file(row, condition)
        )
        if f"best {condition}" in answered:
            found["best iid"] = _accuracy(own, _texts(answered[f"best {condition}"], texts, options))
    results = opened.judge(row)
    return found | _of_audits({name: result.measures for name, result in results.items()})


def _texts(numbers: Array, texts: list[str], options: pl.DataFrame | None) -> pl.Series:
    if options is None:
        return pl.Series(np.array(texts)[numbers])
    numbered = options.select("choices").with_columns(number=pl.Series(numbers.astype(np.int64)))
    return numbered.select(pl.col("choices").list.get(pl.col("number"), null_on_oob=True)).to_series()


def _accuracy(examples: pl.DataFrame, answers: pl.Series) -> float:
    return float(score(examples.with_columns(given=answers), SCORE).mean())  # type: ignore[arg-type]  # a number


def _answers(probes: pl.DataFrame, answers: pl.Series) -> pl.DataFrame:
    return probes.select(
        "id",
        "condition",
        draw=pl.lit(0, pl.Int64),
        probe="probe",
        answer=answers,
        raw=answers,
        status=pl.lit("ok"),
    )


def _of_audits(measures: dict[str, pl.DataFrame]) -> dict[str, float]:
    def value(audit: str, name: str, **keys: str | None) -> float:
        found = measures[audit].filter(pl.col("name") == name)
        for key, wanted in keys.items():
            found = found.filter(pl.col(key).is_null() if wanted is None else pl.col(key) == wanted)
        return float(found["value"][0])

    return {
        "iid": value("perception", "accuracy", by=None),
        "image": value("perception", "perception", condition="image", by=None),
        "question": value("perception", "perception", condition="question", by=None),
        "fpvg": value("grounding", "grounded", by=None),
        "counterexamples": value("rules", "accuracy", group="counterexample"),
    }
