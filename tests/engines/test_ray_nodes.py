"""A node that is lost in the middle changes no answer and no rule."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "scripts" / "lose_a_node.py"


def test_a_lost_node_changes_nothing(tmp_path: Path) -> None:
    """Two of three raylets are killed, one while a model is asked, one while rules are mined."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    alone = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}  # loopback only
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
        env=os.environ | alone,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))

    assert found["same answers"]
    assert found["same rules"]
    assert (found["nodes before"], found["nodes after"]) == (3, 1)
    assert found["nodes"] == 3, "every node is to have answered something"
    assert found["deaths while asking"] >= 1
    assert found["deaths while mining"] >= 1
    assert found["probes"] > 60
    assert found["rules"] > 1000
