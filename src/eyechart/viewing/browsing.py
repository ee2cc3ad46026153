"""Browse a dataset before any audit: its folder, or a file of a known kind, opened like a run without studies."""

import inspect
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.audits import AUDITS, lacking_by_audit
from eyechart.base.files import TemporaryFolder
from eyechart.data.records import DivisionRecord, RunManifest
from eyechart.data.store import Store
from eyechart.data.web import Web
from eyechart.formats import read
from eyechart.viewing import inventory

SHOWN = 12  # examples on the first page


@dataclass(frozen=True, eq=False)
class BrowsedDataset(Store):
    """A saved dataset, seen as a run without studies; `path` is what commands name."""

    path: Path = Path()
    owner: TemporaryFolder | None = None  # of a dataset that was read only to be browsed

    @property
    def data_folder(self) -> Path:
        """Return the folder of the dataset."""
        return self.folder

    @property
    def manifest(self) -> RunManifest:
        """Return the record of a run in which nothing has been done."""
        return RunManifest("run", "", 0, None, {})

    @property
    def divided(self) -> DivisionRecord | None:
        """Return None: a dataset is divided when a run begins."""
        return None


def open_browsed(path: Path, web: Web) -> Store:
    """Open a run, a saved dataset, or a file of a known kind."""
    if path.is_file():
        owner = TemporaryFolder()
        read(path).save(owner.folder / "data")
        return BrowsedDataset(owner.folder / "data", web, path=path, owner=owner)
    if (path / "examples.parquet").is_file():
        return BrowsedDataset(path, web, path=path)
    return Store(path, web)


def dataset_content(store: BrowsedDataset) -> dict[str, Any]:
    """Collect the first page of a dataset: its size, some examples, and what can be run on it."""
    data = shlex.quote(str(store.path))
    audits = [
        (name, (inspect.getdoc(AUDITS.get(name)) or "").partition("\n")[0], missing)
        for name, missing in lacking_by_audit(store.data).items()
    ]
    first = store.examples.scan().head(SHOWN).collect().to_dicts()
    return {
        "run": {"name": store.about_data.name},
        "rows": store.about_data.rows,
        "audits": audits,
        "study": f"eyechart study {data} -o RUN",
        "command": f"eyechart audit {data} -m MODEL -o RUN",
        "examples": [{"boxes": None, "width": None, "height": None} | each for each in first],
        "pictured": inventory.has_pictures(store),
    }
