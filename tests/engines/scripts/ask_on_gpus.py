"""Ask a model that wants a GPU on a cluster that says it has two, and write down who answered in found.json.

Nothing is computed on a GPU, so that none must be there; a process of its own, since Ray is told when it is started.
"""

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import ray  # noqa: TID253 - a script about nothing else

from eyechart.engines.ray import Ray

PATIENCE_S = 240  # for processes to start


@dataclass(frozen=True)
class Wants:
    """Say in which process and with which devices a batch is worked on, once so many processes came to a folder."""

    folder: Path
    many: int = 2
    place: str = "gpu"

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Note that this process is there, and wait for the others."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / str(os.getpid())).touch()
        deadline = time.monotonic() + PATIENCE_S
        while len(list(self.folder.iterdir())) < self.many and time.monotonic() < deadline:
            time.sleep(0.05)
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
        return batch.with_columns(process=os.getpid(), devices=pl.lit(seen))

    def lost(self, batch: pl.DataFrame, reason: str) -> pl.DataFrame:
        """Give nothing in the place of a result."""
        raise RuntimeError(reason)


@dataclass(frozen=True)
class Modest(Wants):
    """Be content with any slot."""

    many: int = 1
    place: str = "slot"


def main(folder: Path) -> None:
    """Ask both."""
    ray.init(address="local", num_cpus=1, num_gpus=2, object_store_memory=100 * 2**20, include_dashboard=False)
    engine = Ray()
    batches = [pl.DataFrame({"n": [n]}) for n in range(12)]
    steps = (Wants(folder / "on GPUs"), Modest(folder / "anywhere"))
    found = {type(step).__name__: pl.concat(engine.map(step, batches)).to_dicts() for step in steps}
    engine.close()
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
