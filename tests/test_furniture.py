"""Pages, the explorer, formats and the command line know no audit by name: what is its own comes with its class."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyechart.audits import AUDITS
from eyechart.base.registry import import_object
from eyechart.data.furniture import Furniture, Look, furniture_of

SOURCE = Path(__file__).parent.parent / "src" / "eyechart"
ROOMS = ("reporting", "viewing", "formats", "cli")
FILES = sorted(path for room in ROOMS for kind in ("*.py", "*.html") for path in (SOURCE / room).rglob(kind))
NAME = re.compile(r"[a-z]+")
SPLITS = {"splits": "the splits of the data"}
WORDS: dict[str, dict[str, str]] = {  # file -> words that are names of audits too, and what they stand for there
    "cli/__init__.py": {"accuracy": "a command to begin with, below the help"},
    "cli/models.py": SPLITS,
    "cli/options.py": {"accuracy": "a setting as an example", "perception": "a threshold as an example"},
    "formats/answer_files.py": {"accuracy": "a field of OpenCompass's summaries"},
    "formats/eee.py": {"accuracy": "the kind of metric, in the words of the schema"},
    "formats/__init__.py": {"splits": "where a reader is that an audit provides: an entry of a registry"},
    "formats/aokvqa.py": SPLITS,
    "formats/hf.py": SPLITS,
    "formats/nextqa.py": SPLITS,
    "formats/socialiq.py": SPLITS,
    "formats/visual7w.py": {"decoys": "what Visual7W's own files hold"},
    "formats/vqa2.py": SPLITS,
    "reporting/report.html": SPLITS,
    "reporting/standings.py": {"accuracy": "the measure"},
    "reporting/thresholds.py": {"accuracy": "the measure", **dict.fromkeys(("perception", "rules"), "an example")},
    "viewing/survey.py": {"accuracy": "the measure"},
    "viewing/templates/ask_agreement.html": {"accuracy": "the measure"},
}


def constants(text: str) -> Iterator[str]:
    """List the texts of a Python file, those of format strings' parts too, but not what describes code."""
    tree = ast.parse(text)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, described)]
    told = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    yield from (node.value for node in texts if isinstance(node.value, str))


def words(path: Path) -> set[str]:
    """List the words that a file says or looks for."""
    text = path.read_text(encoding="utf-8")
    return {word for part in (constants(text) if path.suffix == ".py" else [text]) for word in NAME.findall(part)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_audit_is_known_by_name(path: Path) -> None:
    meant = WORDS.get(str(path.relative_to(SOURCE)), {})

    assert words(path) & {*AUDITS.names()} == {*meant}


def test_no_condition_is_known_by_name() -> None:
    """What offers a set of options, and hides what, is data of the audit that asks it; `all` is a word of any list."""
    known = {each.condition for name in AUDITS.names() for each in furniture_of(AUDITS.get(name)).hidings} - {"all"}
    files = [path for path in FILES if path.suffix == ".py" and "formats" not in path.parts]

    assert {text for path in files for text in constants(path.read_text(encoding="utf-8"))} & known == set()


def test_the_check_sees_a_name() -> None:
    seen = [*constants('"""The rules of splits."""\nrows = store.rows("rules") + f"study {rules} by `decoys`"')]

    assert "rules" in seen
    assert "decoys" in {word for text in seen for word in NAME.findall(text)}
    assert "The rules of splits." not in seen


@pytest.mark.parametrize("name", AUDITS.names())
def test_what_an_audit_brings_along_can_be_loaded(name: str) -> None:
    brought = furniture_of(AUDITS.get(name))
    places = [*brought.exports.values(), *(page.build for page in brought.pages)]
    places += [place for place in (brought.together, brought.facts, brought.beside, brought.prepare) if place]

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
