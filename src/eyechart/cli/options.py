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
    known = {_spoken_name(parameter): parameter for parameter in context.command.get_params(context)}
    defaults = {}
    for key, value in _read_yaml(path).items():
        if key not in known:
            raise unknown_name(f"option in {path}", str(key), tuple(known))
        several = [f"{left}={right}" for left, right in value.items()] if isinstance(value, dict) else value
        alone = getattr(known[key], "multiple", False) and not isinstance(several, list)
        defaults[str(known[key].name)] = [several] if alone else several
    context.default_map = defaults
    return path


def _spoken_name(parameter: Any) -> str:  # noqa: ANN401 - typer does not export the type
    """Name a parameter as people type it: `batch-size`, `set`, `data`."""
    return str(max(parameter.opts, key=len)).lstrip("-")


def _read_yaml(path: Path) -> Mapping[Any, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise FileFormatError(f"settings in YAML at {path}", str(error), "check the file") from None
    if not isinstance(content, Mapping):
        found = f"a {type(content).__name__}"
        raise FileFormatError(f"settings as `name: value` in {path}", found, "write one setting a line")
    return content


_CONFIG_HELP = "A YAML file of options; the command line wins."
_SET_HELP = "A setting, as `score=exact` or `accuracy.score=exact`; again for more."
_AUDIT_HELP = "An audit; again for more. Default: all that can run."
_OWN_AUDIT_HELP = "An audit of your own that brings something along for this, as `file.py:Class`; again for more."
_MODEL_HELP = "As `hf:org/name`, `openai:name`, `predictions:answers.json`, `python:file.py:function`; again for more."
_URL_HELP = "Where models `openai:` are, as http://127.0.0.1:8000/v1."
_DRAWS_HELP = "Ask each probe so often; wants a temperature."
_CACHE_HELP = "The file that remembers answers, or `off`. Default: one for all runs."
_HTTP_HELP = "Fetch pictures that the data name by http(s) addresses."
_PRIVATE_HELP = "Fetch them also from hosts that are not public, such as this machine."
_PARTIAL_HELP = "Judge even if under 99 % of the probes are answered."
_LEARN_HELP = "A split to learn from, or `none`; again for more. Default: train."
_JUDGE_HELP = "A split to judge, or `none` for all that is not learned from; again for more. Default: test, else val."
_FAIL_HELP = "As `perception.image < 20`, in points; again for more. Exit code 2 where one is crossed."
_ENGINE_HELP = "Where the work is done: `local`, `ray` (all cores), `ray:auto` or `ray:ADDRESS` (a Ray cluster)."
_DATA_HELP = "A dataset made by `eyechart read`, or a table file."

Config = Annotated[Path | None, typer.Option("--config", help=_CONFIG_HELP, callback=_load_config, is_eager=True)]
Engine = Annotated[str, typer.Option(help=_ENGINE_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Seed = Annotated[int, typer.Option(help="Seed of everything that is drawn.")]
Limit = Annotated[int | None, typer.Option(help="Take only so many examples, chosen by the seed.", min=1)]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=_SET_HELP)]
By = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Break down by a column; again for more.")]
Score = Annotated[str | None, typer.Option(help="How answers are scored; see `eyechart ls scores`.")]
Learn = Annotated[list[str] | None, typer.Option(metavar="SPLIT", help=_LEARN_HELP)]
Judge = Annotated[list[str] | None, typer.Option(metavar="SPLIT", help=_JUDGE_HELP)]
Audits = Annotated[list[str] | None, typer.Option("-a", "--audit", help=_AUDIT_HELP)]
OwnAudits = Annotated[list[str] | None, typer.Option("-a", "--audit", metavar="AUDIT", help=_OWN_AUDIT_HELP)]
Models = Annotated[list[str], typer.Option("-m", "--model", metavar="MODEL", help=_MODEL_HELP)]
BaseUrl = Annotated[str | None, typer.Option("--base-url", metavar="URL", help=_URL_HELP)]
Draws = Annotated[int | None, typer.Option(help=_DRAWS_HELP, min=1)]
Temperature = Annotated[float | None, typer.Option(help="Sample answers; 0 takes the likeliest.", min=0)]
Cache = Annotated[str | None, typer.Option("--cache", metavar="FILE", help=_CACHE_HELP)]
AllowHttp = Annotated[bool, typer.Option("--allow-http", help=_HTTP_HELP)]
AllowPrivateHttp = Annotated[bool, typer.Option("--allow-private-http", help=_PRIVATE_HELP)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the model calls to come and what they take.")]
MaxCalls = Annotated[int | None, typer.Option(help="Refuse to make more model calls than this.", min=0)]
BatchSize = Annotated[int, typer.Option(help="Probes handed to the model at once.", min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask anew what the model has answered already.")]
FailOn = Annotated[list[str] | None, typer.Option(metavar="THRESHOLD", help=_FAIL_HELP)]
AllowPartial = Annotated[bool, typer.Option("--allow-partial", help=_PARTIAL_HELP)]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help=_DATA_HELP, show_default=False)]


def pairs(words: Iterable[str]) -> dict[str, str]:
    """Read words of the form name=value."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SettingError("NAME=VALUE", repr(word), "put an equals sign between the name and the value")
        found[name] = value
    return found
