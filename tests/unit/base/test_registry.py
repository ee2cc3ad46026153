"""Names lead to objects, and wrong names to the right ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from eyechart.base.errors import SettingError, UnknownNameError
from eyechart.base.registry import Registry, class_over, import_object, reference_to

SHAPES: Registry[type] = Registry("shape", {"path": "pathlib:Path", "fraction": "fractions:Fraction"})


def test_a_known_name_is_imported() -> None:
    assert SHAPES.get("path") is Path


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match=r"\(path, fraction\); found 'fracton'; did you mean 'fraction'\?"):
        SHAPES.get("fracton")


def test_a_module_reference_works_as_a_name() -> None:
    assert SHAPES.get("pathlib:PurePath").__name__ == "PurePath"


def test_what_a_name_leads_to_must_have_the_shape() -> None:
    paths: Registry[type[Path]] = Registry("path", {"path": "pathlib:Path"}, class_over(Path))

    assert paths.get("path") is Path
    for reference, found in (
        ("pathlib:PurePath", "the type PurePath"),
        ("math:sqrt", "sqrt"),
        ("math:pi", "the float"),
    ):
        with pytest.raises(SettingError, match=f"a subclass of pathlib.Path at '{reference}'; found .*{found}"):
            paths.get(reference)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("pathlib:Pth", "check the name after the colon"),
        ("no_such_module_here:Thing", "an importable module 'no_such_module_here'"),
        ("no/such/file.py:Thing", "a Python file at no/such/file.py"),
    ],
)
def test_a_reference_to_nothing_says_what_is_wrong(reference: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        import_object(reference)


def test_a_broken_module_shows_its_own_error(tmp_path: Path) -> None:
    """A missing dependency of somebody's module is not a misspelt name."""
    (tmp_path / "broken.py").write_text("import no_such_dependency")

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        import_object(f"{tmp_path / 'broken.py'}:Thing")


def test_a_file_that_is_no_python_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("class A:\n    def\n")

    with pytest.raises(SettingError, match=r"Python in .*wrong\.py; found .* in line 2"):
        import_object(f"{tmp_path / 'wrong.py'}:A")


def test_a_broken_package_shows_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("import no_such_dependency")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        import_object("broken_package:Thing")


def test_a_class_from_a_file_is_found_again_by_another_process(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("class Loud:\n    word = 'hey'\n")
    reference = reference_to(import_object(f"{tmp_path / 'loud.py'}:Loud"))
    script = f"from eyechart.base.registry import import_object; print(import_object({reference!r}).word)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout == "hey\n"


def test_a_class_of_a_package_is_referred_to_by_its_module() -> None:
    assert reference_to(Registry) == "eyechart.base.registry:Registry"


def test_names_of_installed_packages_are_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What an installed package offers under our group stands behind our own names, as soon as it is installed."""
    from importlib.metadata import EntryPoint

    monkeypatch.syspath_prepend(str(tmp_path))
    assert SHAPES.names() == ("path", "fraction")
    (tmp_path / "circles.dist-info").mkdir()
    points = [EntryPoint("circle", "fractions:Fraction", "eyechart.shapes")]
    monkeypatch.setattr(
        "eyechart.base.registry.entry_points", lambda group: points if group == "eyechart.shapes" else []
    )

    assert SHAPES.names() == ("path", "fraction", "circle")
    assert SHAPES.get("circle").__name__ == "Fraction"
