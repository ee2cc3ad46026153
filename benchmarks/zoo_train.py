"""Train rows of the study side by side on one device, until a time is up; torch and NumPy alone."""

import json
import queue
import time
from dataclasses import replace
from multiprocessing.queues import Queue
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch  # noqa: TID253 - this part runs where torch is
import torch.multiprocessing as mp  # noqa: TID253 - as above

from eyechart.zoo.arrays import Array, Questions, Regions, TrainingArrays, load_questions, read_arrays
from eyechart.zoo.methods import make_method
from eyechart.zoo.models import make_network
from eyechart.zoo.network import Sizes
from eyechart.zoo.scenes import NOISE, make_regions
from eyechart.zoo.training import Epoch, Training, answer_numbers, seed_all
from zoo_rows import EMBEDDING, HIDDEN, WIDE, Row

ASK = "ask "
OFTEN = ("shifted", "balanced")  # asked of the last epoch and of the best
PACKED_EVERY = 20  # seconds
Done = tuple[Row, dict[str, Array] | None, str | None]  # what was found, or why not


class Bundle:
    """What `prepare` packed: arrays to train on, and what is asked afterwards."""

    def __init__(self, file: Path) -> None:
        arrays = read_arrays(file)
        splits = load_questions(arrays)
        keys, boxes = arrays["keys"], arrays["boxes"].astype(np.float32)
        regions = make_regions(arrays["codes"].astype(np.int64), keys, boxes, arrays["parts"].tolist(), NOISE)
        self.asked = {name.removeprefix(ASK): each for name, each in splits.items() if name.startswith(ASK)}
        learned = {name: each for name, each in splits.items() if not name.startswith(ASK)}
        self.arrays = self._with_room(regions, learned, arrays["sizes"].tolist())

    def _with_room(self, regions: Regions, splits: dict[str, Questions], sizes: list[int]) -> TrainingArrays:
        """Widen hints and sights to the image with most regions of all worlds."""
        for part in (splits, self.asked):
            for name, each in part.items():
                hints, seen = (_widened(found, regions.most) for found in (each.hints, each.seen))
                part[name] = replace(each, hints=hints, seen=seen)
        return TrainingArrays(regions, splits, *sizes)


def _widened(found: Array | None, width: int) -> Array | None:
    return None if found is None else np.pad(found, ((0, 0), (0, width - found.shape[1])))


def train_row(row: Row, bundle: Bundle, device: str, epochs: int | None) -> dict[str, Array]:
    """Train a row and give the answers of its last epoch to everything asked, and those of its best one to some."""
    arrays = bundle.arrays
    seed_all(row.seed)
    hidden, features = WIDE.get(row.model, HIDDEN), arrays.regions.values.shape[1]
    examples = len(arrays.splits["train"])
    sizes = Sizes(arrays.words, arrays.answers, features, hidden, EMBEDDING, arrays.types, examples)
    network = make_network(row.model, sizes)
    began = time.perf_counter()
    training = Training(network, make_method(row.method, network), arrays, row.course(device, epochs))
    best: dict[str, dict[str, torch.Tensor]] = {}

    def keep(epoch: Epoch, now: Training) -> None:
        if epoch.best:
            best.update(model=_copied(now.model), debias=_copied(now.debias))

    training.run(keep)
    found = {name: answer_numbers(training, name) for name in OFTEN}
    found |= {name: _ask(training, bundle, name) for name in bundle.asked}
    training.model.load_state_dict(best["model"])
    training.debias.load_state_dict(best["debias"])
    found |= {f"best {name}": answer_numbers(training, name) for name in OFTEN}
    found["best plain"] = _ask(training, bundle, "plain")
    log = [(each.number, each.loss, dict(each.accuracy), each.seconds, each.best) for each in training.epochs]
    told = {"epochs": log, "seconds": time.perf_counter() - began}
    packed = {name: each.astype(np.uint8) for name, each in found.items()}
    return {**packed, "log": np.frombuffer(json.dumps(told).encode(), np.uint8)}


def _copied(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def _ask(training: Training, bundle: Bundle, condition: str) -> Array:
    from eyechart.zoo.shelf import Deck

    deck = Deck(bundle.asked[condition], training.shelf, training.arrays.answers, options=training.options)
    return training.answer(deck).cpu().numpy()


def work(file: Path, tasks: "Queue[Row]", done: "Queue[Done]", device: str, epochs: int | None) -> None:
    """Take rows until none is left; a row that fails says why, and the next one goes on unless the device is gone."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")  # TensorFloat-32 where there is a GPU
    bundle = Bundle(file)
    while True:
        try:
            row = tasks.get(timeout=1)
        except queue.Empty:
            return
        try:
            done.put((row, train_row(row, bundle, device, epochs), None))
        except Exception as error:  # noqa: BLE001 - one row must not end the others
            done.put((row, None, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))
            if isinstance(error, torch.AcceleratorError):  # every other row would fail as well, in a moment
                return


class Shift(NamedTuple):
    """What several processes work on: the bundle, where results go, for how long, how many, how."""

    file: Path
    out: Path
    minutes: float
    workers: int
    epochs: int | None
    device: str


def train_all(rows: list[Row], shift: Shift) -> None:
    """Train rows by several processes until the time is up; what is finished lies in `out` at any moment."""
    began, packed_at = time.monotonic(), time.monotonic()
    context = mp.get_context("spawn")
    tasks, done = context.Queue(), context.Queue()
    for row in rows:
        tasks.put(row)
    work_on = (shift.file, tasks, done, shift.device, shift.epochs)
    crew = [context.Process(target=work, args=work_on, daemon=True) for _ in range(shift.workers)]
    for each in crew:
        each.start()
    found: dict[str, Array] = {}
    left = len(rows)
    while left and time.monotonic() - began < 60 * shift.minutes and any(each.is_alive() for each in crew):
        try:
            row, arrays, failed = done.get(timeout=2)
        except queue.Empty:
            continue
        left -= 1
        if arrays is None:
            print(f"{row.name}: FAILED {failed}", flush=True)
            continue
        found |= {f"{row.name}/{name}": each for name, each in arrays.items()}
        told = json.loads(arrays["log"].tobytes())
        print(f"{row.name}: {told['epochs'][-1][2]} in {told['seconds']:.0f} s", flush=True)
        if time.monotonic() - packed_at > PACKED_EVERY:
            pack(found, shift.out)
            packed_at = time.monotonic()
    pack(found, shift.out)
    print(f"{len(rows) - left} of {len(rows)} rows in {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    for each in crew:
        each.terminate()


def pack(found: dict[str, Array], out: Path) -> None:
    """Write all answers into one file, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}")
    with draft.open("wb") as file:
        np.savez_compressed(file, **found)  # type: ignore[arg-type]  # none of them is called allow_pickle
    draft.replace(out)
