"""A model that wants a GPU gets one of its own in each process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "scripts" / "ask_on_gpus.py"


def test_each_gpu_has_one_process_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    alone = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}  # loopback only
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | alone,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))

    asked = {(row["process"], row["devices"]) for row in found["Wants"]}
    assert {devices for _, devices in asked} == {"0", "1"}
    assert len(asked) == 2, "one process for each GPU, and one GPU for each process"
    assert {row["n"] for row in found["Wants"]} == set(range(12))
    assert not {row["process"] for row in found["Modest"]} & {process for process, _ in asked}
