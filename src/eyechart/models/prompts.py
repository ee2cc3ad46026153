"""Prompts: templates with a name and a version, and the texts they make of probes.

A line of a template that names something a probe lacks, as in `{caption}`, is left out for that probe. `{options}` are
the options in lines of their own, labelled A, B, C, ... or, where there are more than 26, 1, 2, 3, ...
"""

from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from string import Formatter
from typing import Any, Literal, get_type_hints

import polars as pl

from eyechart.errors import FileFormatError, SettingError
from eyechart.registry import unknown_name
from eyechart.settings import fit_settings

Expected = Literal["any", "text", "yes/no", "number"]
Labels = Literal["letters", "numbers"]

_LETTERS = [chr(ord("A") + place) for place in range(26)]
_KNOWN = ("question", "caption", "history", "hint")  # may be named where no probe has them
_CONTEXT = "{caption}\n{history}\n{hint}\n{question}\n"


@dataclass(frozen=True)
class Template:
    """What is said around a question, and what kind of answer it asks for."""

    name: str
    version: int = 1
    open: str = _CONTEXT + "Answer the question using a single word or phrase."
    choice: str | None = None  # where a probe has options; None: the options are not shown
    guess: str = "There is no image. Guess the most likely answer without it."  # in front, where a model is told
    expects: Expected = "any"  # any: the question decides
    labels: Labels = "letters"
    words: int = 20  # a longer text is not a short answer

    @property
    def identity(self) -> str:
        """Name the template with its version."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Hash everything it says, so that a changed text cannot pass for the old one."""
        return sha256(repr(self).encode()).hexdigest()[:16]


_CHOICE = _CONTEXT + "{options}\nAnswer with the option's letter from the given choices directly."
_NUMBERED = _CONTEXT + "{options}\nAnswer with the option's number from the given choices directly."
_YES_NO = _CONTEXT + "Please answer yes or no."
_NUMBER = _CONTEXT + "Answer with a number."

AUTO = "auto"
TEMPLATES = {
    each.name: each
    for each in (
        Template(AUTO, choice=_CHOICE),
        Template("short"),
        Template("choice", choice=_CHOICE),
        Template("numbered", choice=_NUMBERED, labels="numbers"),
        Template("yes-no", open=_YES_NO, expects="yes/no"),
        Template("number", open=_NUMBER, expects="number"),
        Template("bare", open=_CONTEXT.rstrip("\n"), expects="text"),
    )
}


def choose_template(name_or_path: str | None) -> Template:
    """Find a template by its name (`short`, `short@1`) or read it from a file; None takes what fits each probe."""
    wanted = name_or_path or AUTO
    name, _, version = wanted.partition("@")
    if name in TEMPLATES:
        found = TEMPLATES[name]
        if version and wanted != found.identity:
            raise SettingError(f"the template {found.identity}", repr(wanted), "older words live on in a file only")
        return found
    if Path(wanted).is_file():
        return _read_template(Path(wanted))
    raise unknown_name("template", wanted, tuple(TEMPLATES))


def write_prompts(probes: pl.DataFrame, template: Template) -> pl.Series:
    """Write the text for each filled probe."""
    content = _content(probes, template)
    _check_fields(template, content.columns)
    told = pl.when(_told(content)).then(pl.lit(template.guess))
    text = _fill(template.open)
    if template.choice is not None:
        text = pl.when(pl.col("options").is_not_null()).then(_fill(template.choice)).otherwise(text)
    return content.select(
        pl.concat_str(told, text, separator="\n", ignore_nulls=True).str.strip_chars("\n").alias("prompt")
    ).to_series()


def list_labels(probes: pl.DataFrame, template: Template) -> pl.Series:
    """Write what may be said to each probe, option by option (List(String)): labels where listed, else the texts."""
    options = _number_options(probes, template)
    said = "label" if template.choice is not None else "option"
    return _regroup(options, pl.col(said), probes.height)


def _read_template(path: Path) -> Template:
    """Read the fields of a template from YAML or JSON; any other file is the text itself, with options or without."""
    import yaml

    text = path.read_text(encoding="utf-8")
    if path.suffix not in {".yaml", ".yml", ".json"}:
        return Template(path.stem, open=text.strip("\n"), choice=text.strip("\n") if "{options}" in text else None)
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _damaged(path, str(error).partition("\n")[0]) from None
    if not isinstance(content, dict):
        raise _damaged(path, type(content).__name__)
    declared: dict[str, Any] = get_type_hints(Template)
    settings: dict[str, Any] = fit_settings("template", declared, {"name": path.stem} | content)
    return Template(**settings)


def _damaged(path: Path, found: str) -> FileFormatError:
    names = ", ".join(each.name for each in fields(Template))
    return FileFormatError(f"a template in {path}", found, f"write a mapping with some of {names}")


def _content(probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Bring what can stand in a template into text columns; what is empty counts as lacking."""
    lists = [name for name, dtype in probes.schema.items() if dtype == pl.List(pl.String) and name != "choices"]
    options = _number_options(probes, template)
    lines = _regroup(options, pl.concat_str("label", pl.lit(". "), "option"), probes.height).list.join("\n")
    absent = [pl.lit(None, pl.String).alias(name) for name in _KNOWN if name not in probes.columns]
    content = probes.with_columns(pl.col(lists).list.join("\n"), *absent).with_columns(lines.alias("options"))
    return content.with_columns(pl.col(pl.String).replace("", None))


def _number_options(probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """List all options under each other: `row`, `label` and `option`."""
    if "choices" not in probes.columns:
        return pl.DataFrame(schema={"row": pl.UInt32, "label": pl.String, "option": pl.String})
    flat = probes.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), pl.col("choices").alias("option"))
    flat = flat.filter(pl.col("option").list.len() > 0).explode("option")
    place = pl.int_range(pl.len()).over("row")
    number = (place + 1).cast(pl.String)
    letter = place.replace_strict(dict(enumerate(_LETTERS)), default=None, return_dtype=pl.String)
    lettered = (pl.len().over("row") <= len(_LETTERS)) & (template.labels == "letters")
    return flat.select("row", pl.when(lettered).then(letter).otherwise(number).alias("label"), "option")


def _regroup(options: pl.DataFrame, line: pl.Expr, height: int) -> pl.Series:
    """Make one list for each probe again; null where it has no options."""
    lists = options.group_by("row", maintain_order=True).agg(line.alias("lines"))
    rows = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left")["lines"]


def _told(content: pl.DataFrame) -> pl.Expr:
    if "removal" not in content.columns:
        return pl.lit(value=False)
    return pl.col("removal").str.split(" ").list.contains("image=guess")


def _fill(text: str) -> pl.Expr:
    lines = [pl.concat_str(_parts(line)) for line in text.split("\n")]
    return pl.concat_str(lines, separator="\n", ignore_nulls=True)


def _parts(line: str) -> list[pl.Expr]:
    parts = [pl.lit("")]
    for words, name, _, _ in Formatter().parse(line):
        parts.append(pl.lit(words))
        if name is not None:
            parts.append(pl.col(name).cast(pl.String))
    return parts


def _check_fields(template: Template, columns: list[str]) -> None:
    """Refuse a name that probes never have: its line would silently be left out of every prompt."""
    for name in _names(template):
        if name not in columns:
            raise unknown_name(f"field of template {template.identity}", name, tuple(columns))


def _names(template: Template) -> list[str]:
    try:
        parts = [*Formatter().parse(template.open), *Formatter().parse(template.choice or "")]
    except ValueError as error:
        advice = "write {question} for the question, and {{ for a brace"
        raise SettingError(f"a sound text in template {template.identity}", str(error), advice) from None
    return [name for _, name, _, _ in parts if name is not None]
