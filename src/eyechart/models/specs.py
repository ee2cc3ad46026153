"""Model strings of askers: what to open, then settings after commas, as in `openai:tiny,prompt=short,draws=5`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from eyechart.errors import SettingError
from eyechart.models.cached import Cached, open_store
from eyechart.models.prompted import Prompted
from eyechart.models.prompts import choose_template
from eyechart.models.shown import Asker
from eyechart.settings import fit_settings

COMMON: dict[str, Any] = {"prompt": str, "draws": int, "cache": str, "fresh": bool}  # of every asker
# What changes how an answer is obtained, but not which: it has no place in the name of a model.
UNNAMED = ("base_url", "key", "concurrency", "per_minute", "timeout", "retries", "cache", "fresh", "batch", "device")


class Spec(NamedTuple):
    """A model string in its parts."""

    what: str
    settings: dict[str, str]


def divide_spec(spec: str) -> Spec:
    """Tell what is opened from the settings that follow it."""
    if Path(spec).exists():
        return Spec(spec, {})
    what, *words = spec.split(",")
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SettingError("NAME=VALUE after each comma of a model", repr(word), "put an equals sign between them")
        settings[name] = value
    return Spec(what, settings)


def open_prompted(kind: str, spec: str, asker: Callable[..., Asker]) -> Prompted:
    """Make an asker, whose first field is what is opened and whose other fields are its settings, into a model."""
    what, given = divide_spec(spec)
    first, *others = get_type_hints(asker).items()
    found = fit_settings(kind, dict(others) | COMMON, given)
    common = {name: found.pop(name) for name in COMMON if name in found}
    opened = asker(**{first[0]: what}, **found)
    return prompt_asker(_name(what, given), opened, common)


def prompt_asker(name: str, asker: Asker, common: Mapping[str, Any]) -> Prompted:
    """Put prompts, a cache and several draws, as the common settings say, around an asker."""
    draws = common.get("draws", 1)
    if draws < 1 or (draws > 1 and not getattr(asker, "temperature", 0)):
        advice = "set temperature above 0, or ask once"
        raise SettingError("several draws only where they can differ", f"draws={draws} at temperature 0", advice)
    store = open_store(common.get("cache"), fresh=common.get("fresh", False))
    return Prompted(name, Cached(asker, store), choose_template(common.get("prompt")), draws)


def _name(what: str, given: Mapping[str, str]) -> str:
    base = Path(what).resolve().name if Path(what).is_dir() else what
    return ",".join([base, *(f"{name}={value}" for name, value in given.items() if name not in UNNAMED)])
