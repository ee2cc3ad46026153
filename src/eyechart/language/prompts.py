"""Write prompts: named and versioned templates, and the texts and pictures that they make from probes.

A line of a template that names a field the probe lacks, such as `{caption}`, is left out for that probe. `{options}`
lists the options one per line, labelled A, B, C, ... or, if there are more than 26 of them, 1, 2, 3, ...
"""

import re
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from string import Formatter
from typing import Any, Literal, NamedTuple, get_type_hints

import polars as pl

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.base.registry import unknown_name
from eyechart.base.settings import fit_settings
from eyechart.base.yaml_text import parse_yaml
from eyechart.data.images import Images
from eyechart.data.pictures import Picture, show_all_pictures

Expected = Literal["any", "text", "yes/no", "number"]
Labels = Literal["letters", "numbers"]

_NAMED_PICTURE = r"<image (\d+)>"  # in texts of MMMU and others
_LETTERS = [chr(ord("A") + position) for position in range(26)]
_FIELDS = ("question", "caption", "history", "hint")  # a template may use these even if no probe has them
_CONTEXT = "{caption}\n{history}\n{hint}\n{question}\n"


@dataclass(frozen=True)
class Template:
    """The wording around a question, and the kind of answer it asks for."""

    name: str
    version: int = 1
    open: str = _CONTEXT + "Answer the question using a single word or phrase."
    choice: str | None = None  # for probes with options; None: options are not shown
    guess: str = "There is no image. Guess the most likely answer without it."  # put first, if `removal` asks for it
    expects: Expected = "any"  # any: it depends on the question
    labels: Labels = "letters"
    words: int = 20  # a longer text does not count as a short answer

    @property
    def identity(self) -> str:
        """Return the name of the template with its version."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Hash every field, so that a changed wording is not mistaken for the old one."""
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


class PromptBatch(NamedTuple):
    """A batch as a model sees it: lists of equal length."""

    prompts: list[str]
    pictures: list[Picture | None]
    choices: list[list[str] | None]  # the possible answers to each prompt: labels if options are labelled, else texts
    further: list[tuple[Picture, ...]] | None = None  # pictures after the first, if any probe has several
    draw: int = 0  # how often the same batch was asked before

    def all_pictures(self) -> list[tuple[Picture, ...]]:
        """List the pictures of each prompt, the first one included."""
        further = self.further or [()] * len(self.pictures)
        return [(() if one is None else (one,)) + more for one, more in zip(self.pictures, further, strict=True)]

    def arrange(self) -> list[list[str | Picture]]:
        """List the pictures and texts of each prompt in order: pictures stand where it names them, else in front."""
        pictures = self.all_pictures()
        return [
            [own[part] if isinstance(part, int) else part for part in place_pictures(prompt, len(own))]
            for prompt, own in zip(self.prompts, pictures, strict=True)
        ]

    def take(self, rows: list[int]) -> "PromptBatch":
        """Keep the prompts in some rows."""
        return PromptBatch(
            [self.prompts[row] for row in rows],
            [self.pictures[row] for row in rows],
            [self.choices[row] for row in rows],
            self.further and [self.further[row] for row in rows],
            self.draw,
        )


def place_pictures(prompt: str, n: int) -> list[str | int]:
    """Split a prompt where `<image 1>` first names a picture, given as a number from 0; unnamed ones come first."""
    parts: list[str | int] = []
    start = 0
    for match in re.finditer(_NAMED_PICTURE, prompt):
        number = int(match[1]) - 1
        if 0 <= number < n and number not in parts:
            parts += [prompt[start : match.start()], number]
            start = match.end()
    parts.append(prompt[start:])
    unnamed = [number for number in range(n) if number not in parts]
    texts = [part for part in parts if isinstance(part, int) or part.strip() or len(parts) == 1]
    return [*unnamed, *texts]


def build_prompts(probes: pl.DataFrame, images: Images, template: Template) -> PromptBatch:
    """Write the prompts of filled probes and open their pictures."""
    prompts, labels = write_prompts(probes, template).to_list(), list_labels(probes, template).to_list()
    shown = show_all_pictures(probes, images)
    further = [own[1:] for own in shown] if images.has_several else None
    return PromptBatch(prompts, [own[0] if own else None for own in shown], labels, further)


def build_blind_prompts(probes: pl.DataFrame, template: Template) -> PromptBatch:
    """Write the prompts of filled probes without opening any picture."""
    labels = list_labels(probes, template).to_list()
    return PromptBatch(write_prompts(probes, template).to_list(), [None] * probes.height, labels)


def choose_template(name_or_path: str | None) -> Template:
    """Find a template by name (`short`, `short@1`) or read it from a file; None fits a template to each probe."""
    wanted = name_or_path or AUTO
    name, _, version = wanted.partition("@")
    if name in TEMPLATES:
        template = TEMPLATES[name]
        if version and wanted != template.identity:
            advice = "use that one, or save the older wording as a template file"
            raise SettingError(f"the template {template.identity}", repr(wanted), advice)
        return template
    if Path(wanted).is_file():
        return _read_template(Path(wanted))
    raise unknown_name("template", wanted, tuple(TEMPLATES))


def write_prompts(probes: pl.DataFrame, template: Template) -> pl.Series:
    """Write the prompt of each filled probe."""
    content = _collect_fields(probes, template)
    _check_fields(template, content.columns)
    guess = pl.when(_asks_to_guess(content)).then(pl.lit(template.guess))
    text = _fill(template.open)
    if template.choice is not None:
        text = pl.when(pl.col("options").is_not_null()).then(_fill(template.choice)).otherwise(text)
    return content.select(
        pl.concat_str(guess, text, separator="\n", ignore_nulls=True).str.strip_chars("\n").alias("prompt")
    ).to_series()


def list_labels(probes: pl.DataFrame, template: Template) -> pl.Series:
    """List the possible answers to each probe (List(String)): labels if its options are listed, else their texts."""
    options = _number_options(probes, template)
    column = "label" if template.choice is not None else "option"
    return _regroup(options, pl.col(column), probes.height)


def _read_template(path: Path) -> Template:
    """Read the fields of a template from YAML or JSON; any other file is itself the wording."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from None
    if path.suffix not in {".yaml", ".yml", ".json"}:
        return Template(path.stem, open=text.strip("\n"), choice=text.strip("\n") if "{options}" in text else None)
    try:
        content = parse_yaml(text)
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(content, dict):
        raise _damaged(path, type(content).__name__)
    declared: dict[str, Any] = get_type_hints(Template)
    settings: dict[str, Any] = fit_settings("template", declared, {"name": path.stem} | content)
    return Template(**settings)


def _damaged(path: Path, found: str) -> FileFormatError:
    names = ", ".join(each.name for each in fields(Template))
    return FileFormatError(f"a template in {path}", found, f"write a mapping with some of {names}")


def _collect_fields(probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Convert everything a template may use to text columns; an empty text counts as missing."""
    lists = [name for name, dtype in probes.schema.items() if dtype == pl.List(pl.String) and name != "choices"]
    options = _number_options(probes, template)
    lines = _regroup(options, pl.concat_str("label", pl.lit(". "), "option"), probes.height).list.join("\n")
    absent = [pl.lit(None, pl.String).alias(name) for name in _FIELDS if name not in probes.columns]
    content = probes.with_columns(pl.col(lists).list.join("\n"), *absent).with_columns(lines.alias("options"))
    return content.with_columns(pl.col(pl.String).replace("", None))


def _number_options(probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Return a row for each option of each probe: `row`, `label` and `option`."""
    if "choices" not in probes.columns:
        return pl.DataFrame(schema={"row": pl.UInt32, "label": pl.String, "option": pl.String})
    flat = probes.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), pl.col("choices").alias("option"))
    flat = flat.filter(pl.col("option").list.len() > 0).explode("option")
    position = pl.int_range(pl.len()).over("row")
    number = (position + 1).cast(pl.String)
    letter = position.replace_strict(dict(enumerate(_LETTERS)), default=None, return_dtype=pl.String)
    lettered = (pl.len().over("row") <= len(_LETTERS)) & (template.labels == "letters")
    return flat.select("row", pl.when(lettered).then(letter).otherwise(number).alias("label"), "option")


def _regroup(options: pl.DataFrame, line: pl.Expr, height: int) -> pl.Series:
    """Collect the options of each probe into a list, null if it has none."""
    lists = options.group_by("row", maintain_order=True).agg(line.alias("lines"))
    rows = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left")["lines"]


def _asks_to_guess(content: pl.DataFrame) -> pl.Expr:
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
    """Raise an error for a field that probes never have: its line would silently be left out of every prompt."""
    for name in _names(template):
        if name not in columns:
            raise unknown_name(f"field of template {template.identity}", name, tuple(columns))


def _names(template: Template) -> list[str]:
    try:
        parts = [*Formatter().parse(template.open), *Formatter().parse(template.choice or "")]
    except ValueError as error:
        advice = "write {question} for the question, and {{ for a brace"
        raise SettingError(f"a valid text in template {template.identity}", str(error), advice) from None
    return [name for _, name, _, _ in parts if name is not None]
