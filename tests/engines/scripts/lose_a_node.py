"""Start three Ray nodes, kill one in the middle of a prediction and one in the middle of mining, and compare.

A node that is to die stays at a batch, says so in a file, and is killed then: it surely dies at work, however fast or
slow the machine is.

Writes one JSON object to found.json in the given folder, since Ray prints warnings of its own where a node is lost. A
process of its own, since one process can be connected to one cluster only.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
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
NODES = 3
SMALL = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


@dataclass
class Doom:
    """A node that is to die while it works, and the file in which it says that it does."""

    node: str
    file: Path

    def here(self) -> bool:
        """Return whether this process is on the node."""
        return str(ray.get_runtime_context().get_node_id()) == self.node

    def meet(self) -> None:
        """Say that the node is at work, and wait for its end."""
        self.file.touch()
        time.sleep(PATIENCE_S)

    def wait(self) -> None:
        """Wait until the node is at work."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)


@contextmanager
def losing(cluster: Cluster, node: Any, file: Path) -> Iterator[Doom]:  # noqa: ANN401 - Ray's
    """Kill the node as soon as it says that it is at work."""
    doom = Doom(node.node_id, file)

    def kill() -> None:
        doom.wait()
        cluster.remove_node(node, allow_graceful=False)

    killer = Thread(target=kill)
    killer.start()
    yield doom
    killer.join()


class Lengths:
    """Answer with the length of the question."""

    name = "lengths"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        letters = pl.col("question").str.len_chars().cast(pl.String)
        return probes.select("id", letters.alias("answer"))


class DoomedLengths(Lengths):
    """Answer the same on every node, and say on which; one of them dies once every node has answered."""

    def __init__(self, doom: Doom, answered: Path) -> None:
        self.doom = doom
        self.answered = answered  # a folder with a file for each node

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        node = str(ray.get_runtime_context().get_node_id())
        if len(list(self.answered.iterdir())) == NODES:  # the first batches go to one node alone
            if self.doom.here():
                self.doom.meet()
            self.doom.wait()
        (self.answered / node).touch()
        return super().answer(probes, images).with_columns(raw=pl.lit(node))


@dataclass
class DoomedStep:
    """A step that does not survive its first batch on one of the nodes."""

    step: Callable[[pl.DataFrame], pl.DataFrame]
    doom: Doom

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        if self.doom.here():
            self.doom.meet()
        return self.step(batch)


@dataclass
class DoomedEngine:
    """An engine whose steps lose a node."""

    engine: Ray
    doom: Doom

    def map(self, step: Callable[[pl.DataFrame], pl.DataFrame], batches: Iterable[pl.DataFrame]) -> Any:  # noqa: ANN401
        """Run the batches."""
        return self.engine.map(DoomedStep(step, self.doom), batches)

    def close(self) -> None:
        """Leave the engine open."""


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
    while (n := pl.concat(engine.map(where, batches))["node"].n_unique()) < NODES and time.monotonic() < deadline:
        pass
    return n


def predict(folder: Path, cluster: Cluster, node: Any, engine: Ray) -> dict[str, object]:  # noqa: ANN401 - Ray's
    """Ask with and without the loss of a node."""
    data, answered = read("world", seed=3, images=60), folder / "answered"
    answered.mkdir()
    with losing(cluster, node, folder / "asking") as doom:
        answers = {}
        for name, run, model in (
            ("here", Run(Store(folder / "here"), asking=Asking(batch=6)), Lengths()),
            ("lost", Run(Store(folder / "lost"), engine, asking=Asking(batch=6)), DoomedLengths(doom, answered)),
        ):
            run.start(data).study([make_audit("accuracy")])
            run.probe()
            run.predict(model)
            answers[name] = run.store.answers("lengths").answers
    nodes = answers["lost"]["raw"].n_unique()
    same = answers["lost"].drop("raw").equals(answers["here"].drop("raw"))
    return {"probes": answers["lost"].height, "nodes": nodes, "same answers": same}


def mine_rules(folder: Path, cluster: Cluster, node: Any, engine: Ray) -> dict[str, object]:  # noqa: ANN401 - Ray's
    """Mine with and without the loss of a node."""
    draw = np.random.default_rng(1)
    rows = [np.unique(draw.geometric(0.02, 12) % 300).tolist() for _ in range(6000)]
    data = Transactions.from_rows(rows, [row[0] % 7 for row in rows], 300, 7)
    settings = MiningSettings(min_support=4)
    with losing(cluster, node, folder / "mining") as doom:
        there = mine(data, settings, engine=DoomedEngine(engine, doom))
    here = mine(data, settings)
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(there, here, strict=True))
    return {"rules": there.n, "same rules": same}


def main(folder: Path) -> None:
    """Lose two nodes of three, one after the other."""
    cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
    nodes = [cluster.add_node(**SMALL) for _ in range(NODES - 1)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    engine = Ray()
    before = len([node for node in ray.nodes() if node["Alive"]])
    deaths = Deaths()
    logging.getLogger("eyechart.engines").addHandler(deaths)
    logging.getLogger("eyechart.engines").setLevel(logging.INFO)
    wait_for_all(engine)
    found = predict(folder, cluster, nodes[0], engine)
    found["deaths while asking"], deaths.n = deaths.n, 0
    found |= mine_rules(folder, cluster, nodes[1], engine)
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
