"""Fetch pictures at http(s) addresses: only if allowed, within limits, checked, and cached by address.

Addresses come from untrusted data, and this machine may reach hosts that their author cannot. So only http(s) is
used, the host of every redirect must be public, and the connection goes to the very address that was resolved.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path

from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.fetching import TransientError, download, redact_address
from eyechart.base.progress import tracked

AT_ONCE = 8  # downloads
_ATTEMPTS = 3
_PAUSE = 0.5  # seconds before the next attempt; longer before later ones
ADDRESS = r"(?i)^https?://"  # the prefixes that distinguish an address from a file path

Check = Callable[[Path], object]


@dataclass(frozen=True)
class Web:
    """What pictures may be shown from outside their folder: fetched ones, and those that links lead to.

    Fetched pictures that are cached are always used.
    """

    public: bool = False
    private: bool = False  # also from hosts that are not public: this machine, the local network
    folder: Path | None = None
    links: tuple[Path, ...] = ()  # further folders that links in the folder of pictures may lead to

    @property
    def allowed(self) -> bool:
        """Return whether anything may be fetched at all."""
        return self.public or self.private

    def fetch(self, addresses: Iterable[str], check: Check) -> dict[str, Path]:
        """Return the file of each address, fetching those that are missing; `check` raises if one is not a picture."""
        files = {address: self._file(address) for address in addresses}
        missing = [address for address, file in files.items() if not file.is_file()]
        if missing and not self.allowed:
            advice = "download it first, or allow it with --allow-http"
            raise DataError("a file as a picture", f"the address {redact_address(missing[0])}", advice)
        if missing:
            self._fetch({address: files[address] for address in missing}, check)
        return files

    def cached(self, address: str) -> Path | None:
        """Return the file of an address if it was fetched before."""
        file = self._file(address)
        return file if file.is_file() else None

    def _fetch(self, files: dict[str, Path], check: Check) -> None:
        folder = next(iter(files.values())).parent
        folder.mkdir(parents=True, exist_ok=True)
        failed: dict[str, str] = {}
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".") as drafts,
            ThreadPoolExecutor(AT_ONCE) as pool,
            tracked("fetching pictures", len(files)) as advance,
        ):
            drafted = {
                address: pool.submit(self._try, address, Path(drafts) / files[address].name) for address in files
            }
            for address, draft in drafted.items():
                try:
                    check(draft.result())  # in this thread: the picture library's warnings are not thread-safe
                    draft.result().replace(files[address])
                except (OSError, ValueError, SyntaxError, HTTPException) as error:
                    failed[address] = str(error).partition("\n")[0] or type(error).__name__
                advance(1)
        if failed:
            address, reason = next(iter(failed.items()))
            found = reason + (f", and {len(failed) - 1} more that failed" if len(failed) > 1 else "")
            advice = "provide them as files, or leave out their examples"
            raise FileFormatError(f"a picture at {redact_address(address)}", found, advice)

    def _try(self, address: str, draft: Path) -> Path:
        for attempt in range(1, _ATTEMPTS):
            try:
                return download(address, draft, private=self.private)
            except TransientError:
                time.sleep(_PAUSE * attempt)
        return download(address, draft, private=self.private)

    def _file(self, address: str) -> Path:
        return (self.folder or default_folder()) / sha256(address.encode()).hexdigest()


def is_address(path: str) -> bool:
    """Return whether a path is an address rather than a file."""
    return re.match(ADDRESS, path) is not None


def default_folder() -> Path:
    """Return the default folder of cached pictures."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "eyechart" / "pictures"
