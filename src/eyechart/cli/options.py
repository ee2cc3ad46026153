"""Options that several commands share, the YAML file that can set any of them, and the short options of audits.

Commands that create audits also take the short options that audits declare, looked up when the command is called.
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_command

from eyechart.audits import AUDITS
from eyechart.base.errors import FileFormatError, SettingError
from eyechart.base.files import require_regular
from eyechart.base.registry import unknown_choice, unknown_name
from eyechart.base.trust import trust_everything
from eyechart.base.yaml_text import parse_yaml
from eyechart.data.furniture import Option, furniture_of

Choice = TypeVar("Choice", bound=StrEnum)
_TRUSTING = re.compile(r"\btrust\s*=")  # a setting of a model


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the values of a YAML file as the command's defaults, so that the command line overrides them."""
    if path is None:
        return None
    known = {_option_name(parameter): parameter for parameter in context.command.get_params(context)}
    defaults = {}
    for key, value in read_yaml_options(path).items():
        if key == "trust" or _TRUSTING.search(str(value)):
            raise SettingError("trust on the command line alone", f"trust in {path}", "leave it out; add --trust there")
        if key not in known:
            raise unknown_name(f"option in {path}", str(key), tuple(known))
        default = [f"{left}={right}" for left, right in value.items()] if isinstance(value, dict) else value
        is_single = getattr(known[key], "multiple", False) and not isinstance(default, list)
        defaults[str(known[key].name)] = [default] if is_single else default
    context.default_map = defaults
    return path


def _trust(given: bool) -> bool:  # noqa: FBT001 - as typer calls it
    """Allow all code that files name."""
    if given:
        trust_everything()
    return given


def _option_name(parameter: Any) -> str:  # noqa: ANN401 - typer does not export the type
    """Return the name of a parameter as users type it, such as `batch-size`, `set` or `data`."""
    return str(max(parameter.opts, key=len)).lstrip("-")


def read_yaml_options(path: Path) -> Mapping[Any, Any]:
    """Read a file of options."""
    try:
        require_regular(path)
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"settings in YAML at {path}", str(error), "check the file") from None
    if not isinstance(content, Mapping):
        found = f"a {type(content).__name__}"
        raise FileFormatError(f"settings as `name: value` in {path}", found, "write one setting per line")
    return content


_TRUST_HELP = "Run code that a settings file, a run or a trained model names, and not only this command."
_CONFIG_HELP = "A YAML file of options; the command line overrides it."
_SET_HELP = "A setting, such as `score=exact` or `accuracy.score=exact`; may be repeated."
_AUDIT_HELP = "An audit; may be repeated. Default: all that apply."
_OWN_AUDIT_HELP = "Your own audit, as `file.py:Class`, whose exports to add; may be repeated."
_MODEL_HELP = (
    "A model: `hf:org/name`, `openai:name`, `predictions:answers.json` or `python:file.py:function`; may be repeated."
)
_URL_HELP = "The server of `openai:` models, such as http://127.0.0.1:8000/v1."
_DRAWS_HELP = "Ask each probe this many times; needs a temperature."
_CACHE_HELP = "The file to cache responses in, or `off`. Default: one file shared by all runs."
_HTTP_HELP = "Download pictures that the data refer to by http(s) URL."
_PRIVATE_HELP = "Download them from private hosts too, such as this machine."
_LINKS_HELP = "A further folder that links in the folder of pictures may lead to; may be repeated."
_YES_HELP = "Go on where what was read may not be what the files mean."
_VERBOSE_HELP = "Show more: how each column was read, with the first example in full, and every verdict."
_ID_HELP = "Join these columns to the ids of the examples, as in `video,qid`."
_PARTIAL_HELP = "Judge even if fewer than 99 % of the probes are answered."
_LEARN_HELP = "A split to learn from, or `none`; may be repeated. Default: train."
_JUDGE_HELP = "A split to judge on, or `none` for all data not learned from; may be repeated. Default: test, else val."
_FAIL_HELP = "A threshold in points, such as `perception.image < 20`; may be repeated. Exit code 2 if one is crossed."
_ENGINE_HELP = "Where to compute: `local`, `ray` (all cores), `ray:auto` or `ray:ADDRESS` (a Ray cluster)."
_BY_HELP = "Break results down by a column; may be repeated."
_TEMPERATURE_HELP = "The sampling temperature; at 0 the model gives its likeliest answer."
_DRY_RUN_HELP = "Make no model calls; only count them and estimate what they would take."
_DATA_HELP = "A dataset written by `eyechart read`, or a file, folder or archive of any known kind."

Trust = Annotated[bool, typer.Option("--trust", help=_TRUST_HELP, callback=_trust, is_eager=True)]
Config = Annotated[Path | None, typer.Option("--config", help=_CONFIG_HELP, callback=_load_config, is_eager=True)]
Engine = Annotated[str, typer.Option(help=_ENGINE_HELP)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Seed = Annotated[int, typer.Option(help="The seed for all random draws.")]
Limit = Annotated[int | None, typer.Option(help="Use only this many examples, sampled with the seed.", min=1)]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=_SET_HELP)]
By = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help=_BY_HELP)]
Score = Annotated[str | None, typer.Option(help="How to score answers; see `eyechart ls scores`.")]
Learn = Annotated[list[str] | None, typer.Option(metavar="SPLIT", help=_LEARN_HELP)]
Judge = Annotated[list[str] | None, typer.Option(metavar="SPLIT", help=_JUDGE_HELP)]
Audits = Annotated[list[str] | None, typer.Option("-a", "--audit", help=_AUDIT_HELP)]
OwnAudits = Annotated[list[str] | None, typer.Option("-a", "--audit", metavar="AUDIT", help=_OWN_AUDIT_HELP)]
Models = Annotated[list[str], typer.Option("-m", "--model", metavar="MODEL", help=_MODEL_HELP)]
BaseUrl = Annotated[str | None, typer.Option("--base-url", metavar="URL", help=_URL_HELP)]
Draws = Annotated[int | None, typer.Option(help=_DRAWS_HELP, min=1)]
Temperature = Annotated[float | None, typer.Option(help=_TEMPERATURE_HELP, min=0)]
Cache = Annotated[str | None, typer.Option("--cache", metavar="FILE", help=_CACHE_HELP)]
AllowHttp = Annotated[bool, typer.Option("--allow-http", help=_HTTP_HELP)]
AllowPrivateHttp = Annotated[bool, typer.Option("--allow-private-http", help=_PRIVATE_HELP)]
AllowLinks = Annotated[list[Path] | None, typer.Option("--allow-links", metavar="DIR", help=_LINKS_HELP)]
DryRun = Annotated[bool, typer.Option("--dry-run", help=_DRY_RUN_HELP)]
MaxCalls = Annotated[int | None, typer.Option(help="Refuse to run if more model calls than this are needed.", min=0)]
BatchSize = Annotated[int, typer.Option(help="The number of probes passed to the model at once.", min=1)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask again even where the model has already answered.")]
FailOn = Annotated[list[str] | None, typer.Option(metavar="THRESHOLD", help=_FAIL_HELP)]
AllowPartial = Annotated[bool, typer.Option("--allow-partial", help=_PARTIAL_HELP)]
Yes = Annotated[bool, typer.Option("--yes", help=_YES_HELP)]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help=_VERBOSE_HELP)]
JoinedId = Annotated[str | None, typer.Option("--id", metavar="COLUMN,...", help=_ID_HELP)]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help=_DATA_HELP, show_default=False)]


def pairs(words: Iterable[str]) -> dict[str, str]:
    """Parse words of the form name=value."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise SettingError("NAME=VALUE", repr(word), "put an equals sign between the name and the value")
        values[name] = value
    return values


def one_of(kind: type[Choice], what: str) -> Callable[[str], Choice]:
    """Return a parser for one of a few choices, whose error suggests the nearest one."""

    def parse(text: str) -> Choice:
        choices = tuple(each.value for each in kind)
        if text not in choices:
            raise unknown_choice(what, text, choices)
        return kind(text)

    return parse


def command_line() -> str:
    """Return the running command line, for reports to show how to reproduce them."""
    return shlex.join(["eyechart", *sys.argv[1:]])


_SHORT_OPTIONS = "eyechart.shortcuts"  # in the context: setting -> text


class AuditCommand(TyperCommand):
    """A command that creates audits; their short options are listed before `--help`."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer does not export the types
        """List the command's own options and those of the audits."""
        own = super().get_params(ctx)
        return [*own[:-1], *_create_options(), *own[-1:]]


def short_options(context: typer.Context) -> dict[str, str]:
    """Return the given short options as settings: `--precision 2` becomes `perception.precision=2`."""
    settings: dict[str, str] = context.meta.get(_SHORT_OPTIONS, {})
    return settings


def _create_options() -> list[Any]:
    """Create the options by letting typer read a function that takes all of them."""

    def command(**_: object) -> None: ...

    command.__signature__ = Signature(list(_parameters()))  # type: ignore[attr-defined]  # what typer reads
    app = typer.Typer()
    app.command()(command)
    return list(get_command(app).params[: len(command.__signature__.parameters)])  # type: ignore[attr-defined]


def _parameters() -> Iterator[Parameter]:
    for audit in AUDITS.names():
        for option in furniture_of(AUDITS.get(audit)).options:
            declared = typer.Option(
                option.flag,
                help=option.help,
                metavar=option.metavar,
                expose_value=False,  # stored in the context, since no command has parameters for them
                callback=_store_option(f"{audit}.{option.setting}", option),
            )
            kind = list[str] | None if option.several else str | None
            name = option.flag.lstrip("-").replace("-", "_")
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, declared])


def _store_option(setting: str, option: Option) -> Callable[[typer.Context, Any], Any]:
    def store(context: typer.Context, value: Any) -> Any:  # noqa: ANN401 - one text or several
        if value:
            context.meta.setdefault(_SHORT_OPTIONS, {})[setting] = ",".join(value) if option.several else value
        return value

    return store
