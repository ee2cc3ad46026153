"""Find the file of a picture and turn it into pixels; every part of eyechart that shows a picture opens it here.

The pixels are those that people see: turned as the EXIF orientation says, transparent parts over white, 16 bits a
channel reduced to 8, of several frames the first. What has no certain meaning as colours is refused.
"""

import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import SEEK_END
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.base.errors import DataError, EyechartError, FileFormatError
from eyechart.base.fetching import BYTES

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

Pixels = NDArray[np.uint8]  # height x width x 3
Size = tuple[int, int]  # width, height

PIXELS = 64_000_000  # at most: a small file can hold a very large picture
KINDS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # not EPS, which would be run as a program
TURNED = "turned upright, as its EXIF orientation says"
TRANSPARENT = "partly transparent, shown over white"
ANIMATED = "of several frames or pages, the first shown"
DEEP = "of more than 8 bits a channel, shown with 8"
_ORIENTATION = 0x0112  # the EXIF tag
WHITE, MOST = 65_535, 255  # the largest values of 16 and of 8 bits
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0  # the TIFF tag
SIDEWAYS = 5  # the first of the four orientations that swap width and height
_ENDS = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82", "GIF": b";"}
_TAIL = 16  # bytes at the end of a file where its end mark must be
_MARKS = (b"eXIf", b"tiff:Orientation", b"Raw profile type exif")  # in a PNG file that may have an orientation

_TURNS: dict[int, Callable[[Pixels], Pixels]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: pixels.swapaxes(0, 1)[::-1, ::-1],
    8: np.rot90,
}


class PictureTraits(NamedTuple):
    """The size of a picture as stored, its EXIF orientation, what to say of it, and whether its pixels changed.

    They `changed` if eyechart showed others before it minded what the remarks say.
    """

    stored: Size
    orientation: int
    remarks: tuple[str, ...] = ()
    changed: bool = False

    @property
    def upright(self) -> Size:
        """Return the size of the picture as people see it."""
        return self.stored[::-1] if self.orientation >= SIDEWAYS else self.stored


class Decoded(NamedTuple):
    """The pixels of a picture, the others that eyechart showed formerly, if any, and the EXIF orientation."""

    pixels: Pixels
    former: Pixels | None
    orientation: int


def find_picture(image: str, path: str | None, root: Path | None, links: Sequence[Path] = ()) -> Path:
    """Return the file of an image; links are resolved and must lead into the root or one of the folders `links`."""
    if path is None:
        advice = "read the data with the folder of its pictures: images=FOLDER"
        raise DataError(f"the path of a picture for image {image!r}", "none in the images table", advice)
    if "://" in path:
        raise DataError(f"a file as the picture of image {image!r}", f"the address {path}", "download it first")
    if "\0" in path:
        raise DataError(f"the path of a picture for image {image!r}", f"{path!r}, with a NUL", "correct the path")
    if root is not None and not Path(normpath(path)).is_relative_to(normpath(root)):
        found = f"the path {path}"
        raise DataError(f"the picture of image {image!r} under {root}", found, "give the folder that contains them all")
    target = resolve(Path(path))
    if root is not None and target is not None and not is_inside(target, (root, *links)):
        found = f"{path}, a link to {target}"
        advice = f"copy it there, or allow its folder with --allow-links {target.parent}"
        raise DataError(f"the picture of image {image!r} under {root}", found, advice)
    return Path(path)


def is_inside(target: Path, folders: Sequence[Path]) -> bool:
    """Return whether a resolved path is in one of some folders."""
    return any(target.is_relative_to(folder.resolve()) for folder in folders)


def resolve(path: Path) -> Path | None:
    """Resolve all links of a path; None for a loop of links, and for a name that no file can have."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def stat_picture(image: str, path: Path) -> tuple[int, int]:
    """Return when a file was changed, and its size; what is no file, such as a pipe, would hang whoever opened it."""
    expected = f"the picture of image {image!r} at {path}"
    try:
        status = path.stat()
    except OSError as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise FileFormatError(expected, found, "add the file, or leave out its examples") from None
    if not stat.S_ISREG(status.st_mode):
        found = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe or device"
        raise FileFormatError(expected, found, "put a file there, or leave out its examples")
    return status.st_mtime_ns, status.st_size


def read_header(path: Path) -> PictureTraits:
    """Read the size and the orientation of a picture, without decoding it."""
    with _explaining(path), _begin(path, stat_picture(path.name, path)[1]) as file:
        return read_traits(file, path.read_bytes)


def inspect_file(path: Path) -> PictureTraits:
    """Find what is special about a picture; it is decoded only where its header and its end leave that open."""
    size = stat_picture(path.name, path)[1]
    with _explaining(path):
        with _begin(path, size) as file:
            traits = read_traits(file, path.read_bytes)
            transparent, remarks = _may_be_transparent(file), [DEEP] if _is_deep(file) else []
            is_sure = not remarks and not transparent and ends_well(str(file.format), _read_tail(path))
            if file.format != "MPO" and _is_animated(file):  # the further pictures of a camera are no frames
                remarks.append(ANIMATED)
            turned = traits.orientation in _TURNS and file.format != "TIFF"
        changed = turned if is_sure else decode(path, size).former is not None
        if traits.orientation in _TURNS:
            remarks.append(TURNED)
        if transparent and changed:
            remarks.append(TRANSPARENT)
        return traits._replace(remarks=tuple(remarks), changed=changed)


def check_file(path: Path) -> None:
    """Raise an OSError for a file that is no picture that could be shown."""
    try:
        decode(path, path.stat().st_size)
    except Exception as error:  # noqa: BLE001 - a damaged picture makes Pillow raise nearly anything
        raise OSError(str(error).partition("\n")[0] or type(error).__name__) from None


def decode_file(path: Path, size: int) -> Decoded:
    """Open a picture of so many bytes as people see it."""
    with _explaining(path):
        return decode(path, size)


def decode(path: Path, size: int) -> Decoded:
    """Open a picture, letting through the errors of Pillow, which are of nearly any kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of very many pixels or odd EXIF: our own limits are lower
        with _begin(path, size) as file:
            orientation = _read_orientation(file)  # before it is loaded, after which TIFF files no longer have it
            special, turned = _is_deep(file) or _may_be_transparent(file), orientation in _TURNS
            former = np.asarray(file.convert("RGB"))
            pixels = (
                _flatten(_reduce(file) if _is_deep(file) else np.asarray(file.convert("RGBA"))) if special else former
            )
            if turned and file.format != "TIFF":  # which Pillow turns itself
                pixels = np.ascontiguousarray(_TURNS[orientation](pixels))
    is_same = pixels is former or np.array_equal(pixels, former)
    return Decoded(pixels, None if is_same else former, orientation)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Raise our error for a file that is no picture, or a damaged one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except EyechartError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged picture makes Pillow raise nearly anything
        found = str(error).partition("\n")[0] or type(error).__name__
        raise FileFormatError(f"a picture in {path}", found, "restore the file, or leave out its examples") from None


def _begin(path: Path, size: int) -> "ImageFile":
    """Read the header of a picture, and check its size."""
    from PIL import Image

    if size > BYTES:
        raise OSError(f"{size:,} bytes, more than the {BYTES:,} allowed")
    try:
        file = Image.open(path, formats=KINDS)
    except Image.DecompressionBombError as error:
        raise OSError(str(error)) from None
    if file.width * file.height > PIXELS:
        file.close()
        raise OSError(f"{file.width:,} x {file.height:,} pixels, more than the {PIXELS:,} allowed")
    return file


def read_traits(file: "ImageFile", content: Callable[[], bytes]) -> PictureTraits:
    """Read the size and the orientation of an open picture, without decoding it."""
    # Pillow decodes a PNG file to look for an orientation after the pixels.
    may_turn = file.format != "PNG" or _has_any(content(), _MARKS)
    orientation = _read_orientation(file) if may_turn else 1
    swapped = file.format == "TIFF" and orientation >= SIDEWAYS  # Pillow gives the size after turning it
    return PictureTraits(file.size[::-1] if swapped else file.size, orientation)


def _read_orientation(file: "ImageFile") -> int:
    try:
        orientation = file.getexif().get(_ORIENTATION)
    except Exception:  # noqa: BLE001 - damaged EXIF says nothing, and the picture may be sound all the same
        return 1
    return orientation if orientation in _TURNS else 1


def _is_deep(file: "ImageFile") -> bool:
    return file.mode.startswith("I;16") or file.mode in {"I", "F"}


def _may_be_transparent(file: "ImageFile") -> bool:
    return "transparency" in file.info or file.mode in {"RGBA", "LA", "PA", "RGBa", "La"}


def _is_animated(file: "ImageFile") -> bool:
    try:
        return bool(getattr(file, "is_animated", False))
    except Exception:  # noqa: BLE001 - the frames after the first may be damaged, and are not shown
        return False


def _has_any(content: bytes, marks: Sequence[bytes]) -> bool:
    return any(mark in content for mark in marks)


def ends_well(kind: str, tail: bytes) -> bool:
    """Return whether a file ends as those of its kind do, which one that is cut short does not."""
    return kind in _ENDS and _ENDS[kind] in tail[-_TAIL:]


def _read_tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-min(_TAIL, path.stat().st_size), SEEK_END)
        return file.read()


def _reduce(file: "ImageFile") -> NDArray[np.uint8]:
    """Reduce gray values of 16 bits to their upper 8, as Pillow does in colours, and fractions to 8 bits."""
    values = np.asarray(file)
    low, high = values.min(), values.max()
    if file.mode == "F":
        if not (low >= 0 and high <= 1):  # true of NaN, too
            raise ValueError(f"fractions from {low:g} to {high:g}, where 0 to 1 would be black to white")
        gray = np.round(values * 255).astype(np.uint8)
    elif low < 0 or high > WHITE or (file.mode == "I" and file.format == "TIFF"):
        raise ValueError("whole numbers of 32 bits, whose black and white are not known")
    elif 0 < high <= MOST:
        raise ValueError(f"16 bits a pixel of which none is above {high}: all black, unless that is white")
    else:
        gray = (values >> 8).astype(np.uint8)
    if file.format == "TIFF" and getattr(file, "tag_v2", {}).get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        gray = MOST - gray  # Pillow minds this in pictures of 8 bits alone
    alpha = np.where(values == file.info.get("transparency"), 0, MOST).astype(np.uint8)
    return np.stack([gray, gray, gray, alpha], axis=2)


def _flatten(pixels: NDArray[np.uint8]) -> Pixels:
    """Lay a picture with transparency over white."""
    colors, alpha = pixels[:, :, :3].astype(np.uint16), pixels[:, :, 3:].astype(np.uint16)
    return ((colors * alpha + MOST * (MOST - alpha) + MOST // 2) // MOST).astype(np.uint8)
