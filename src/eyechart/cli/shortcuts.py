"""The short options that audits bring to the verbs that make them; they are looked up when such a verb is asked for."""

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from eyechart.audits import AUDITS
from eyechart.furniture import Option, furniture_of

_GIVEN = "eyechart.shortcuts"  # of the context: setting -> text


class AuditVerb(TyperCommand):
    """A verb that makes audits, with their short options before `--help`."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer does not export the types
        """List the options of the verb and those of the audits."""
        own = super().get_params(ctx)
        return [*own[:-1], *_options(), *own[-1:]]


def given_shortcuts(context: typer.Context) -> dict[str, str]:
    """Read the short options as settings: `--precision 2` is `perception.precision=2`."""
    found: dict[str, str] = context.meta.get(_GIVEN, {})
    return found


def _options() -> list[Any]:
    """Let typer make the options, as it does those of a function that takes them all."""

    def verb(**_: object) -> None: ...

    verb.__signature__ = Signature(list(_parameters()))  # type: ignore[attr-defined]  # what typer reads
    app = typer.Typer()
    app.command()(verb)
    return list(get_command(app).params[: len(verb.__signature__.parameters)])  # type: ignore[attr-defined]


def _parameters() -> Iterator[Parameter]:
    for audit in AUDITS.names():
        for option in furniture_of(AUDITS.get(audit)).options:
            told = typer.Option(
                option.flag,
                help=option.help,
                metavar=option.metavar,
                expose_value=False,  # they stand in the context, for no verb knows their names
                callback=_keeping(f"{audit}.{option.setting}", option),
            )
            kind = list[str] | None if option.several else str | None
            name = option.flag.lstrip("-").replace("-", "_")
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, told])


def _keeping(setting: str, option: Option) -> Callable[[typer.Context, Any], Any]:
    def keep(context: typer.Context, value: Any) -> Any:  # noqa: ANN401 - text, or several
        if value:
            context.meta.setdefault(_GIVEN, {})[setting] = ",".join(value) if option.several else value
        return value

    return keep
