"""Map names to lazily imported objects: formats, audits, models and engines.

A name is one of ours, an entry point that an installed package provides in the group, or a
direct reference: `package.module:object` or `path/to/file.py:object`.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar, cast

from eyechart.base.errors import SettingError, UnknownNameError
from eyechart.base.trust import FILE_MODULE, check_named, module_name

Entry = TypeVar("Entry")


class Shape(NamedTuple):
    """What a name must refer to: a description, and a check."""

    description: str
    fits: Callable[[object], bool]


ANYTHING = Shape("anything", lambda _: True)


def class_over(base: type) -> Shape:
    """Require a subclass of a class."""
    description = f"a subclass of {base.__module__}.{base.__name__}"
    return Shape(description, lambda entry: isinstance(entry, type) and issubclass(entry, base))


class Registry(Generic[Entry]):
    """Map the names of one kind of thing to objects, importing each only when it is needed."""

    def __init__(self, kind: str, entries: Mapping[str, str], shape: Shape = ANYTHING) -> None:
        self.kind = kind
        self.shape = shape
        self.group = f"eyechart.{kind.replace(' ', '_')}s"
        self._targets = dict(entries)
        self._seen: list[tuple[str, int]] | None = None  # where packages are installed, and when one last came or went
        self._points: dict[str, str] = {}

    def names(self) -> tuple[str, ...]:
        """List our own names, followed by those of installed packages."""
        return tuple(self._targets) + tuple(sorted(set(self._offered()) - set(self._targets)))

    def get(self, name: str) -> Entry:
        """Import the object of a name, or raise an error that suggests the nearest name."""
        target = self._targets.get(name) or self._offered().get(name)
        if target is None and ":" in name:
            check_named(name)
            target = name
        if target is None:
            raise unknown_name(self.kind, name, self.names())
        entry = import_object(target)
        if not self.shape.fits(entry):
            found = f"the {type(entry).__name__} {getattr(entry, '__name__', entry)}"
            raise SettingError(f"{self.shape.description} at {name!r}", found, "see docs/extending.md")
        return cast("Entry", entry)

    def _offered(self) -> dict[str, str]:
        """Look at the installed packages again only where one came or went: there may be hundreds."""
        places = [(place, Path(place).stat().st_mtime_ns) for place in sys.path if Path(place).exists()]
        if places != self._seen:
            self._points = {point.name: point.value for point in entry_points(group=self.group)}
            self._seen = places
        return self._points


def unknown_name(kind: str, name: str, names: tuple[str, ...]) -> UnknownNameError:
    """Build the error for an unknown name, suggesting the nearest known one."""
    return UnknownNameError(f"the name of a known {kind} ({', '.join(names)})", repr(name), _suggest(name, names))


def unknown_choice(what: str, chosen: object, choices: tuple[str, ...]) -> UnknownNameError:
    """Build the error for a value that is not among the choices, suggesting the nearest one."""
    advice = _suggest(str(chosen), choices)
    return UnknownNameError(f"{what} as one of {', '.join(choices)}", repr(chosen), advice)


def _suggest(name: str, names: tuple[str, ...]) -> str:
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else "choose one of these"


def import_object(reference: str) -> object:
    """Import `package.module:object` or `path/to/file.py:object`."""
    source, _, name = reference.rpartition(":")
    module = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    try:
        return getattr(module, name)
    except AttributeError:
        found = f"a module without {name!r}"
        raise SettingError(f"an object at {reference!r}", found, "check the name after the colon") from None


def reference_to(kind: type) -> str:
    """Return the reference by which `import_object` finds a class again, even in another process."""
    module = kind.__module__
    from_file = module == "__main__" or module.startswith(FILE_MODULE)
    source = Path(str(sys.modules[module].__file__)).resolve() if from_file else module
    return f"{source}:{kind.__qualname__}"


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A missing module further down is a broken installation, not a misspelt name.
        if not name or (error.name and not f"{name}.".startswith(f"{error.name}.")):
            raise
        advice = "install the package, or give the path of a .py file before the colon"
        raise SettingError(f"an importable module {name!r}", "none", advice) from None


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingError(f"a Python file at {path}", "none", "check the path before the colon")
    name = module_name(path)
    if name in sys.modules:  # so that a class is the same object each time it is referenced
        return sys.modules[name]
    loader = SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look up their own module while it is being executed
    try:
        loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        raise SettingError(f"Python in {path}", f"{error.msg} in line {error.lineno}", "correct the file") from None
    except BaseException:
        del sys.modules[name]
        raise
    return module
