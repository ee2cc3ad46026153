"""Time epochs of the study while several processes train the same pair side by side; torch and NumPy alone."""

import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from statistics import mean

import torch.multiprocessing as mp  # noqa: TID253 - this part runs where torch is

from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.loop import Epoch, Training
from zoo_crew import Shift, settle, warn_of_turns
from zoo_rows import EPOCHS, Row
from zoo_train import Bundle, make_pair

TIMED = 2  # epochs, after one in which steps are compiled and recorded
Timed = tuple[str, bool, float | str]  # pair, whether it was compiled, seconds of an epoch or why there are none


def time_pairs(pairs: list[str], shift: Shift) -> None:
    """Print what an epoch of each pair takes, as it is and, where that is wanted, compiled."""
    warn_of_turns(shift)
    context = mp.get_context("spawn")
    together, results = context.Barrier(shift.workers), context.Queue()
    crew = [
        context.Process(target=work, args=(pairs, shift, seed, together, results), daemon=True)
        for seed in range(shift.workers)
    ]
    for each in crew:
        each.start()
    print("| pair | steps | processes | seconds an epoch | of the whole device, a training |\n|---|---|---|---|---|")
    for _ in range(len(pairs) * (1 + shift.compiled)):
        found = [results.get() for _ in crew]
        pair, compiled, _ = found[0]
        seconds = [each for *_, each in found if isinstance(each, float)]
        failed = [each for *_, each in found if isinstance(each, str)]
        epoch = mean(seconds) if seconds and not failed else None
        figures = f"{epoch:.2f} | {epoch * EPOCHS / shift.workers:.1f}" if epoch else f"- | {failed[0]}"
        steps = "compiled" if compiled else "as they are"
        print(f"| `{pair}` | {steps} | {shift.workers} | {figures} |", flush=True)


def work(pairs: list[str], shift: Shift, seed: int, together: Barrier, results: "Queue[Timed]") -> None:
    """Train each pair when all others do, with a seed of its own."""
    settle()
    bundle = Bundle(shift.file)
    for pair in pairs:
        model, _, method = pair.partition(" ")
        for compiled in (False, True) if shift.compiled else (False,):
            found = time_row(Row(model, method, seed), bundle, shift, together, compiled=compiled)
            results.put((pair, compiled, found))
            together.wait()


def time_row(row: Row, bundle: Bundle, shift: Shift, together: Barrier, *, compiled: bool) -> float | str:
    """Give the seconds of an epoch, with the score on validation, once every process has had one; or why not."""
    began: list[float] = []

    def wait_for_others(epoch: Epoch, _: Training) -> None:
        if epoch.number == 0:
            together.wait()
            began.append(time.perf_counter())

    course = row.course(shift.device, 1 + (shift.epochs or TIMED))
    try:
        training = Training(*make_pair(row, bundle.arrays), bundle.arrays, course, Compiler() if compiled else None)
        training.run(wait_for_others)
    except Exception as error:  # noqa: BLE001 - the other pairs are still to be timed
        if not began:
            together.wait()  # as the others do
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return (time.perf_counter() - began[0]) / (course.epochs - 1)
