"""A model that wants a GPU gets one of its own in each process."""

from collections.abc import Callable
from typing import Any


def test_each_gpu_has_one_process_of_its_own(found_by: Callable[[str], dict[str, Any]]) -> None:
    found = found_by("ask_on_gpus.py")

    asked = {(row["process"], row["devices"]) for row in found["Wants"]}
    assert {devices for _, devices in asked} == {"0", "1"}
    assert len(asked) == 2, "one process for each GPU, and one GPU for each process"
    assert {row["n"] for row in found["Wants"]} == set(range(12))
    assert not {row["process"] for row in found["Modest"]} & {process for process, _ in asked}
