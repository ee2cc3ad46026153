"""Train rows of the study side by side on one device, until a time is up; torch and NumPy alone."""

import json
import os
import queue
import time
from collections import defaultdict
from multiprocessing.queues import Queue
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch  # noqa: TID253 - this part runs where torch is
import torch.multiprocessing as mp  # noqa: TID253 - as above

from eyechart.zoo.arrays import Array
from eyechart.zoo.train.compiling import Compiler
from zoo_rows import Row
from zoo_train import Bundle, Part, train_row

PACKED_EVERY = 20  # seconds
ENDING = 15  # seconds before the time is up in which processes end
Done = tuple[Row, dict[str, Array] | None, str | None]  # what was found, or why not


class Shift(NamedTuple):
    """What several processes work on: the bundle, where results go, for how long, how many, how."""

    file: Path
    out: Path
    minutes: float
    workers: int
    epochs: int | None
    device: str
    compiled: bool

    def part_of(self, row: Row) -> Path:
        """Say where a row is kept that is not finished."""
        return self.file.parent / "part" / f"{row.name}.pt"


def settle() -> None:
    """Let a process be one of many on a device."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")  # TensorFloat-32 where there is a GPU


def warn_of_turns(shift: Shift) -> None:
    """Say when processes will take turns on a GPU because nothing lets them share it: rows take thrice as long."""
    pipes = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))  # noqa: S108 - the service's own choice
    shared = shift.workers > 1 and shift.device != "cpu" and torch.cuda.is_available()
    if shared and not (pipes / "control").exists():
        print(
            f"the GPU's multi-process service does not run, so that {shift.workers} processes take turns: "
            "start it by `nvidia-cuda-mps-control -d`",
            flush=True,
        )


def work(shift: Shift, tasks: "Queue[Row]", done: "Queue[Done]", until: float) -> None:
    """Train rows until none is left or the time is up; a row that fails says why, and the next one goes on."""
    settle()
    bundle = Bundle(shift.file)
    compilers: dict[str, Compiler] = defaultdict(Compiler)
    while time.time() < until:
        try:
            row = tasks.get(timeout=1)
        except queue.Empty:
            return
        course, part = row.course(shift.device, shift.epochs), Part(shift.part_of(row), until)
        compiler = compilers[row.pair] if shift.compiled else None  # whole steps take minutes: one for all seeds
        try:
            found = train_row(row, bundle, course, part, compiler)
            done.put((row, found, None))
        except Exception as error:  # noqa: BLE001 - one row must not end the others
            done.put((row, None, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"))
            if isinstance(error, torch.AcceleratorError):  # every other row would fail as well, in a moment
                return


def in_turn(rows: list[Row], shift: Shift) -> list[Row]:
    """Put rows that were begun first: what is kept of them may not outlast the machine.

    Compiled ones follow seed by seed, so that later seeds find the kernels of the first in torch's own cache.
    """
    return sorted(rows, key=lambda row: (not shift.part_of(row).is_file(), row.seed if shift.compiled else 0))


def train_all(rows: list[Row], shift: Shift) -> None:
    """Train rows by several processes until the time is up; what is finished lies in `out` at any moment."""
    warn_of_turns(shift)
    began, packed_at = time.time(), time.time()
    context = mp.get_context("spawn")
    tasks, done = context.Queue(), context.Queue()
    for row in in_turn(rows, shift):
        tasks.put(row)
    work_on = (shift, tasks, done, began + 60 * shift.minutes - ENDING)
    crew = [context.Process(target=work, args=work_on, daemon=True) for _ in range(shift.workers)]
    for each in crew:
        each.start()
    found: dict[str, Array] = {}
    count = 0
    while count < len(rows) and time.time() - began < 60 * shift.minutes:
        try:
            row, arrays, failed = done.get(timeout=2)
        except queue.Empty:
            if not any(each.is_alive() for each in crew):
                break
            continue
        if arrays is None:
            print(f"{row.name}: NOT DONE, {failed}", flush=True)
            continue
        count += 1
        found |= {f"{row.name}/{name}": each for name, each in arrays.items()}
        log = json.loads(arrays["log"].tobytes())
        print(f"{row.name}: {log['epochs'][-1][2]} in {log['seconds']:.0f} s", flush=True)
        if time.time() - packed_at > PACKED_EVERY:
            pack(found, shift.out)
            packed_at = time.time()
    pack(found, shift.out)
    print(f"{count} of {len(rows)} rows in {(time.time() - began) / 60:.1f} minutes", flush=True)
    for each in crew:
        each.terminate()


def pack(found: dict[str, Array], out: Path) -> None:
    """Write all answers into one file, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}")
    with draft.open("wb") as file:
        np.savez_compressed(file, **found)  # type: ignore[arg-type]  # none of them is called allow_pickle
    draft.replace(out)
