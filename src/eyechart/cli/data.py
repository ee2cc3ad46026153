"""The verbs about data: demo, ls and read."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eyechart.audits import AUDITS, lacking, setting_names
from eyechart.cli import options, show
from eyechart.cli.running import command
from eyechart.dataset import Dataset
from eyechart.errors import SettingError
from eyechart.files import replacing_folder
from eyechart.layout import Layout
from eyechart.models import MODELS, load
from eyechart.readers import FORMATS, read as read_data, reader_settings
from eyechart.reporting import collect, report, summary_table, to_json
from eyechart.run import Run
from eyechart.scoring import SCORES
from eyechart.verbs import choose

DEMO_MODELS = ("world:seer", "world:cheater", "world:blind", "world:guesser", "world:mix:seer=0.7,blind=0.3")


class What(StrEnum):
    """What can be listed."""

    AUDITS = "audits"
    FORMATS = "formats"
    MODELS = "models"
    SCORES = "scores"


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to put the world and the run.")] = Path("demo"),
    images: Annotated[int, typer.Option(help="How many pictures to make.", min=20)] = 1000,
    seed: options.Seed = 0,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """Go the whole way on the planted world, where the truth is known: data, audits, models, report.

    \b
    Example:
      eyechart demo -o demo
    """
    silent = json
    world = _make_world(out / "world", images, seed, silent=silent)
    run = Run(Layout(out / "run"), progress=show.progress_bars(silent=silent)).start(world, command(), seed)
    run.study(choose(None, world))
    for name in DEMO_MODELS:
        run.audit(load(name))
    page = report(out / "run", out / "report.html")
    _tell(run, page, json=json)


def ls(
    what: Annotated[What, typer.Argument(help="What to list.", show_default=False)],
    data: Annotated[str | None, typer.Option("--for", metavar="DATA", help="Say which audits these data allow.")] = None,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """List audits, formats, models or scores, and what each needs.

    \b
    Example:
      eyechart ls audits --for DATA
    """
    columns, rows = LISTS[what](None if data is None else read_data(data))
    if json:
        show.print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show.print_table(what.value, columns, rows)


def read(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="See `eyechart ls formats`.", show_default=False)],  # noqa: A002
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH [NAME=COLUMN]...", help="The file or folder to read; more of --map.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DATA", help="The folder to write.", show_default=False)] = ...,  # type: ignore[assignment]
    map: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option("--map", metavar="NAME=COLUMN", help="Our name = their column, as `question=prompt answer=label`."),
    ] = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    config: options.Config = None,
    *,
    json: options.Json = False,
) -> None:
    """Read a format into a dataset folder, and count what was read and dropped, and why.

    \b
    Examples:
      eyechart read vqa2 data/vqa2 -o DATA --set detections=image_to_detection.json
      eyechart read table answers.jsonl -o DATA --map question=prompt answer=label
      eyechart read world -o DATA --set images=500 --set render=true
    """
    paths = [word for word in words or [] if "=" not in word or Path(word).exists()]
    if len(paths) > 1:
        raise SettingError("one path to read", ", ".join(paths), "name a folder or an archive that holds the files")
    given: dict[str, object] = dict(options.pairs(settings or []))
    mapping = options.pairs([*(map or []), *(word for word in words or [] if word not in paths)])
    if mapping:
        given["map"] = mapping
    if "seed" in reader_settings(format):
        given.setdefault("seed", seed)
    with replacing_folder(out) as draft:
        # A format without a path makes its data; pictures it draws belong into the dataset's folder.
        place = Path(paths[0]) if paths else (draft / "pictures" if given.get("render") else None)
        data = read_data(format, place, **given).sample(limit, seed)
        data.write_into(draft)
    _show_read(data, out, json=json)


def _make_world(folder: Path, images: int, seed: int, *, silent: bool) -> Dataset:
    with show.progress_bars(silent=silent)("drawing the planted world", images) as advance, replacing_folder(folder) as draft:
        data = read_data("world", draft / "pictures", seed=seed, images=images, render=True)
        data.write_into(draft)
        advance(images)
    return Dataset.load(folder)


def _tell(run: Run, page: Path, *, json: bool) -> None:
    collected = collect(run.at)
    if json:
        typer.echo(to_json(collected))
        return
    show.print_table(*summary_table(collected))
    typer.echo(f"report: {page}")


def _show_read(data: Dataset, out: Path, *, json: bool) -> None:
    sizes = {"examples": data.examples.height, "images": data.images.table.height}
    if json:
        show.print_json({"data": str(out), **sizes, "counts": show.counts_as_dicts(data.counts)})
        return
    show.print_counts(f"{data.name}: what became of the rows", data.counts)
    typer.echo(f"{sizes['examples']:,} examples on {sizes['images']:,} images in {out}")


Listing = tuple[Sequence[str], list[Sequence[object]]]


def _list_audits(data: Dataset | None) -> Listing:
    rows: list[Sequence[object]] = []
    for name in AUDITS.names():
        kind = AUDITS.get(name)
        row = [name, _about(kind), ", ".join(kind.needs), ", ".join(setting_names(kind))]
        if data is not None:
            lost = lacking(kind, data)
            row.append(f"no: {', '.join(lost)} missing" if lost else "yes")
        rows.append(row)
    return ["audit", "about", "needs", "settings", *(["can run"] if data is not None else [])], rows


def _list_formats(data: Dataset | None) -> Listing:  # noqa: ARG001 - all lists are asked alike
    rows = [(name, _about(FORMATS.get(name)), ", ".join(reader_settings(name))) for name in FORMATS.names()]
    return ("format", "about", "settings"), list(rows)


def _list_models(data: Dataset | None) -> Listing:  # noqa: ARG001
    return ("model", "about"), [(f"{name}:", _about(MODELS.get(name))) for name in MODELS.names()]


def _list_scores(data: Dataset | None) -> Listing:  # noqa: ARG001
    return ("score", "about", "needs"), [(name, one.about, ", ".join(one.needs)) for name, one in SCORES.items()]


LISTS: dict[What, Callable[[Dataset | None], Listing]] = {
    What.AUDITS: _list_audits,
    What.FORMATS: _list_formats,
    What.MODELS: _list_models,
    What.SCORES: _list_scores,
}


def _about(thing: object) -> str:
    return str(thing.__doc__ or "").partition("\n")[0]
