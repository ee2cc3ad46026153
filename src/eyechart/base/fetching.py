"""Download one file over http or https: bounded in bytes, time and redirects, and only from allowed hosts.

A host is resolved once; all its addresses must be public, and one of them is connected to, so that a name cannot mean
another machine a moment later. Proxies set in the environment are not used: behind one, nothing could be checked.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from threading import Timer
from urllib.parse import SplitResult, quote, urljoin, urlsplit

BYTES = 64 * 2**20  # of a file, at most
REDIRECTS = 5
SECONDS = 60.0  # for one download, all redirects included
_WAIT = 20.0  # seconds for one response from the network
_PORTS = {"http": 80, "https": 443}
_MOVED = (301, 302, 303, 307, 308)
# The first two embed IPv4 addresses; the last was for sites, and Python takes it for public.
_NOT_PUBLIC = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("fec0::/10"))
_HEADERS = {"Accept": "image/*", "User-Agent": "eyechart", "Connection": "close"}
_KEPT = "/%:=&?~+!$,;'@()*[]"  # characters that need no quoting in an address


class TransientError(OSError):
    """A failure that may not recur at the next attempt."""


def download(address: str, to: Path, *, private: bool = False) -> Path:
    """Download an address to a file; `private` allows hosts that are not public."""
    deadline = time.monotonic() + SECONDS
    for _ in range(REDIRECTS + 1):
        with _requested(address, deadline, private=private) as reply:
            if reply.status == 200:
                _copy(reply, to, deadline)
                return to
            if reply.status not in _MOVED:
                refusal = f"status {reply.status}"
                raise TransientError(refusal) if reply.status in {408, 429} or reply.status >= 500 else OSError(refusal)
            address = _follow(address, reply.headers["Location"])
    raise OSError(f"more than {REDIRECTS} redirects")


def redact_address(address: str) -> str:
    """Return an address without its query and user part, which may contain keys."""
    bare, mark, _ = address.partition("?")
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" + ("?..." if mark else "")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is public; one that embeds another address is not."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour or address.teredo or any(address in network for network in _NOT_PUBLIC):
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _split_url(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - looks at the port
    except ValueError as error:
        raise OSError(f"no address: {error}") from None
    return parts


def _follow(address: str, location: str | None) -> str:
    target = urljoin(address, location or "")
    if _split_url(address).scheme == "https" and _split_url(target).scheme == "http":
        raise OSError("a redirect from https to http")
    return target


def _look_up(parts: SplitResult, port: int, *, private: bool) -> list[str]:
    """Resolve a host to its addresses, checking that all are allowed."""
    if parts.scheme not in _PORTS or not parts.hostname:
        raise OSError(f"{parts.scheme or 'no'} address instead of http or https")
    if parts.username is not None or parts.password is not None:
        raise OSError("an address with a name or password in it")
    try:
        records = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise TransientError(f"no such host as {parts.hostname} ({error})") from None
    addresses = [str(record[4][0]) for record in records]
    if not private and not all(is_public(ip_address(address)) for address in addresses):
        raise OSError(f"{parts.hostname} is not a public host; --allow-private-http allows it")
    return addresses


@contextmanager
def _requested(address: str, deadline: float, *, private: bool) -> Iterator[HTTPResponse]:
    parts = _split_url(address)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    hosts, name = _look_up(parts, port, private=private), str(parts.hostname)
    target = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    connected = _connect(hosts, port, name if parts.scheme == "https" else None, deadline)
    end = Timer(max(0.0, deadline - time.monotonic()), _hang_up, [connected])
    end.daemon = True
    end.start()
    connection = HTTPConnection(name, None if port == _PORTS[parts.scheme] else port)
    connection.sock = connected  # to the checked address and no other
    try:
        connection.request("GET", target, headers=_HEADERS)
        with connection.getresponse() as reply:
            yield reply
    except TransientError:
        raise
    except (TimeoutError, ConnectionError, HTTPException) as error:
        late = time.monotonic() >= deadline
        raise TransientError(f"not complete after {SECONDS:.0f} s" if late else str(error) or "cut off") from None
    finally:
        end.cancel()
        connection.close()


def _connect(hosts: list[str], port: int, secure_name: str | None, deadline: float) -> socket.socket:
    """Connect to one of the addresses of a host, with TLS if there is a name to verify."""
    reasons = []
    for host in hosts:
        left = min(_WAIT, deadline - time.monotonic())
        if left <= 0:
            break
        try:
            connected = socket.create_connection((host, port), timeout=left)
            return _tls_context().wrap_socket(connected, server_hostname=secure_name) if secure_name else connected
        except ssl.SSLError as error:
            raise OSError(f"no trusted connection to {secure_name}: {error.reason}") from None
        except OSError as error:
            reasons.append(str(error))
    raise TransientError(f"no connection to {secure_name or hosts[0]}: {reasons[0] if reasons else 'too late'}")


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _hang_up(connected: socket.socket) -> None:
    """Close the connection of a download that takes too long, even if it still makes progress."""
    with suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _copy(reply: HTTPResponse, to: Path, deadline: float) -> None:
    length, size = reply.length, 0  # not all servers close the connection after the announced length
    with to.open("wb") as file:
        while (length is None or size < length) and (part := reply.read1(2**16)):
            size += len(part)
            if size > BYTES:
                raise OSError(f"over {BYTES:,} bytes")
            file.write(part)
    if time.monotonic() >= deadline:  # a closed connection then looks like the end
        raise TimeoutError
    if length is not None and size < length:
        raise TransientError(f"cut off after {size:,} bytes")
