"""A model is shown pictures from addresses as it is shown files: the same edits, the same keys, the same answers."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.audits.grounding import GroundingAudit
from eyechart.cli import main
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.runs.run import NamedSplits, Run
from eyechart.runs.verbs import audit
from servers.gallery import Gallery, showing
from servers.starting import Served, misbehaving


class Done(NamedTuple):
    """What became of a command."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with misbehaving() as served:
        yield served


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("world")
    return read("world", folder / "pictures", images=12, seed=3, render=True).sample(30)


@pytest.fixture(scope="module")
def gallery(local: Dataset) -> Iterator[Gallery]:
    with showing(Path(str(local.images.root))) as served:
        yield served


@pytest.fixture
def remote(local: Dataset, gallery: Gallery) -> Dataset:
    """Name the same pictures by their addresses."""
    table = local.images.table.with_columns(path=pl.lit(f"{gallery.url}/files/") + pl.col("path"))
    return Dataset(local.name, local.examples, Images(table), local.modalities, local.cluster)


@pytest.fixture
def eyechart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Done]:
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "answers.sqlite"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["eyechart", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        return Done(int(leaving.value.code or 0), *capsys.readouterr())

    return call


def probed(data: Dataset, folder: Path) -> Path:
    run = Run(Store(folder)).start(data, parts=NamedSplits(["none"], ["none"]))
    run.study([Accuracy(), GroundingAudit(placebo=0)])
    run.probe()
    return folder


def test_edited_pictures_from_addresses_are_the_same_questions(
    local: Dataset, remote: Dataset, server: Served, eyechart: Callable[..., Done], tmp_path: Path
) -> None:
    """What was answered with files is known with addresses: not one more call, and the same answers."""
    files, addresses = probed(local, tmp_path / "files"), probed(remote, tmp_path / "addresses")
    model = ("-m", "openai:echo", "--base-url", server.url)
    assert Store(files).conditions() == Store(addresses).conditions() == ["evidence", "plain", "rest"]
    assert eyechart("predict", files, *model).code == 0
    refused = eyechart("predict", addresses, *model)
    private = eyechart("predict", addresses, *model, "--allow-http")
    ahead = eyechart("predict", addresses, *model, "--allow-private-http", "--dry-run", "--json")
    done = eyechart("predict", addresses, *model, "--allow-private-http")
    asked, again = (Store(run).answers("echo").answers for run in (files, addresses))

    assert refused.code == 1
    assert "or allow it with --allow-http" in refused.err
    assert private.code == 1
    assert "is not a public host; --allow-private-http allows it" in private.err
    assert {row["calls"] for row in json.loads(ahead.out)["echo"].values()} == {0}
    assert done.code == 0, done.err
    assert again.drop("probe").equals(asked.drop("probe"))
    assert list((tmp_path / "cache" / "eyechart" / "pictures").iterdir())


def test_exports_show_what_may_be_fetched(remote: Dataset, eyechart: Callable[..., Done], tmp_path: Path) -> None:
    run = probed(remote, tmp_path / "run")
    words = ("export", run, "--to", "inspect", "-o", tmp_path / "out")

    assert eyechart(*words).code == 1
    assert eyechart(*words, "--allow-private-http").code == 0
    assert len(list((tmp_path / "out" / "pictures").iterdir())) > 12  # as they are, and edited


def test_the_library_allows_it_with_the_data(
    local: Dataset, remote: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = (local, remote.allow_http(private=True))
    here, there = (
        audit(each, "world:reader", [Accuracy()], learn=["none"], judge=["none"])["accuracy"] for each in data
    )

    assert here.measures.equals(there.measures)
    assert here.measure("accuracy", "plain").n == 30
