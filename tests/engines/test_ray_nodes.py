"""A node that is lost in the middle changes no answer and no rule."""

from collections.abc import Callable
from typing import Any


def test_a_lost_node_changes_nothing(found_by: Callable[[str], dict[str, Any]]) -> None:
    """Two of three raylets are killed, one while a model is asked, one while rules are mined."""
    found = found_by("lose_a_node.py")

    assert found["same answers"]
    assert found["same rules"]
    assert (found["nodes before"], found["nodes after"]) == (3, 1)
    assert found["nodes"] == 3, "every node is to have answered something"
    assert found["deaths while asking"] >= 1
    assert found["deaths while mining"] >= 1
    assert found["probes"] > 60
    assert found["rules"] > 1000
