"""Pictures at addresses: fetched only where that is allowed, within bounds, checked, and kept by their address.

Addresses come from data nobody vouches for, and this machine may reach what their author cannot. So only http and https
are spoken, the host of every redirect must be public, and the connection goes to the very address that was looked up.
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

from eyechart.errors import DataError, FileFormatError
from eyechart.progress import tracked
from eyechart.transfer import PassingError, download, tell

AT_ONCE = 8  # downloads
_ATTEMPTS = 3
_PAUSE = 0.5  # seconds before the next attempt, and more before a later one
ADDRESS = r"(?i)^https?://"  # what tells an address from the path of a file

Check = Callable[[Path], object]


@dataclass(frozen=True)
class Web:
    """Whether pictures may be fetched, and where they are kept; what is kept already is shown either way."""

    public: bool = False
    private: bool = False  # also from hosts that are not public: this machine, the network around it
    folder: Path | None = None

    @property
    def allowed(self) -> bool:
        """Tell whether anything may be fetched at all."""
        return self.public or self.private

    def bring(self, addresses: Iterable[str], check: Check) -> dict[str, Path]:
        """Find the file of each address, and fetch those that are not there; `check` raises for what is no picture."""
        files = {address: self._file(address) for address in addresses}
        lacking = [address for address, file in files.items() if not file.is_file()]
        if lacking and not self.allowed:
            advice = "download it before, or allow it with --allow-http"
            raise DataError("a file as a picture", f"the address {tell(lacking[0])}", advice)
        if lacking:
            self._fetch({address: files[address] for address in lacking}, check)
        return files

    def _fetch(self, files: dict[str, Path], check: Check) -> None:
        place = next(iter(files.values())).parent
        place.mkdir(parents=True, exist_ok=True)
        lost: dict[str, str] = {}
        with (
            tempfile.TemporaryDirectory(dir=place, prefix=".") as drafts,
            ThreadPoolExecutor(AT_ONCE) as others,
            tracked("fetching pictures", len(files)) as advance,
        ):
            came = {address: others.submit(self._try, address, Path(drafts) / files[address].name) for address in files}
            for address, draft in came.items():
                try:
                    check(draft.result())  # here and not there: the picture library's warnings know no threads
                    draft.result().replace(files[address])
                except (OSError, ValueError, SyntaxError, HTTPException) as error:
                    lost[address] = str(error).partition("\n")[0] or type(error).__name__
                advance(1)
        if lost:
            address, reason = next(iter(lost.items()))
            found = reason + (f", and {len(lost) - 1} more that failed" if len(lost) > 1 else "")
            advice = "bring them as files, or leave their examples out"
            raise FileFormatError(f"a picture at {tell(address)}", found, advice)

    def _try(self, address: str, draft: Path) -> Path:
        for attempt in range(1, _ATTEMPTS):
            try:
                return download(address, draft, private=self.private)
            except PassingError:
                time.sleep(_PAUSE * attempt)
        return download(address, draft, private=self.private)

    def _file(self, address: str) -> Path:
        return (self.folder or default_folder()) / sha256(address.encode()).hexdigest()


def is_address(path: str) -> bool:
    """Tell an address from the path of a file."""
    return re.match(ADDRESS, path) is not None


def default_folder() -> Path:
    """Name the folder that keeps pictures where no other is named."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "eyechart" / "pictures"
