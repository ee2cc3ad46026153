"""Read a page with everything that it unpacks when it is opened."""

import base64
import re
import zlib

PACKED = re.compile(r'<script type="text/plain"(?: id="([\w-]+)")?>([^<]*)</script>')


def unpacked(html: str) -> str:
    """Put what is packed in the place of its script, except for files."""
    return PACKED.sub(lambda found: "" if found[1] else _inflate(found[2]), html)


def files_of(html: str) -> dict[str, str]:
    """List the files that a page offers, by the id of their script."""
    return {name: _inflate(packed) for name, packed in PACKED.findall(html) if name}


def _inflate(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()
