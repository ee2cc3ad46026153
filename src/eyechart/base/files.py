"""Write files and folders whole or not at all, and read them back with clear errors.

Everything is written under another name and then renamed, so a crash leaves either the old state or the new.
"""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 2  # version of datasets, studies, results and runs on disk; raised when an older eyechart could misread them
Record = TypeVar("Record")
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
_adapters: dict[type, "TypeAdapter[Any]"] = {}
_PART, _PARTS = 1 << 16, 64  # bytes per sample, and number of samples, of files that may be too large to be read whole


@cache
def our_version() -> str:
    """Return the version of the running eyechart."""
    return version("eyechart")


def adapter(kind: type) -> "TypeAdapter[Any]":
    """Return what converts a record to JSON and back; making one takes longer than most conversions."""
    if kind not in _adapters:
        from pydantic import TypeAdapter

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces `path` when the block succeeds.

    The target of a link is replaced, not the link; pipes and devices cannot be replaced and are written to directly.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with _writing(path, path):
            yield path
        return
    target = _resolve_links(path)
    _make_folder(target.parent)
    draft = target.with_name(f".{target.name}.draft")
    try:
        with _writing(path, draft):
            yield draft
            draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _resolve_links(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextmanager
def _writing(path: Path, draft: Path) -> Iterator[None]:
    """Raise an error about `path` if its draft cannot be written; errors about other files propagate."""
    try:
        yield
    except (ConnectionError, TimeoutError):  # from the network, or a closed pipe
        raise
    except OSError as error:
        if error.filename not in (None, str(draft)):
            raise
        raise unwritable(path, error) from None
    except PolarsError as error:
        if "(os error " not in str(error):  # how Polars words errors such as a full disk
            raise
        raise unwritable(path, error) from None


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"a folder to write to at {path}", str(error.strerror), "name another place") from None


@contextmanager
def replacing_folder(folder: Path, mark: str = "manifest.json", ours: Collection[str] | None = None) -> Iterator[Path]:
    """Yield an empty folder to fill, which replaces `folder` when the block succeeds.

    Only a folder with the file `mark`, which is one we wrote, is ever replaced; if `ours` lists everything we write
    there, only one without any other files.
    """
    folder = _resolve_links(folder)
    if folder.exists() and not (folder / mark).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileFormatError(f"{folder} to be empty or written by eyechart", "other files", "name another place")
    if ours is not None and folder.is_dir() and (foreign := sorted({each.name for each in folder.iterdir()} - {*ours})):
        advice = "name another place, or move that file away first"
        raise FileFormatError(f"only files written by eyechart in {folder}", foreign[0], advice)
    _make_folder(folder.parent)
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise unwritable(folder, error) from None
    draft.chmod(0o755)  # mkdtemp excludes other users, but results are shared like any other folder
    old = draft.with_name(f"{draft.name}.old")
    try:
        yield draft
        if folder.exists():
            folder.rename(old)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


class TemporaryFolder:
    """A temporary folder, deleted with the last object that refers to this one or when the process ends."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="eyechart-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing into a folder at the same time; create it if it does not exist."""
    import fcntl  # here, because Windows has no such module; all else in this file works there

    _make_folder(folder)
    mark = folder / ".writing"
    try:
        lock_file = mark.open("w")
    except OSError as error:
        raise unwritable(folder, error) from None
    with lock_file:
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            advice = "wait for it, or name another folder"
            raise SettingError(f"no other process writing to {folder}", "one that is", advice) from None
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)


def digest_arrays(folder: Path) -> str:
    """Hash the array files of a folder by their sizes and evenly spaced samples of their bytes."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.npy")):
        size = file.stat().st_size
        digest.update(f"{file.name} {size} ".encode())
        with file.open("rb") as content:
            for part in range(_PARTS):
                content.seek(max(size - _PART, 0) * part // (_PARTS - 1))
                digest.update(content.read(_PART))
    return digest.hexdigest()[:16]


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet."""
    with replacing(path) as draft:
        table.write_parquet(draft)


def read_table(path: Path) -> pl.DataFrame:
    """Read a Parquet table we wrote."""
    with reading(path):
        require_regular(path)
        return pl.read_parquet(path)


def scan_table(path: Path) -> pl.LazyFrame:
    """Read a Parquet table we wrote lazily; its columns are read at once, so that a torn file is an error here."""
    with reading(path):
        require_regular(path)
        scan = pl.scan_parquet(path, glob=False)
        scan.collect_schema()
    return scan


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise our errors about a table that is missing or damaged."""
    try:
        yield
    except FileNotFoundError:
        raise missing(path) from None
    except PermissionError as error:
        raise unreadable(path, error) from None
    except (PolarsError, OSError) as error:
        raise damaged(path, str(error)) from None


def require_regular(path: Path) -> None:
    """Raise an error for a pipe or a device, which would hang whoever opened it; other faults are the reader's."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise FileFormatError(f"a file at {path}", "a pipe or device", "write it to a file first")


def damaged_inside(error: PolarsError) -> FileFormatError | None:
    """Convert the error of a query over a table of which only the columns can be read; None for other errors."""
    return damaged("tables", str(error)) if str(error).startswith("parquet: ") else None


def write_record(record: object, path: Path) -> None:
    """Write a dataclass or a mapping as JSON, with the format and the version."""
    content = adapter(type(record)).dump_python(record, mode="json")
    with replacing(path) as draft:
        marks = {"format": FORMAT, "eyechart": our_version()}
        draft.write_text(json.dumps(marks | content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(path: Path, kind: type[Record], upgrade: Upgrade | None = None) -> Record:
    """Read a record we wrote; raise an error if it is damaged, of another kind or of a newer version.

    `upgrade` converts the content of an older format to the current one.
    """
    from pydantic import ValidationError

    found, content = _read_content(path)
    try:
        if upgrade is not None and found < FORMAT:
            content = upgrade(content)
        read: Record = adapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("kind",) and first["type"] == "literal_error" and isinstance(first["input"], str):
            raise _of_another_kind(path, first["ctx"]["expected"].strip("'"), first["input"]) from None
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise damaged(path, reason) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(path, str(error)) from None
    return read


def read_format(path: Path) -> int:
    """Return the format that a record was written in."""
    return _read_content(path)[0]


def _read_content(path: Path) -> tuple[int, dict[str, Any]]:
    """Return the format and the content of a record, refusing newer formats."""
    try:
        require_regular(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        found, writer = int(content.pop("format")), content.pop("eyechart", "unknown")
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(path, str(error)) from None
    if found > FORMAT:
        written = f"format {found}, written by eyechart {writer}"
        raise FileFormatError(f"{path} in format {FORMAT} or older", written, "upgrade eyechart to read it")
    return found, content


def _of_another_kind(path: Path, wanted: str, found: str) -> FileFormatError:
    location = path.parent if path.name == "manifest.json" else path  # a manifest represents its folder
    return FileFormatError(f"a {wanted} at {location}", f"a {found}", f"give a {wanted}")


def missing(path: Path) -> FileFormatError:
    """Build the error for a missing file."""
    return FileFormatError(f"a file at {path}", "none", "check the path, or create it again")


def unreadable(path: Path, error: OSError) -> FileFormatError:
    """Build the error for a file that exists but cannot be read."""
    return FileFormatError(f"to read {path}", _reason(error), "check the path and its permissions")


def unwritable(path: Path, error: Exception) -> FileFormatError:
    """Build the error for a path that cannot be written to."""
    return FileFormatError(f"to write {path}", _reason(error), "name another place, or make room")


def _reason(error: Exception) -> str:
    """Return the reason given by the system."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def damaged(path: Path | str, reason: str) -> FileFormatError:
    """Build the error for a file that cannot be trusted."""
    found = f"a damaged file ({reason.splitlines()[0] if reason else 'no reason given'})"
    return FileFormatError(f"{path} to be intact", found, "create it again")
