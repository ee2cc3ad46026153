"""The table of settings of an audit, or of the planted world, has every setting, and none that is gone."""

import re
from pathlib import Path

import pytest

from eyechart.audits import AUDITS, setting_names
from eyechart.formats import reader_settings

DOCS = Path(__file__).parent.parent / "docs"


def documented(name: str) -> set[str]:
    pages = [DOCS / "audits" / f"{name}-reference.md", DOCS / "audits" / f"{name}.md", DOCS / f"{name}.md"]
    text = next(page for page in pages if page.is_file()).read_text(encoding="utf-8")
    table = text.split("| setting | default | meaning |")[1].split("\n\n")[0]
    return {found for line in table.splitlines() for found in re.findall(r"`(\w+)`", f"{line}|".split("|")[1])}


@pytest.mark.parametrize("name", AUDITS.names())
def test_every_setting_has_its_row(name: str) -> None:
    assert documented(name) == set(setting_names(AUDITS.get(name)))


def test_every_setting_of_the_world_has_its_row() -> None:
    assert documented("world") == set(reader_settings("world"))
