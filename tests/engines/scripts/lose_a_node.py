"""Start three Ray nodes, kill one half-way through a prediction and one half-way through mining, and compare.

Writes one JSON object to found.json in the given folder, since Ray prints warnings of its own where a node is lost. A
process of its own, since one process can be connected to one cluster only.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray  # noqa: TID253 - a script about nothing else
from ray.cluster_utils import Cluster  # noqa: TID253 - as above

from eyechart.audits import make_audit
from eyechart.data.images import Images
from eyechart.data.store import Store
from eyechart.engines.ray import Ray
from eyechart.formats import read
from eyechart.mining import MiningSettings, Transactions, mine
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

PATIENCE_S = 240  # for processes to start everywhere, and for the loss of a node to be noticed
SMALL = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


class Slow:
    """Take a while for each batch, so that a node can die meanwhile, and say where it was answered."""

    name = "slow"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        time.sleep(0.3)
        node = ray.get_runtime_context().get_node_id()
        letters = pl.col("question").str.len_chars().cast(pl.String)
        return probes.select("id", letters.alias("answer"), pl.lit(node).alias("raw"))


class Deaths(logging.Handler):
    """Count the processes that the engine has seen die."""

    n = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.n += "died" in record.getMessage()


def where(batch: pl.DataFrame) -> pl.DataFrame:
    """Say where a batch is."""
    time.sleep(0.5)
    return batch.with_columns(node=pl.lit(ray.get_runtime_context().get_node_id()))


def wait_for_all(engine: Ray) -> int:
    """Let the processes of all nodes start."""
    batches = [pl.DataFrame({"n": [n]}) for n in range(9)]
    deadline = time.monotonic() + PATIENCE_S
    while (n := pl.concat(engine.map(where, batches))["node"].n_unique()) < 3 and time.monotonic() < deadline:
        pass
    return n


def once_at(share: float, act: Callable[[], None]) -> Callable[[float], None]:
    """Act when this share is reached, once."""
    acted = False

    def reach(now: float) -> None:
        nonlocal acted
        if now >= share and not acted:
            acted = True
            act()

    return reach


def predict(folder: Path, cluster: Cluster, node: Any, engine: Ray) -> dict[str, object]:  # noqa: ANN401 - Ray's
    """Ask with and without the loss of a node."""
    reach = once_at(1, lambda: cluster.remove_node(node, allow_graceful=False))

    @contextmanager
    def losing(_: str, __: int) -> Iterator[Callable[[int], None]]:
        def advance(_: int) -> None:
            logs = [log.read_text(encoding="utf-8") for log in folder.rglob("*.jsonl")]
            reach(float(any(node.node_id in log for log in logs)))  # it has answered something

        yield advance

    data = read("world", seed=3, images=60)
    answers = {}
    for name, run in {
        "here": Run(Store(folder / "here"), asking=Asking(batch=6)),
        "lost": Run(Store(folder / "lost"), engine, losing, Asking(batch=6)),
    }.items():
        run.start(data).study([make_audit("accuracy")])
        run.probe()
        run.predict(Slow() if name == "lost" else Quick())
        answers[name] = run.store.answers("slow").answers
    nodes = answers["lost"]["raw"].n_unique()
    same = answers["lost"].drop("raw").equals(answers["here"].drop("raw"))
    return {"probes": answers["lost"].height, "nodes": nodes, "same answers": same}


class Quick(Slow):
    """Answer the same at once, in this process."""

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        letters = pl.col("question").str.len_chars().cast(pl.String)
        return probes.select("id", letters.alias("answer"))


def mine_rules(cluster: Cluster, node: Any, engine: Ray) -> dict[str, object]:  # noqa: ANN401 - Ray's
    """Mine with and without the loss of a node."""
    draw = np.random.default_rng(1)
    rows = [np.unique(draw.geometric(0.02, 12) % 300).tolist() for _ in range(6000)]
    data = Transactions.from_rows(rows, [row[0] % 7 for row in rows], 300, 7)
    settings = MiningSettings(min_support=4)
    reach = once_at(0.2, lambda: cluster.remove_node(node, allow_graceful=False))
    there, here = mine(data, settings, progress=reach, engine=engine), mine(data, settings)
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(there, here, strict=True))
    return {"rules": there.n, "same rules": same}


def main(folder: Path) -> None:
    """Lose two nodes of three, one after the other."""
    cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
    nodes = [cluster.add_node(**SMALL) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    engine = Ray()
    before = len([node for node in ray.nodes() if node["Alive"]])
    deaths = Deaths()
    logging.getLogger("eyechart.engines").addHandler(deaths)
    logging.getLogger("eyechart.engines").setLevel(logging.INFO)
    wait_for_all(engine)
    found = predict(folder, cluster, nodes[0], engine)
    found["deaths while asking"], deaths.n = deaths.n, 0
    found |= mine_rules(cluster, nodes[1], engine)
    found["deaths while mining"] = deaths.n
    deadline = time.monotonic() + PATIENCE_S
    while (left := len([node for node in ray.nodes() if node["Alive"]])) > 1 and time.monotonic() < deadline:
        time.sleep(0.5)
    found |= {"nodes before": before, "nodes after": left}
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
    engine.close()
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
