"""Show videos as frames: evenly spaced ones, from a folder of frames or a file for each video.

Frames of a file are written once, when the data are read, as pictures of the dataset: so every later step, on any
machine, sees the same pixels without decoding again, and answers in the cache stay valid whatever is decoded with.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from eyechart.base.errors import DataError, FileFormatError, MissingExtraError, SettingError
from eyechart.base.files import TemporaryFolder, replacing
from eyechart.base.progress import tracked
from eyechart.data.dataset import Dataset
from eyechart.data.images import PICTURES as LISTED
from eyechart.data.images import Images
from eyechart.data.picture_files import PIXELS, Pixels
from eyechart.data.tables import IMAGES
from eyechart.formats.images import PICTURES
from eyechart.formats.rows import count_table, noted

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

VIDEO = "video"
SUFFIXES = (".mp4", ".webm", ".mkv", ".mov", ".avi", ".m4v", ".mpg", ".mpeg", ".flv", ".gif")
QUALITY = 95  # of the JPEG files of frames
# A playlist would be opened as a video too, and with it whatever other files it names.
_SAFE = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,flv,gif",
}


class Frame(NamedTuple):
    """A picture of a video: its file under the root of pictures, its time in seconds, and its size."""

    path: str
    time: float | None = None
    width: int | None = None
    height: int | None = None


def with_frames(data: Dataset, videos: Path, frames: int = 8, to: Path | None = None) -> Dataset:
    """Show frames of the videos that the modality `video` names, which thereby become the images of the data.

    `videos` has a folder of frames, or a file, for each video; `to` is the folder that frames of files are written to,
    by default a temporary one.
    """
    _check(data, videos, frames)
    names = data.examples[VIDEO].drop_nulls().unique().sort().to_list()
    folders = _find(names, (path for path in videos.rglob("*") if path.is_dir() and _list_frames(path)), videos)
    files = {} if folders else _find(names, (path for path in videos.rglob("*") if _is_video(path)), videos)
    if not folders and not files:
        found = f"none named like {names[0]!r}" if names else "no names of videos in the data"
        advice = "name them after the videos, as in NAME.mp4 or NAME/0001.jpg"
        raise FileFormatError(f"files or folders of frames in {videos}", found, advice)
    owner = TemporaryFolder() if to is None and files else None
    root = videos if folders else owner.folder if owner else to or videos
    shown, damaged = _decode_all(files, frames, root) if files else (_choose_all(folders, frames, videos), 0)
    return _show(data, Images(_table(shown), root, data.images.features, owner=owner), shown, damaged, frames)


def read_frames(path: Path, n: int) -> list[tuple[float, Pixels]]:
    """Decode n frames of a video, each the one shown in the middle of an equal part, or all if it has fewer.

    Raises an OSError if the video is damaged anywhere where a frame should be.
    """
    import av

    try:
        with av.open(str(path), options=_SAFE) as container:
            if not container.streams.video:
                raise OSError("no pictures in it")
            stream = container.streams.video[0]
            frames: dict[float, VideoFrame] = {}
            for target in _middles(container, stream, n):
                frame = _frame_at(container, stream, target)
                frames.setdefault(round(float(frame.time), 3), frame)
            return [(time, _pixels(frame)) for time, frame in frames.items()]
    except (av.FFmpegError, ValueError) as error:
        raise OSError(str(error)) from None


def _check(data: Dataset, videos: Path, frames: int) -> None:
    if VIDEO not in data.columns:
        advice = "say which column names the videos, as in --modality video=videoID"
        raise DataError("a modality 'video' of the data", f"modalities {', '.join(data.modalities)}", advice)
    if data.examples["image"].is_not_null().any():
        advice = "leave one of them out"
        raise DataError("examples of videos alone", "examples with an image as well", advice)
    if frames < 1:
        raise SettingError("at least one frame", str(frames), "8 are usual")
    if not videos.is_dir():
        raise FileFormatError(f"a folder of videos at {videos}", "none", "check the path")


def _find(names: Sequence[str], paths: Iterable[Path], root: Path) -> dict[str, Path]:
    """Find the path of each video, by its whole path under the root, else by its name, with or without the suffix."""
    known: dict[str, set[Path]] = {}
    for path in paths:
        below = path.relative_to(root)
        for key in {below.as_posix(), below.with_suffix("").as_posix(), path.name, path.stem}:
            known.setdefault(key, set()).add(path)
    for name in names:
        if len(paths_of := sorted(known.get(name, ()))) > 1:
            found = " and ".join(map(str, paths_of[:2]))
            raise FileFormatError(
                f"one file or folder for the video {name!r}", found, "remove the one that is not meant"
            )
    return {name: next(iter(known[name])) for name in names if name in known}


def _list_frames(folder: Path) -> list[Path]:
    """List the pictures of a folder in order: frame 10 follows frame 9."""
    files = [path for path in folder.iterdir() if path.suffix.lower() in PICTURES]
    return sorted(files, key=lambda path: [(part.isdigit(), part.zfill(20)) for part in re.split(r"(\d+)", path.name)])


def _is_video(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()


def _choose_all(folders: Mapping[str, Path], n: int, root: Path) -> dict[str, list[Frame]]:
    shown = {}
    for name, folder in folders.items():
        files = _list_frames(folder)
        chosen = dict.fromkeys(int((part + 0.5) * len(files) / n) for part in range(n))
        shown[name] = [Frame(files[number].relative_to(root).as_posix()) for number in chosen]
    return shown


def _decode_all(files: Mapping[str, Path], n: int, to: Path) -> tuple[dict[str, list[Frame]], int]:
    """Write the frames of every video that can be decoded, and count the others."""
    try:
        import av  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtraError("the package av, to decode videos", "none", "pip install 'eyechart[video]'") from None
    shown: dict[str, list[Frame]] = {}
    to.mkdir(parents=True, exist_ok=True)
    with tracked("decoding videos", len(files)) as advance:
        for name, path in files.items():
            with suppress(OSError):
                shown[name] = [_write(name, time, pixels, to) for time, pixels in read_frames(path, n)]
            advance(1)
    return shown, len(files) - len(shown)


def _write(video: str, time: float, pixels: Pixels, folder: Path) -> Frame:
    """Write a frame under a hash, because no name from the data may become a path."""
    from PIL import Image

    name = f"{sha256(video.encode()).hexdigest()[:16]}-{time:010.3f}.jpg"
    with replacing(folder / name) as draft:
        Image.fromarray(pixels).save(draft, "jpeg", quality=QUALITY, subsampling=0)
    return Frame(name, time, pixels.shape[1], pixels.shape[0])


def _middles(container: "InputContainer", stream: "VideoStream", n: int) -> list[float]:
    """List the middles of n equal parts of a video, in seconds."""
    if stream.duration is not None and stream.time_base is not None:
        length = float(stream.duration * stream.time_base)
    elif container.duration is not None:
        length = container.duration / 1_000_000
    else:
        raise OSError("no length stated in it")
    if stream.width * stream.height > PIXELS:
        raise OSError(f"{stream.width} x {stream.height} pixels, more than the {PIXELS:,} allowed")
    start = float((stream.start_time or 0) * (stream.time_base or 0))
    return [start + length * (part + 0.5) / n for part in range(n)]


def _frame_at(container: "InputContainer", stream: "VideoStream", target: float) -> "VideoFrame":
    """Decode the frame that is shown at a time: the last one that begins before it."""
    container.seek(int(target / float(stream.time_base or 1)), stream=stream)
    shown = None
    for frame in container.decode(stream):
        if shown is not None and (frame.time is None or frame.time > target):
            break
        shown = frame
    if shown is None or shown.time is None:
        raise OSError(f"no frame at {target:.1f} s")
    return shown


def _pixels(frame: "VideoFrame") -> Pixels:
    """Turn a frame upright, as players show it."""
    return np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90)))


def _table(shown: Mapping[str, Sequence[Frame]]) -> pl.DataFrame:
    """Build a row for each video and one for each frame."""
    rows: list[dict[str, object]] = []
    for name, frames in shown.items():
        names = [f"{name}@{frame.path if frame.time is None else f'{frame.time:.3f}'}" for frame in frames]
        listed = [{"image": each, "time": frame.time} for each, frame in zip(names, frames, strict=True)]
        rows.append({"image": name, "width": frames[0].width, "height": frames[0].height, LISTED: listed})
        rows += [frame._asdict() | {"image": each} for each, frame in zip(names, frames, strict=True)]
    columns = {name: IMAGES.columns[name].dtype for name in ("image", "path", "width", "height", LISTED)}
    return pl.DataFrame(rows, schema=columns, orient="row", strict=False)


def _show(data: Dataset, images: Images, shown: Mapping[str, Sequence[Frame]], damaged: int, frames: int) -> Dataset:
    """Make the videos the images of examples, and count what cannot be shown."""
    known = pl.col(VIDEO).is_in(list(shown))
    examples = data.examples.with_columns(image=pl.when(known).then(VIDEO))
    modalities = ("image", *(name for name in data.modalities if name not in {"image", VIDEO}))
    counts = count_table(
        [
            noted("video that is damaged, left out", damaged),
            noted(f"video of fewer than {frames} frames", sum(len(each) < frames for each in shown.values())),
            noted("row whose video cannot be shown", examples["image"].null_count()),
        ]
    )
    counts = pl.concat([data.counts, counts])
    return replace(data, examples=examples, images=images, modalities=modalities, counts=counts)
