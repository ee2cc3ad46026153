"""The commands to start with: demo and read."""

import shutil
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from eyechart.audits import make_audit, runnable
from eyechart.base.errors import ReadingWarning, SettingError, UnknownNameError
from eyechart.base.files import replacing_folder
from eyechart.base.progress import watched_by
from eyechart.cli import ending, options, printing
from eyechart.data.dataset import FILES, PICTURES, Dataset
from eyechart.data.folder import REPORT
from eyechart.data.store import Store
from eyechart.formats import FORMATS, reader_settings, recognise, split_hub
from eyechart.formats import read as read_data
from eyechart.formats.heat_maps import with_heat_evidence
from eyechart.formats.videos import with_frames
from eyechart.models import load
from eyechart.reporting import collect, write_report
from eyechart.runs.run import Run
from eyechart.zoo.features import with_features

DEMO_MODELS = ("seer", "cheater", "cheater:decoy", "blind", "guesser")

_HEAT_HELP = "Human attention maps, as `QUESTION_ID.png`; their hot regions become the `evidence` of the examples."
_FEATURES_HELP = "Region features of the images, from `python -m eyechart.zoo.converters`; `train` needs them."
_MODALITY_HELP = "A column that is a modality, such as `video=videoID` or `audio=clip`; may be repeated."
_CLUSTER_HELP = "The column of what makes examples dependent. Default: the image; without images a modality."
_VIDEOS_HELP = "The videos that the modality `video` names: a file or a folder of frames for each."
_MAP_HELP = "Which column holds what, such as `question=prompt answer=label`."
_SET_HELP = "A setting of the format, such as `images=500`; may be repeated."
_FORMAT_HELP = (
    "The format of the files (see `eyechart ls formats`), or `hf:NAME` for a dataset of the Hugging Face hub."
)
_OUT_HELP = "The folder to write to."
_WORDS_HELP = "The file, folder or archive to read; leave it out for a format that generates its data."

DemoOut = Annotated[Path, typer.Option("-o", "--out", help="The folder for the world, the run and the report.")]
Pictures = Annotated[int, typer.Option(help="The number of pictures to draw.", min=20)]
Format = Annotated[
    str,
    typer.Argument(metavar="FORMAT", help=_FORMAT_HELP, show_default=False),
]
Words = Annotated[list[str] | None, typer.Argument(metavar="[PATH]", help=_WORDS_HELP, show_default=False)]
ReadOut = Annotated[Path, typer.Option("-o", "--out", metavar="DATA", help=_OUT_HELP, show_default=False)]
ReadSettings = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=_SET_HELP)]
RegionFeatures = Annotated[Path | None, typer.Option("--features", metavar="FOLDER", help=_FEATURES_HELP)]
Modality = Annotated[list[str] | None, typer.Option("--modality", metavar="NAME=COLUMN", help=_MODALITY_HELP)]
Cluster = Annotated[str | None, typer.Option("--cluster", metavar="COLUMN", help=_CLUSTER_HELP)]
Videos = Annotated[Path | None, typer.Option("--videos", metavar="FOLDER", help=_VIDEOS_HELP)]
Frames = Annotated[int, typer.Option("--frames", help="The number of frames to show of each video.", min=1)]
HeatMaps = Annotated[Path | None, typer.Option("--heat-maps", metavar="FOLDER", help=_HEAT_HELP)]
Map = Annotated[list[str] | None, typer.Option("--map", metavar="NAME=COLUMN...", help=_MAP_HELP)]


def demo(
    *,
    out: DemoOut = Path("demo"),
    images: Pictures = 1000,
    seed: options.Seed = 0,
    verbose: options.Verbose = False,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Run every step once on a small synthetic dataset.

    Draws pictures and questions with planted shortcuts, so that the truth is known; audits models that look at the
    pictures and models that cheat; prints the results and writes a report.
    """
    progress = printing.progress_bars(silent=json)
    with watched_by(progress), replacing_folder(out / "world", ours=FILES) as draft:
        read_data("world", draft / PICTURES, seed=seed, images=images, render=True).write_into(draft)
    world = Dataset.load(out / "world")
    store = Store(out / "run")
    if store.manifest_file.is_file():
        shutil.rmtree(store.folder)  # from an earlier demo
    run = Run(store, progress=progress).start(world, options.command_line(), seed)
    run.study([make_audit(name, {"by": ["question_type"]}) for name in runnable(world)])
    for _ in run.audit_each([load(f"world:{name}") for name in DEMO_MODELS]):
        pass
    with watched_by(progress):
        page = collect(run.store)
        path = write_report(run.store, page, out / REPORT)
    ending.print_ending(page, run.store, path, verbose=verbose, as_json=json)


def read(
    format: Format,  # noqa: A002 - its name everywhere else
    words: Words = None,
    *,
    out: ReadOut,
    map: Map = None,  # noqa: A002 - the reader's setting
    settings: ReadSettings = None,
    modality: Modality = None,
    cluster: Cluster = None,
    videos: Videos = None,
    frames: Frames = 8,
    heat_maps: HeatMaps = None,
    features: RegionFeatures = None,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    id: options.JoinedId = None,  # noqa: A002 - its name everywhere else
    yes: options.Yes = False,
    verbose: options.Verbose = False,
    json: options.Json = False,
    _trust: options.Trust = False,
    _config: options.Config = None,
) -> None:
    """Read files into a dataset folder.

    Reports how the columns were understood, how many rows were read and dropped, and why. Stops where a reading is
    doubtful, unless --yes is given. One `--map` may be followed by several columns. A file alone, without a format, is
    recognised by its content.
    """
    path, further_columns = _path_and_map(words or [])
    if path is None:
        format, hub = split_hub(format)  # noqa: A001 - as above
        path = None if hub is None else Path(hub)
    given: dict[str, object] = dict(options.pairs(settings or []))
    format, path = _name_format(format, path)  # noqa: A001
    if map or further_columns or id:
        given["map"] = options.pairs([*(map or []), *further_columns]) | ({"id": id} if id else {})
    if modality:
        given["modalities"] = options.pairs(modality)
    if cluster is not None:
        given["cluster"] = cluster
    known: Collection[str] = ()
    with suppress(UnknownNameError):  # reading raises a better one, having seen the file
        known = reader_settings(format)
    with replacing_folder(out, ours=FILES) as draft:
        defaults = {"seed": seed, "pictures": draft / PICTURES}  # pictures inside the files become files of the dataset
        given = {name: default for name, default in defaults.items() if name in known} | given
        # A format that draws its own pictures leaves them in the dataset's folder.
        source = draft / PICTURES if path is None and "render" in given else path
        with care(yes=yes):
            whole = read_data(format, source, **given)
        data = whole.sample(limit, seed)
        if videos is not None:
            data = with_frames(data, videos, frames, draft / PICTURES)
        if heat_maps is not None:
            data = with_heat_evidence(data, heat_maps)
        if features is not None:
            data = with_features(data, features)
        data.write_into(draft)
    sizes = {"examples": data.height, "images": data.images.kept.height}
    if json:
        printing.print_json({"data": str(out), **sizes, "counts": data.counts.to_dicts()})
        return
    printing.print_layout(whole, verbose=verbose)
    if verbose or data.counts.filter(pl.col("status") != "read", pl.col("n") > 0).height:
        printing.print_counts(f"{data.name}: rows read and dropped", data.counts)
    typer.echo(f"{sizes['examples']:,} examples on {sizes['images']:,} images in {out}")


@contextmanager
def care(*, yes: bool) -> Iterator[None]:
    """Stop with an error where a reading is doubtful, or only say so if the user wants to go on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ReadingWarning)
        yield
    doubts = []
    for one in caught:
        if isinstance(one.message, ReadingWarning):
            doubts.append(one.message)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    for doubt in doubts if yes else doubts[1:]:
        printing.print_error(str(doubt))
    if doubts and not yes:
        raise SettingError(doubts[0].expected, doubts[0].found, f"{doubts[0].advice}, or go on as it is with --yes")


def _name_format(name: str, path: Path | None) -> tuple[str, Path | None]:
    """Recognise the format of a file that stands alone, in the place of a format's name."""
    alone = Path(name)
    if path is not None or name in FORMATS.names() or not alone.exists() or Dataset.is_saved(alone):
        return name, path
    return recognise(alone), alone


def _path_and_map(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Separate the path from further columns of `--map`, which by itself takes only one."""
    paths = [word for word in words if "=" not in word or Path(word).exists()]
    if len(paths) > 1:
        advice = "give the folder or archive that holds the files"
        raise SettingError("one path to read", " ".join(paths), advice)
    return Path(paths[0]) if paths else None, [word for word in words if word not in paths]
