"""A run by an older version continues with the same meaning: its settings are translated, or it is rejected."""

from typing import Any

import pytest

from eyechart.audits import AUDITS, gone_settings, make_audit, remake_audit
from eyechart.base.errors import SettingError

ALL = ("orig", "iou", "qou", "iou+qou", "all")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("rules", {"compat": "release"}, {"published": "vqa-ce"}),
        ("rules", {"compat": "paper", "superset": "paper"}, {"superset": "two-sided"}),
        ("splits", {"compat": "release", "order": "mi", "prefix": "remove"}, {"published": "vqa-vs"}),
        ("grounding", {"compat": "release", "split": "val"}, {"published": "fpvg"}),
        ("perception", {"form": "majority", "draws": 3}, {"published": "tables-6-7", "draws": 3}),
        ("perception", {"form": "complement"}, {}),
        ("decoys", {"compat": "release", "paper": False, "rotations": 2}, {"published": "qavg", "rotations": 2}),
        (
            "decoys",
            {"compat": "clean", "paper": True, "ask": ["orig"]},
            {"ask": ALL, "hide": ("image", "question", "image-question"), "rotations": 3},
        ),
        ("decoys", {"paper": True, "sets": ["qou"]}, {"sets": ("qou",), "ask": ("qou",)}),
    ],
)
def test_settings_of_older_plans_are_translated(name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    if old.get("paper"):
        new = {"hide": ("image", "question", "image-question"), "rotations": 3} | new

    assert remake_audit(name, old) == make_audit(name, new)


@pytest.mark.parametrize(("name", "value"), [("prefix", "keep"), ("ties", "text"), ("order", "text")])
def test_a_plan_with_a_choice_that_is_no_longer_offered_is_rejected(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"one with {name}='{value}'; study the data again"):
        remake_audit("splits", {name: value})


@pytest.mark.parametrize("name", AUDITS.names())
def test_a_removed_setting_is_an_error_with_advice(name: str) -> None:
    for setting, instead in gone_settings(AUDITS.get(name)).items():
        with pytest.raises(SettingError) as caught:
            make_audit(name, {setting: "1"})
        assert (caught.value.found, caught.value.advice) == (f"{setting!r}, which was removed", instead)
