"""Ways to damage files, drawn from a seeded generator: each takes sound files and returns others in their place."""

import copy
import gzip
import io
import json
import math
import tarfile
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

Files = dict[str, bytes]
Damage = Callable[[Random, Files], Files]

ODD_TEXTS = [
    "",
    " ",
    "\0",
    "\u2028",
    "é🙂",
    "\ufeff",
    "'\"\\",
    "a\nb",
    "NaN",
    "null",
    "\u202e",
    "\ud800",
    "x" * 100_000,
]
ODD_NUMBERS = [0, -1, 2**31, 2**53 + 1, 2**64, 10**30, -(10**30), 0.5, 1e308, -0.0, math.nan, math.inf, -math.inf]
ODD_LISTS: list[Any] = [
    [],
    {},
    [None],
    [[1]],
    {"a": None},
    {"": 0},
    [1, "a"],
    [0, 0, -5, 5],
    [math.nan] * 4,
    [{"label": 1}],
]
ODD_PATHS = [
    "../secret.png",
    "/etc/passwd",
    "a\0.png",
    "x" * 300,
    "link.png",
    "pipe.png",
    "http://127.0.0.1/x",
    "file:///x",
]
DEPTHS = [20, 100, 300, 600, 900, 1_000, 1_100, 3_000, 100_000]
ODD_BYTES = [
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'"',
    b"\\",
    b",",
    b"\t",
    b"\xed\xa0\x80",
    b"\x80",
    b"{",
    b"]",
    b"NaN",
    b"1e999",
]


def damage_values(random: Random, content: Any) -> Any:  # noqa: ANN401 - any JSON
    """Change, remove or repeat up to four places of a structure."""
    broken = copy.deepcopy(content)
    for _ in range(random.randint(1, 4)):
        spots = list(_places(broken))
        if not spots:
            break
        container, key = random.choice(spots)
        deed = random.randrange(8)
        if deed < 5:
            container[key] = copy.deepcopy(_odd_value(random))
        elif deed < 7 or not isinstance(container, list):
            del container[key]
        else:
            container.append(copy.deepcopy(container[key]))
    return broken


def _odd_value(random: Random) -> Any:  # noqa: ANN401 - any JSON
    return random.choice(
        [None, True, False, *(random.choice(odd) for odd in (ODD_TEXTS, ODD_NUMBERS, ODD_LISTS, ODD_PATHS))]
    )


def _places(content: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - any JSON
    """List every (container, key) inside a JSON structure."""
    found: list[tuple[Any, Any]] = []
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        found.append((content, key))
        found += _places(value)
    return found


def tear(random: Random, files: Files) -> Files:
    """Cut a file short, overwrite a stretch of it, or repeat one."""
    name, data = _victim(random, files)
    start = random.randint(0, len(data))
    stop = random.randint(start, len(data))
    garbage = random.randbytes(random.randrange(20))
    torn = random.choice([data[:start], data[:start] + garbage + data[stop:], data[:stop] + data[start:]])
    return files | {name: torn}


def flip(random: Random, files: Files) -> Files:
    """Change a few bytes."""
    name, data = _victim(random, files)
    changed = bytearray(data)
    for _ in range(random.randint(1, 8) if data else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return files | {name: bytes(changed)}


def insert(random: Random, files: Files) -> Files:
    """Insert bytes that mean something to a parser, once or very often."""
    name, data = _victim(random, files)
    place = random.randint(0, len(data))
    return files | {name: data[:place] + random.choice(ODD_BYTES) * random.choice([1, 1, 2, 5_000]) + data[place:]}


def nest(random: Random, files: Files) -> Files:
    """Put a value that is nested deeply in place of one, or of the whole file."""
    name, data = _victim(random, files)
    depth = random.choice(DEPTHS)
    start, end = random.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"[", b""), (b"- ", b"")])
    inner = random.choice([b"1", b'"a"', b""])
    deep = start * depth + inner + end * depth
    places = [at for at in range(len(data)) if data[at : at + 1] in b':[,"']
    place = random.choice(places) + 1 if places and random.random() < 0.8 else 0
    after = data.find(random.choice([b",", b"}", b"]", b"\n"]), place)
    return files | {name: data[:place] + deep + (data[after:] if after >= 0 and place else b"")}


def encode(random: Random, files: Files) -> Files:
    """Write text in another encoding, with other ends of lines, or with marks."""
    name, data = _victim(random, files)
    text = data.decode("utf-8", errors="replace")
    changed = random.choice(
        [
            text.encode("utf-16"),
            text.encode("utf-16-be"),
            text.encode("utf-16")[:-1],
            text.replace("a", "\xe4").encode("latin-1", errors="replace"),
            b"\xef\xbb\xbf" * 2 + data,
            data.replace(b"\n", b"\r"),
            data.replace(b"\n", b"\r\n\r\n"),
            data.replace(b'"', "\u201c".encode()),
            data.replace(b"e", b"\\ud800"),
            b"\0" + data,
            data * 3,
            b"",
            b"\n\n",
        ]
    )
    return files | {name: changed}


def pack(random: Random, files: Files) -> Files:
    """Pack the files as archives, of which some name other places, link there, repeat names or are damaged."""
    form = random.choice(["gz", "zip", "tar", "tar.gz"])
    if form == "gz":
        name, data = _victim(random, files)
        packed = {**{key: value for key, value in files.items() if key != name}, f"{name}.gz": gzip.compress(data)}
    elif form == "zip":
        packed = {"files.zip": _zip(random, files)}
    else:
        packed = {f"files.{form}": _tar(random, files, "w:gz" if form == "tar.gz" else "w")}
    return tear(random, packed) if random.random() < 0.3 else packed


def _zip(random: Random, files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(
                random.choice([name, name, f"../../{name}", f"/{name}", f"a/{name}", f"..\\{name}"])
            )
            entry.external_attr = random.choice([0o644, 0o644, 0o120777]) << 16  # the last is a link
            archive.writestr(entry, random.choice([data, data, b"/etc/passwd"]))
    packed = bytearray(out.getvalue())
    if random.random() < 0.2 and len(packed) > 8:
        packed[6] |= 1  # protected by a password, it says
    return bytes(packed)


def _tar(random: Random, files: Files, mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # either mode writes
        for name, data in files.items():
            entry = tarfile.TarInfo(random.choice([name, name, f"../../{name}", f"/{name}", f"a/{name}"]))
            entry.type = random.choice(
                [tarfile.REGTYPE] * 4 + [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
            )
            entry.linkname = random.choice(["/etc/passwd", name, "../secret.json"])
            entry.size = len(data) if entry.type == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _victim(random: Random, files: Files) -> tuple[str, bytes]:
    name = random.choice(sorted(files))
    return name, files[name]


def swap(random: Random, files: Files) -> Files:
    """Give a file the content of another kind, or of another file."""
    name, _ = _victim(random, files)
    other = random.choice(
        [
            files[random.choice(sorted(files))],
            b"PAR1" * 9,
            b"PK\3\4" + b"\0" * 90,
            b"\x93NUMPY\1\0",
            b"\x1f\x8b" + b"\0" * 30,
            b"ARROW1\0\0",
            b"<html>404",
            b"null",
            b"[]",
            b"{}",
            b"3",
            b'"a"',
            b"[[]]",
            b"{}\n{}\n",
        ]
    )
    return files | {name: other}


DAMAGES: dict[str, Damage] = {
    "bytes cut, overwritten or repeated": tear,
    "bytes changed": flip,
    "marks inserted": insert,
    "nested deeply": nest,
    "other encodings": encode,
    "archives": pack,
    "other content": swap,
}


def dumps(content: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Write JSON as lenient programs do: NaN and Infinity are written as they are."""
    return json.dumps(content).encode("utf-8", errors="surrogatepass")
