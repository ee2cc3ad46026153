"""Networks and methods out of files of the user's own: trained like ours, opened only by who trusts them."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from eyechart.base.errors import ModelError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober, fill
from eyechart.models import load
from eyechart.world import WorldSettings, make_world
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.trainer import TrainingRequest, train_into

CODE = """
from pathlib import Path

from eyechart.zoo.debias import Decorator
from eyechart.zoo.networks.updn import QuestionOnly

Path(__file__).with_name("was run").touch()
NUMBER = 3

class Twice(Decorator):
    def forward(self, model, batch):
        return 2 * self.base(model, batch)

class Mine(QuestionOnly):
    pass
"""


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldSettings(images=40)).data


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a file of code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE, encoding="utf-8")
    return tmp_path


def small(model: str, method: str, init: str | None = None) -> TrainingRequest:
    return TrainingRequest(model, method, epochs=2, batch=32, hidden=8, device="cpu", init=init)


@pytest.mark.parametrize(
    ("model", "method"),
    [("own.py:Mine", "plain"), ("question-only", "plain@1,lmh+own.py:Twice"), ("own.py:Mine", "own.py:Twice@1,lpf")],
)
def test_what_is_trained_from_a_file_is_opened_from_anywhere(
    model: str, method: str, world: Dataset, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_into(here / "m", world, small(model, method), lambda _: None)
    monkeypatch.chdir(here / "m")
    probes = fill(Prober(world).plain(world.examples["id"].head(5)), world)

    assert load(f"zoo:{here / 'm'},trust=yes").answer(probes, world.images).height == 5
    with pytest.raises(ModelError, match=r"permission to run .*own\.py:\w+, which"):
        load(f"zoo:{here / 'm'}")


def test_training_from_a_file_goes_on_and_is_tuned(world: Dataset, here: Path) -> None:
    wanted = small("own.py:Mine", "own.py:Twice")
    train_into(here / "m", world, wanted, lambda _: None)
    heard: list[object] = []
    train_into(here / "m", world, wanted, heard.append)
    assert heard == []

    with pytest.raises(ModelError, match="permission to run"):
        train_into(here / "tuned", world, small("own.py:Mine", "plain", init=f"zoo:{here / 'm'}"), heard.append)
    train_into(here / "tuned", world, small("own.py:Mine", "plain", init=f"zoo:{here / 'm'},trust=yes"), heard.append)
    assert len(heard) == 2


def test_code_in_the_folder_of_a_stranger_is_not_run(world: Dataset, here: Path) -> None:
    train_into(here / "ours", world, small("question-only", "plain"), lambda _: None)
    for name, value in (("model", "own.py:Mine"), ("method", "own.py:Twice"), ("method", "plain@1,own.py:Twice")):
        folder = copytree(here / "ours", here / f"sent {name} {len(value)}")
        record = json.loads((folder / "zoo.json").read_text())
        (folder / "zoo.json").write_text(json.dumps(record | {name: value}))

        for opened in (lambda sent: load(f"zoo:{sent}"), lambda sent: TrainingFolder(sent).open()):
            with pytest.raises(ModelError, match="permission to run"):
                opened(folder)
    assert not (here / "was run").exists()


@pytest.mark.parametrize(
    ("model", "method", "expected"),
    [
        ("own.py:NUMBER", "plain", "a subclass of eyechart.zoo.network.Network"),
        ("own.py:Twice", "plain", "a subclass of eyechart.zoo.network.Network"),
        ("question-only", "own.py:Mine", "a subclass of eyechart.zoo.debias.Debias"),
        ("question-only", "lmh+own.py:NUMBER", "a subclass of eyechart.zoo.debias.Debias"),
    ],
)
def test_what_is_no_network_or_method_is_refused(
    model: str, method: str, expected: str, world: Dataset, here: Path
) -> None:
    with pytest.raises(SettingError, match=expected):
        train_into(here / "m", world, small(model, method), lambda _: None)
    assert not (here / "m").exists()
