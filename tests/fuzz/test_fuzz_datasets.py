"""Whatever is done to a file, a reader gives counted rows or one clear error.

`make fuzz` tries 10,000 damaged files on every reader; the test suite tries fewer.
"""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError
from eyechart.data.dataset import Dataset
from eyechart.formats import FORMATS, read
from fuzz.damage import damaged, torn
from fuzz.seeds import DATASETS, Seed

# Damaged files lose rows, and reading them says so.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")
CASES = [pytest.param(name, seed, id=f"{name}-{n}") for name, seeds in DATASETS.items() for n, seed in enumerate(seeds)]
# In `make test`, where they are the same each time, half as many as of other properties; `make fuzz` draws all.
EXAMPLES = settings.default.max_examples
patient = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=EXAMPLES if EXAMPLES > 100 else EXAMPLES // 2
)


def attempt(name: str, files: dict[str, bytes]) -> Dataset | None:
    """Read files put into a folder of their own; None where the reader says in one line why it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        for file, data in files.items():
            (Path(folder) / file).write_bytes(data)
        path = Path(folder) / next(iter(files)) if len(files) == 1 else Path(folder)
        try:
            return read(name, path)
        except EyechartError:
            return None


def counted(data: Dataset, status: str, reason: str = "") -> int:
    rows = data.counts.filter(pl.col("status") == status, pl.col("reason").fill_null("").str.starts_with(reason))
    return int(rows["n"].sum())


def test_every_format_is_damaged() -> None:
    assert set(DATASETS) == set(FORMATS.names()) - {"world", "resplit"}


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_sound_file_is_read_whole(name: str, seed: Seed) -> None:
    data = attempt(name, seed.write(seed.content))

    assert data is not None
    assert data.examples.height == counted(data, "read") > 0
    assert counted(data, "dropped") == 0


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_damaged_content_is_counted_or_refused(name: str, seed: Seed) -> None:
    @patient
    @given(damaged(seed.content))
    def check(content: object) -> None:
        data = attempt(name, seed.write(content))
        if data is None:
            return
        assert data.examples.height == counted(data, "read")
        rows = seed.rows(content)
        assert rows is None or rows == counted(data, "read") + counted(data, "dropped", seed.lost)

    check()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_torn_files_are_read_or_refused(name: str, seed: Seed) -> None:
    files = seed.write(seed.content)

    @patient
    @given(st.data())
    def check(data: st.DataObject) -> None:
        victim = data.draw(st.sampled_from(sorted(files)))
        attempt(name, files | {victim: data.draw(torn(files[victim]))})

    check()
