"""Take a dataset three times as large as the memory limit through read, study and report.

    python benchmarks/out_of_core.py [--limit-mb 2400] [--times 3] [--rows 600000] [--source parquet]

The data are the made-up questions of `splits_data` with what makes real data large beside them: a dialogue, a caption
and a rationale, the answers of ten people and four options. Every arrow is a process of its own through the command
line, and is ended when more than the limit is resident, or, with --strict, allocated; shown is the peak of what was
resident, as the kernel counts it.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from children import EYECHART, Limits, Spent, run
from splits_data import make_dataset

SHARD = 20_000  # rows of a file
LETTERS = b"etaoinshrdlu    "
LONG = {"history": 0.6, "rationale": 0.3, "caption": 0.1}  # shares of the long texts
WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "parquet": lambda table, path: table.write_parquet(path),
    "jsonl": lambda table, path: table.write_ndjson(path),
    "csv": lambda table, path: _flat(table).write_csv(path),
}


def make_source(folder: Path, rows: int, megabytes: float, kind: str) -> float:
    """Write files of rows that together take this much as a table in memory, and tell how much they do take."""
    folder.mkdir(parents=True)
    size = 0.0
    for i, shard in enumerate(shards(rows, megabytes * 1e6 / rows)):
        size += shard.estimated_size()
        WRITERS[kind](shard, folder / f"part-{i:05}.{kind}")
    return size / 1e6


def shards(rows: int, a_row: float) -> Iterator[pl.DataFrame]:
    """Make the rows, shard by shard; `a_row` are the bytes of each."""
    data = make_dataset(rows)
    objects = data.images.table.with_columns(pl.col("objects").list.eval(pl.element().struct.field("label")))
    bare = data.examples.join(objects, on="image", how="left", validate="m:1", maintain_order="left")
    rng = np.random.default_rng(1)
    names = bare["answer"].unique().sort()
    for i in range(0, rows, SHARD):
        shard = bare.slice(i, SHARD)
        lists = shard.with_columns(people(shard, names, rng), options(shard, names, rng))
        room = max(0.0, a_row - lists.estimated_size() / lists.height)
        yield lists.with_columns(texts(lists.height, room * share, rng).alias(name) for name, share in LONG.items())


def people(shard: pl.DataFrame, names: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Let ten people answer, seven of them as the reference."""
    drawn = names.gather(rng.integers(0, len(names), shard.height * 3)).reshape((shard.height, 3)).arr.to_list()
    same = pl.concat_list([pl.col("answer")] * 7)
    return shard.with_columns(drawn.alias("drawn")).select(answers=pl.concat_list(same, "drawn")).to_series()


def options(shard: pl.DataFrame, names: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Offer the answer and three others."""
    drawn = names.gather(rng.integers(0, len(names), shard.height * 3)).reshape((shard.height, 3)).arr.to_list()
    return shard.with_columns(drawn.alias("drawn")).select(choices=pl.concat_list("answer", "drawn")).to_series()


def texts(n: int, size: float, rng: np.random.Generator) -> pl.Series:
    """Make texts of this many bytes out of random letters, of which half the bytes are left when they are packed."""
    each = int(size)
    letters = np.frombuffer(LETTERS, np.uint8)[rng.integers(0, len(LETTERS), n * each, np.uint8)].tobytes().decode()
    return pl.Series([letters[i : i + each] for i in range(0, n * each, max(each, 1))][:n], dtype=pl.String)


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Write lists as JSON text, as people do in a CSV."""
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    inner = (
        (pl.lit("[") + pl.col(name).list.eval('"' + pl.element() + '"').list.join(",") + "]").alias(name)
        for name in nested
    )
    return table.with_columns(*inner)


def _made_elsewhere(source: Path, rows: int, megabytes: float, kind: str) -> float:
    """Make the files in another process: a child that is measured begins as a copy of this one, which must be small."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(make_source, source, rows, megabytes, kind).result()


def arrows(folder: Path, source: Path) -> Iterator[tuple[str, list[str]]]:
    """List the commands, each on what the one before it wrote."""
    data, out = str(folder / "data"), str(folder / "run")
    yield "read", ["read", "table", str(source), "-o", data, "--json"]
    yield "study -a splits", ["study", data, "-a", "splits", "-o", out, "--json"]
    yield "study -a rules", ["study", data, "-a", "rules", "-o", out, "--json"]
    yield "report", ["report", out]


def measure(folder: Path, source: Path, limits: Limits, only: Sequence[str]) -> None:
    """Print a row for each arrow whose name holds one of the words, or for all."""
    print("| arrow | wall s | CPU s | peak MB | |\n|---|---|---|---|---|")
    for name, words in arrows(folder, source):
        if only and not any(word in name for word in only):
            continue
        spent = run([*EYECHART, *words], limits)
        print(f"| `{name}` | {spent.wall:.0f} | {spent.cpu:.0f} | {spent.mb:,.0f} | {_fate(spent)} |", flush=True)
        if spent.code:
            raise SystemExit(f"{name} did not manage: {spent.last}")


def _fate(spent: Spent) -> str:
    return "" if spent.code == 0 else f"ended with {spent.code}: {spent.last[:80]}"


def main() -> None:
    """Make the data and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit-mb", type=float, default=2400, help="of memory for each arrow; 0: no limit")
    parser.add_argument("--times", type=float, default=3, help="how many times the limit the table takes in memory")
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--source", choices=WRITERS, default="parquet", help="the format of the files to read")
    parser.add_argument("--place", type=Path, help="where the data are made (and kept); default: a temporary folder")
    parser.add_argument("--strict", action="store_true", help="bound what is allocated too (RLIMIT_DATA)")
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of the arrows to run, with --place")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.place or Path(temporary)
        source = folder / f"source-{given.source}"
        size = (given.limit_mb or 2400) * given.times
        held = size if source.exists() else _made_elsewhere(source, given.rows, size, given.source)
        disk = sum(file.stat().st_size for file in source.iterdir()) / 1e6
        print(f"{given.rows:,} examples: {held:,.0f} MB as a table in memory, {disk:,.0f} MB as {given.source};")
        print(f"limit {given.limit_mb:,.0f} MB.\n" if given.limit_mb else "no limit.\n", flush=True)
        limit = given.limit_mb or None
        measure(folder, source, Limits(limit, limit if given.strict else None), given.only)


if __name__ == "__main__":
    main()
