"""Pages, the explorer, formats and the command line know no audit by name: what is its own comes with its class."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.audits import AUDITS
from eyechart.base.registry import import_object
from eyechart.data.furniture import Furniture, Look, furniture_of

SOURCE = Path(__file__).parent.parent / "src" / "eyechart"
ROOMS = ("reporting", "viewing", "formats", "cli")
MEASURES = ("accuracy",)  # the name of a measure too
WORDS = {"formats/visual7w.py": {"decoys"}}  # what Visual7W's own files hold
FILES = sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py"))


def constants(text: str) -> Iterator[str]:
    """List the texts of a file, those of format strings' parts too."""
    yield from (
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_audit_is_known_by_name(path: Path) -> None:
    known = set(AUDITS.names()) - set(MEASURES) - WORDS.get(str(path.relative_to(SOURCE)), set())
    named = set(constants(path.read_text(encoding="utf-8"))) & known

    assert named == set()


def test_the_check_sees_a_name() -> None:
    assert "rules" in set(constants("rows = store.rows('rules')"))


@pytest.mark.parametrize("name", AUDITS.names())
def test_what_an_audit_brings_along_can_be_loaded(name: str) -> None:
    brought = furniture_of(AUDITS.get(name))
    places = [*brought.exports.values(), *(page.build for page in brought.pages)]
    places += [place for place in (brought.facts, brought.beside, brought.prepare) if place]

    assert all(callable(import_object(place)) for place in places)


def test_no_two_audits_bring_the_same_names() -> None:
    brought = [furniture_of(AUDITS.get(name)) for name in AUDITS.names()]
    for names in (
        [export for each in brought for export in each.exports],
        [page.path for each in brought for page in each.pages],
        [option.flag for each in brought for option in each.options],
    ):
        assert len(names) == len(set(names))


@pytest.mark.parametrize("name", AUDITS.names())
def test_short_options_are_for_settings_there_are(name: str) -> None:
    kind = AUDITS.get(name)

    assert all(hasattr(kind, option.setting) for option in furniture_of(kind).options)


@pytest.mark.parametrize(
    ("condition", "fits"), [("image", True), ("image#3", True), ("images", False), ("an image", False)]
)
def test_a_look_is_for_whole_names_of_conditions(condition: str, fits: bool) -> None:  # noqa: FBT001
    assert Look(r"image(#\d+)?", "another picture", "image").fits(condition) == fits


def test_who_brings_nothing_is_no_mistake() -> None:
    class Bare:
        """An audit as of long ago."""

    assert furniture_of(Bare) == Furniture()
