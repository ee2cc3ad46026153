"""One server of a tiny model that sees, for all tests of a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.transformers_serve import serving


@pytest.fixture(scope="session")
def url(tiny_llava: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tiny_llava, tmp_path_factory.mktemp("hub")) as address:
        yield address
