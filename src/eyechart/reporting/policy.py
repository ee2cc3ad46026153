"""Give a page a content security policy that allows the scripts and styles of our templates, and nothing else.

Every script and style that stands in the source of a template gets a nonce, before anything from data is filled in. So
markup that came from data, through some mistake of escaping, would be without it and do nothing. A nonce is a hash of
the whole page: the same page is the same bytes, and nobody who writes data can know it beforehand.
"""

import re
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = (
    "default-src 'none'; img-src data: blob:; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
    "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
_DATA = r"[^>]*\btype=\"(?:application/json|text/plain)\""  # scripts that are data, and run nothing
_OWN_TAG = re.compile(rf"<(style|script(?!{_DATA}))\b")
_HEAD = "<head>"


def mark_templates(templates: "Environment") -> str:
    """Mark the scripts and styles in the sources of templates that are opened from now on; return the mark."""
    from jinja2.ext import Extension

    mark = uuid4().hex  # not in the data, for nobody knows it beforehand

    class Marking(Extension):
        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            del name, filename
            return _OWN_TAG.sub(rf'<\1 nonce="{mark}"', source)

    templates.add_extension(Marking)
    return mark


def secure(page: str, mark: str) -> str:
    """Replace the mark by the nonce of a page, and add the policy to its head."""
    nonce = sha256(page.replace(mark, "").encode()).hexdigest()[:32]
    policy = POLICY.format(nonce=nonce)
    meta = f'{_HEAD}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace(mark, nonce).replace(_HEAD, meta, 1)
