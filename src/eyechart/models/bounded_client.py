"""Receive replies of a limited size: a client for OpenAI's library that stops reading at the limit.

A compressed reply is decompressed as it arrives and its size counted then, so that a small file that unpacks to
gigabytes is stopped as well. Redirects are not followed: prompts and pictures go to the named address alone.
"""

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import DefaultAsyncHttpxClient

_COMPRESSED = ("gzip", "x-gzip", "deflate")
_EITHER = 32 + zlib.MAX_WBITS  # read both forms by their headers
_REWRITTEN = ("content-encoding", "content-length", "transfer-encoding")  # headers that hold no longer


def open_client(most_bytes: int, timeout: float) -> "DefaultAsyncHttpxClient":
    """Open a client that refuses replies of more bytes than these."""
    from openai import DefaultAsyncHttpxClient

    class BoundedClient(DefaultAsyncHttpxClient):
        """Read a reply up to the limit, whatever its encoding."""

        async def send(self, request: Any, **options: Any) -> Any:  # noqa: ANN401 - the client's own types
            """Send a request, and return the whole reply."""
            request.headers["Accept-Encoding"] = "gzip, deflate"  # what can be stopped in the middle
            reply = await super().send(request, **options | {"stream": True, "follow_redirects": False})
            try:
                content = await _read(reply.aiter_raw(), reply.headers.get("content-encoding", ""), most_bytes)
            finally:
                await reply.aclose()
            headers = [(name, value) for name, value in reply.headers.multi_items() if name not in _REWRITTEN]
            return type(reply)(reply.status_code, headers=headers, content=content, request=reply.request)

    return BoundedClient(timeout=timeout)


async def _read(parts: "AsyncIterator[bytes]", encoding: str, most: int) -> bytes:
    """Read a reply as it arrives, and stop as soon as it is too large."""
    from openai import OpenAIError  # which the library passes on at once: another attempt would be as large

    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", *_COMPRESSED}:
        raise OpenAIError(f"a reply in the encoding {encoding[:40]!r}, which was not asked for")
    decoder = zlib.decompressobj(_EITHER) if encoding in _COMPRESSED else None
    content = bytearray()
    async for part in parts:
        try:
            content += decoder.decompress(part, most + 1 - len(content)) if decoder else part
        except zlib.error:
            raise OpenAIError(f"a reply that is not in its encoding {encoding!r}") from None
        if len(content) > most:
            raise OpenAIError(f"a reply of more than {most:,} bytes")
    return bytes(content)
