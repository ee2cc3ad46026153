"""Before a model is paid for, a run says how pictures are shown, which cannot be, and what is asked anew."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.audits import make_audit
from eyechart.base.errors import FileFormatError
from eyechart.data import pictures
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.picture_files import decode_file
from eyechart.data.pictures import Picture
from eyechart.data.store import Store
from eyechart.formats.exports import EXPORTS
from eyechart.language.prompts import PromptBatch
from eyechart.models.backend import Response
from eyechart.models.cache import AnswerCache, CachedBackend
from eyechart.models.prompted import Prompted
from eyechart.runs.run import Run

NAMES = ("deep", "plain", "turned")


@dataclass
class Parrot:
    """Say yes to everything, and remember how many questions it was asked."""

    identity: str = '{"kind": "parrot", "model": "parrot"}'
    asked: list[str] = field(default_factory=list)

    def respond(self, batch: PromptBatch) -> list[Response]:
        self.asked += batch.prompts
        return [Response("yes") for _ in batch.prompts]


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    """Five questions on three pictures: one of 16 bits, one ordinary, one turned."""
    colors = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(colors[..., 0].astype(np.uint16) * 257).save(tmp_path / "deep.png")
    Image.fromarray(colors).save(tmp_path / "plain.png")
    Image.fromarray(colors).save(tmp_path / "turned.png", exif=exif)
    columns = {"id": list("12345"), "image": ["deep", "deep", "plain", "turned", None], "answer": ["yes"] * 5}
    examples = pl.DataFrame(columns).with_columns(question="is it " + pl.col("id") + "?")
    table = pl.DataFrame({"image": NAMES, "path": [f"{name}.png" for name in NAMES]})
    return Dataset("quiz", examples, Images(table, tmp_path))


def probed(data: Dataset, folder: Path) -> Run:
    run = Run(Store(folder)).start(data)
    run.study([make_audit("accuracy", {})])
    run.probe()
    return run


def test_answers_to_other_pixels_are_counted_before_they_are_asked_anew(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def open_as_before(path: Path, stamp: tuple[int, int]) -> Picture:
        decoded = decode_file(path, stamp[1])
        return Picture.of(decoded.pixels if decoded.former is None else decoded.former)

    model = Prompted("parrot", CachedBackend(Parrot(), AnswerCache(tmp_path / "cache.sqlite")))
    with monkeypatch.context() as before:
        before.setattr(pictures, "_opened", open_as_before)
        probed(data, tmp_path / "old").predict(model)
    caplog.clear()
    parrot = Parrot()
    with caplog.at_level(logging.WARNING):
        run = probed(data, tmp_path / "new")
        run.predict(Prompted("parrot", CachedBackend(parrot, AnswerCache(tmp_path / "cache.sqlite"))))

    assert caplog.messages == [
        "pictures: 1 of more than 8 bits a channel, shown with 8; 1 turned upright, as its EXIF orientation says",
        "parrot: 3 answers in the cache are to pictures as earlier versions showed them, and are asked anew",
    ]
    assert len(parrot.asked) == 3
    caplog.clear()
    probed(data, tmp_path / "newer").predict(model)
    assert len(caplog.messages) == 1, "nothing is asked anew a second time"


def test_pictures_that_cannot_be_shown_are_counted_before_anything_is_asked(data: Dataset, tmp_path: Path) -> None:
    for name in ("plain", "turned"):
        (tmp_path / f"{name}.png").write_bytes((tmp_path / f"{name}.png").read_bytes()[:200])
    parrot = Parrot()

    with pytest.raises(FileFormatError, match=r"plain\.png; found .*truncated.*, and 1 more pictures"):
        probed(data, tmp_path / "run").predict(Prompted("parrot", parrot))
    assert not parrot.asked


def test_an_export_says_how_pictures_are_shown_and_holds_the_same_pixels(
    data: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = probed(data, tmp_path / "run")
    EXPORTS.get("lmms-eval")(run.store, tmp_path / "out")

    assert "1 turned upright" in caplog.text
    written = {path.stem for path in (tmp_path / "out" / "pictures").iterdir()}
    shown = pictures.show_pictures(pl.DataFrame({"image": NAMES}), data.images)
    assert written == {one.key for one in shown if one is not None}


def test_links_are_followed_where_the_command_line_allows_it(
    data: Dataset,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    eyechart: Callable[..., tuple[int, str, str]],
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (tmp_path / "plain.png").rename(elsewhere / "plain.png")
    (tmp_path / "plain.png").symlink_to(elsewhere / "plain.png")
    probed(data, tmp_path / "run")
    words = ("export", tmp_path / "run", "--to", "lmms-eval", "-o", tmp_path / "out")

    code, _, error = eyechart(*words)
    assert (code, error.count("\n")) == (1, 1)
    assert f"--allow-links {elsewhere}" in error
    assert eyechart(*words, "--allow-links", elsewhere)[0] == 0
