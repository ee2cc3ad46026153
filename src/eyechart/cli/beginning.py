"""The verbs to begin with: demo and read."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from eyechart.audits import make_audit, runnable
from eyechart.cli import options, show
from eyechart.cli.running import command
from eyechart.dataset import FILES, PICTURES, Dataset
from eyechart.encode.heat import with_heat_evidence
from eyechart.errors import SettingError, UnknownNameError
from eyechart.files import replacing_folder
from eyechart.models import load
from eyechart.readers import read as read_data
from eyechart.readers import reader_settings
from eyechart.reporting import collect, write_report
from eyechart.run import Run
from eyechart.store import Store

DEMO_MODELS = ("seer", "cheater", "blind", "guesser")

_HEAT_HELP = "Maps of where people looked, as `QUESTION_ID.png`: what is hot becomes the evidence of `grounding`."
_FEATURES_HELP = (
    "Region features of the images, as `python -m eyechart.zoo.converters` writes them: what `train` looks at."
)
_MAP_HELP = "Our name = their column, as `question=prompt answer=label`."
_SET_HELP = "A setting of the format, as `images=500`; again for more."
_WORDS_HELP = "The file, folder or archive to read; none for a format that makes its data."

DemoOut = Annotated[Path, typer.Option("-o", "--out", help="The folder for the world, the run and the report.")]
Pictures = Annotated[int, typer.Option(help="How many pictures to make.", min=20)]
Format = Annotated[str, typer.Argument(metavar="FORMAT", help="See `eyechart ls formats`.", show_default=False)]
Words = Annotated[list[str] | None, typer.Argument(metavar="[PATH]", help=_WORDS_HELP, show_default=False)]
ReadOut = Annotated[Path, typer.Option("-o", "--out", metavar="DATA", help="The folder to write.", show_default=False)]
ReadSettings = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=_SET_HELP)]
RegionFeatures = Annotated[Path | None, typer.Option("--features", metavar="FOLDER", help=_FEATURES_HELP)]
HeatMaps = Annotated[Path | None, typer.Option("--heat-maps", metavar="FOLDER", help=_HEAT_HELP)]
Map = Annotated[list[str] | None, typer.Option("--map", metavar="NAME=COLUMN...", help=_MAP_HELP)]


def demo(
    *,
    out: DemoOut = Path("demo"),
    images: Pictures = 1000,
    seed: options.Seed = 0,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Go the whole way on the planted world.

    Make pictures and questions with planted shortcuts, so that the truth is known; audit models that look and models
    that cheat; print what was found and write a report.
    """
    progress = show.progress_bars(silent=json)
    with progress("drawing the planted world", images) as advance, replacing_folder(out / "world", ours=FILES) as draft:
        read_data("world", draft / PICTURES, seed=seed, images=images, render=True).write_into(draft)
        advance(images)
    world = Dataset.load(out / "world")
    if (out / "run" / "manifest.json").is_file():
        shutil.rmtree(out / "run")  # of an earlier demo
    run = Run(Store(out / "run"), progress=progress).start(world, command(), seed)
    run.study([make_audit(name, {"by": ["question_type"]}) for name in runnable(world)])
    for name in DEMO_MODELS:
        run.audit(load(f"world:{name}"))
    page = collect(run.store)
    place = write_report(run.store, page, out / "report.html")
    show.print_summary(page, as_json=json)
    if not json:
        typer.echo(f"report: {place}")


def read(
    format: Format,  # noqa: A002 - what it is called everywhere
    words: Words = None,
    *,
    out: ReadOut,
    map: Map = None,  # noqa: A002 - the reader's setting
    settings: ReadSettings = None,
    heat_maps: HeatMaps = None,
    features: RegionFeatures = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    json: options.Json = False,
    _config: options.Config = None,
) -> None:
    """Read files into a dataset folder.

    Count what was read and dropped, and why. After `--map question=prompt` more of the map may follow.
    """
    path, more = _path_and_map(words or [])
    given: dict[str, object] = dict(options.pairs(settings or []))
    if map or more:
        given["map"] = options.pairs([*(map or []), *more])
    with suppress(UnknownNameError):  # reading says it better, after a look at the file
        given = ({"seed": seed} if "seed" in reader_settings(format) else {}) | given
    with replacing_folder(out, ours=FILES) as draft:
        # A format that draws its own pictures leaves them in the dataset's folder.
        place = draft / PICTURES if path is None and "render" in given else path
        data = read_data(format, place, **given).sample(limit, seed)
        if heat_maps is not None:
            data = with_heat_evidence(data, heat_maps)
        if features is not None:
            from eyechart.zoo.features import with_features

            data = with_features(data, features)
        data.write_into(draft)
    sizes = {"examples": data.height, "images": data.images.kept.height}
    if json:
        show.print_json({"data": str(out), **sizes, "counts": data.counts.to_dicts()})
        return
    show.print_counts(f"{data.name}: what became of the rows", data.counts)
    typer.echo(f"{sizes['examples']:,} examples on {sizes['images']:,} images in {out}")


def _path_and_map(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Tell the path from words that go on after `--map question=prompt`, which takes only one itself."""
    paths = [word for word in words if "=" not in word or Path(word).exists()]
    if len(paths) > 1:
        advice = "name the folder or archive that holds the files"
        raise SettingError("one path to read", " ".join(paths), advice)
    return Path(paths[0]) if paths else None, [word for word in words if word not in paths]
