"""Read datasets of the Hugging Face hub, and folders in its forms, as tables.

A folder is one that `save_to_disk` wrote, or a repository as the hub has it: files of data, and a README.md that says
which of them are which configuration and split. A name is downloaded to the cache of the hub first, or streamed. The
files are read in batches, without their pictures (`embedded`), whatever the library would do with them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl

from eyechart.base.errors import EyechartError, FileFormatError, MissingExtraError, SettingError
from eyechart.base.files import TemporaryFolder, missing
from eyechart.base.registry import unknown_choice
from eyechart.base.yaml_text import parse_yaml
from eyechart.data.dataset import Dataset
from eyechart.formats.arrow import find_labels, name_labels
from eyechart.formats.choices import AnswerKind
from eyechart.formats.description import described
from eyechart.formats.embedded import EmbeddedPictures
from eyechart.formats.images import PICTURES
from eyechart.formats.records import TABLE_FORMATS, Records, no_rows, read_parts, reading, stack
from eyechart.formats.sources import SourceFile, find_sources
from eyechart.formats.table import Understanding, read_sources

ALL = "all"  # every configuration
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_SAVED = ("dataset_dict.json", "state.json")  # what save_to_disk writes
_DEFAULT = "default"
_BATCH = 100  # rows that are streamed at once
_CARD = "README.md"
_TABLES = ("parquet", "arrow", "json", "csv")  # the library's builders whose files we read ourselves
_DATA = (*TABLE_FORMATS, ".zip", ".tar", *PICTURES)  # suffixes of what a repository without a list of files may hold
_LONGEST = 200  # characters of an error of the libraries


class Part(NamedTuple):
    """A part of a dataset: its configuration, its split, its tables and the names of its labels."""

    config: str
    split: str
    tables: Callable[[EmbeddedPictures], Iterator[Records]]
    labels: Mapping[str, list[str]]


@described(
    needs="a dataset of the Hugging Face hub by its name, hf:ORG/NAME, or a folder of one, hf:FOLDER",
    sample="eyechart read hf:Lin-Chen/MMStar -o DATA\neyechart read hf:FOLDER -o DATA --set config=all --set split=val",
)
def read_hf(
    path: Path,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    streaming: bool = False,
    offline: bool = False,
    map: dict[str, str] | None = None,  # noqa: A002 - as in read_table
    answer_is: AnswerKind = "auto",
    detections: Path | None = None,
    pictures: Path | None = None,
) -> Dataset:
    """Read a dataset through the library `datasets`, which knows its configurations and splits.

    `config` is a configuration or `all`; `split` the splits to read, with commas between them (default: all);
    `revision` a commit, branch or tag; `streaming` reads from the hub without keeping files; `offline` reads what is in
    the cache of the hub. The others are those of `table`.
    """
    folder = path if path.exists() or streaming else _fetch(path, config, split, revision, offline=offline)
    found = list(
        _open_saved(folder) if _is_saved(folder) else _find_parts(folder, config, revision, streaming=streaming)
    )
    parts = _choose_splits(found, split)
    columns = map["image"].split(",") if map and "image" in map else ()
    embedded = EmbeddedPictures(pictures, (folder,), columns, (_cache(),))  # where the hub's own folders link to
    slim = TemporaryFolder()
    written = [_write(part, slim.folder / f"{n:05}.parquet", embedded, found) for n, part in enumerate(parts)]
    sources = [source for source, _ in written if source is not None]
    if not sources:
        raise no_rows(str(path), "none at all")
    understood = Understanding(path.name, map or {}, answer_is, None, embedded)
    return read_sources(sources, path, understood, detections, strays=sum(strays for _, strays in written))


def _fetch(path: Path, config: str | None, split: str | None, revision: str | None, *, offline: bool) -> Path:
    """Download the files of a dataset to the cache of the hub, unless they are there, and return their folder."""
    name = path.as_posix()
    if not _NAME.fullmatch(name):
        raise missing(path)
    hub = _import("huggingface_hub")
    get = partial(hub.snapshot_download, name, repo_type="dataset", revision=revision, local_files_only=offline)
    get = partial(get, cache_dir=_cache())
    with _explaining(name, f"the dataset {name} {'in the cache of' if offline else 'on'} the hub"):
        card = Path(get(allow_patterns=[_CARD])) / _CARD
        return Path(get(allow_patterns=[_CARD, *_find_patterns(card, config, split)]))


def _cache() -> Path:
    """Return the folder of the cache of the hub."""
    return Path(_import("huggingface_hub.constants").HF_HUB_CACHE)


def _find_patterns(card: Path, config: str | None, split: str | None) -> list[str]:
    """Return the files of a configuration and its splits that a card names, or those of any table or picture."""
    wanted = None if split is None else set(split.split(","))
    patterns = []
    for entry in _read_card(card).get("configs") or ():
        if config in (None, ALL, entry.get("config_name", _DEFAULT)):
            files = entry.get("data_files") or ()
            files = [{"path": files}] if isinstance(files, str) else files
            listed = [one for one in files if isinstance(one, dict)]
            paths = [one.get("path") for one in listed if wanted is None or one.get("split", "train") in wanted]
            patterns += [one for path in paths for one in ([path] if isinstance(path, str) else path or ())]
    return patterns or [f"*{suffix}{packed}" for suffix in _DATA for packed in ("", ".gz")]


def _read_card(card: Path) -> dict[str, Any]:
    """Return what stands between the lines `---` of a card."""
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    block = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    try:
        content = parse_yaml(block[1]) if block else None
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _is_saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _SAVED)


def _open_saved(folder: Path) -> Iterator[Part]:
    """List the splits of a folder that `save_to_disk` wrote."""
    datasets = _import("datasets")
    with _explaining(str(folder), f"a dataset saved by save_to_disk in {folder}"):
        saved = datasets.load_from_disk(str(folder))
    for split, data in saved.items() if isinstance(saved, dict) else [(str(saved.split or ""), saved)]:
        files = [Path(file["filename"]) for file in data.cache_files]
        yield Part(_DEFAULT, str(split), partial(_read_files, files), find_labels(data.features.to_dict()))


def _find_parts(path: Path, config: str | None, revision: str | None, *, streaming: bool) -> Iterator[Part]:
    """List the splits of each configuration of a repository."""
    datasets = _import("datasets")
    name = str(path)
    cache = TemporaryFolder()
    local = path.exists()
    with _explaining(name, f"a dataset of Hugging Face at {name}"):
        names = datasets.get_dataset_config_names(name, revision=None if local else revision)
    for each in _choose_configs(names, config, name):
        with _explaining(name, f"the configuration {each!r} of {name}"):
            builder = datasets.load_dataset_builder(
                name, name=each, revision=None if local else revision, cache_dir=str(cache.folder)
            )
            splits = {str(split): list(map(Path, files)) for split, files in (builder.config.data_files or {}).items()}
        labels = find_labels(builder.info.features.to_dict()) if builder.info.features else {}
        for split, files in splits.items():
            ours = not streaming and builder.name in _TABLES and all(file.is_file() for file in files)
            tables = partial(_read_files, files) if ours else partial(_stream, builder, split)
            yield Part(each, split, tables, labels)


def _choose_configs(names: Sequence[str], config: str | None, origin: str) -> list[str]:
    if config == ALL:
        return list(names)
    if config is None and len(names) > 1 and _DEFAULT not in names:
        found = ", ".join(names)
        advice = f"say which with config={names[0]}, or read all with config={ALL} (`--set config=...`)"
        raise SettingError(f"one configuration of {origin}", found, advice)
    chosen = config or (_DEFAULT if _DEFAULT in names else names[0])
    if chosen not in names:
        raise unknown_choice(f"a configuration of {origin}", chosen, tuple(names))
    return [chosen]


def _choose_splits(parts: Sequence[Part], split: str | None) -> list[Part]:
    if split is None:
        return list(parts)
    names = tuple(dict.fromkeys(part.split for part in parts))
    for name in split.split(","):
        if name not in names:
            raise unknown_choice("the splits to read", name, names)
    return [part for part in parts if part.split in split.split(",")]


def _write(
    part: Part, path: Path, embedded: EmbeddedPictures, all_parts: Sequence[Part]
) -> tuple[SourceFile | None, int]:
    """Write the rows of a part to a file, without their pictures, with their configuration and split.

    Return the file, unless there are no rows, and how many entries were not records.
    """
    source = SourceFile(f"{part.config}/{part.split}", ".parquet", path.read_bytes, path)
    parts = list(part.tables(embedded))
    records = stack(parts, [source]) if parts else Records(pl.DataFrame())
    if not records.table.width:
        return None, records.strays
    table = records.table.with_columns(name_labels(records.table.schema, part.labels))
    new = {}
    if len({one.config for one in all_parts}) > 1 and "config" not in table.columns:
        new["config"] = pl.lit(part.config)
    # The hub calls data without splits `train`; nothing could be judged if it were one.
    if {one.split for one in all_parts} not in ({""}, {"train"}) and "split" not in table.columns:
        new["split"] = pl.lit(part.split)
    table.with_columns(**new).write_parquet(path)
    return source, records.strays


def _read_files(files: Sequence[Path], embedded: EmbeddedPictures) -> Iterator[Records]:
    for file in files:
        for source in find_sources(file, TABLE_FORMATS):
            with reading(source):
                yield from read_parts(source, embedded)


def _stream(builder: Any, split: str, embedded: EmbeddedPictures) -> Iterator[Records]:  # noqa: ANN401 - of datasets
    """Read a split through the library, with the content of the files that it names."""
    from datasets.table import embed_table_storage

    with _explaining(str(builder.dataset_name), f"the split {split!r} of {builder.dataset_name}"):
        data = builder.as_streaming_dataset(split=split).with_format("arrow")
        labels = find_labels(data.features.to_dict()) if data.features else {}
        for batch in data.iter(batch_size=_BATCH):
            table = pl.DataFrame(embed_table_storage(batch))
            yield Records(embedded.take(table.with_columns(name_labels(table.schema, labels))))


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(f"the package {name}", "none", "pip install 'eyechart[hub]'") from None


@contextmanager
def _explaining(name: str, expected: str) -> Iterator[None]:
    """Raise our error for those of the libraries, which are of many kinds."""
    try:
        yield
    except EyechartError:
        raise
    except Exception as error:  # noqa: BLE001 - of the network, the hub, the files or the card
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"
        advice = (
            "check the name, the connection and, for data of limited access, your login; or read a copy with hf:FOLDER"
        )
        local = Path(name).exists()
        raise FileFormatError(expected, found, "download it again" if local else advice) from None
