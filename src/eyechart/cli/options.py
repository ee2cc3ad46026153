"""Options that several verbs share, and the settings file that can hold any of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from eyechart.errors import FileFormatError, SettingError
from eyechart.registry import unknown_name


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a YAML file the defaults of the verb, so that the command line wins."""
    if path is None:
        return None
    known = tuple(name for name in (str(parameter.name) for parameter in context.command.params) if name != "config")
    defaults = {}
    for key, value in _read_yaml(path).items():
        name = str(key).replace("-", "_")
        if name not in known:
            raise unknown_name(f"key in {path}", str(key), known)
        defaults[name] = [f"{left}={right}" for left, right in value.items()] if isinstance(value, dict) else value
    context.default_map = defaults
    return path


def _read_yaml(path: Path) -> Mapping[Any, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        found = " ".join(str(error).split())
        raise FileFormatError(f"settings in YAML at {path}", found, "check the file") from None
    if not isinstance(content, Mapping):
        found = f"a {type(content).__name__}"
        raise FileFormatError(f"settings as `name: value` in {path}", found, "write one setting a line")
    return content


Config = Annotated[
    Path | None,
    typer.Option(help="A YAML file of options; the command line wins.", callback=_load_config, is_eager=True),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn.")]
Limit = Annotated[int | None, typer.Option(help="Take only so many examples, chosen by the seed.", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting, as `by=question_type` or `accuracy.score=exact`."),
]
By = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Break results down by a column; again for more.")]
Score = Annotated[str | None, typer.Option(help="How answers are scored; `eyechart ls scores` lists the ways.")]
Audits = Annotated[list[str] | None, typer.Option("-a", "--audit", help="An audit; again for more. Default: all that can run.")]
Models = Annotated[
    list[str],
    typer.Option(
        "-m", "--model", help="A model, as `predictions:answers.json`, `python:file.py:function`, `world:seer`; again for more."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the model calls to come.")]
MaxCalls = Annotated[int | None, typer.Option(help="Refuse to make more model calls than this.", min=0)]
BatchSize = Annotated[int, typer.Option(help="Probes handed to the model at once.", min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask anew what the model has answered already.")]
AllowPartial = Annotated[bool, typer.Option("--allow-partial", help="Judge even if under 99 % of the probes are answered.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
DataPath = Annotated[
    str, typer.Argument(metavar="DATA", help="A dataset made by `eyechart read`, or a table file.", show_default=False)
]


def pairs(words: Iterable[str]) -> dict[str, str]:
    """Read words of the form name=value."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SettingError("NAME=VALUE", repr(word), "put an equals sign between the name and the value")
        found[name] = value
    return found
