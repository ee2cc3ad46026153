"""Bodies of transformers: weights are loaded from a folder, or refused in one line."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
import torch

from eyechart import load
from eyechart.base.errors import EyechartError, FileFormatError, MissingExtraError, ModelError
from eyechart.world import WorldSettings, make_world
from eyechart.zoo.batch import Batch
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.trainer import TrainingRequest, train_into
from eyechart.zoo.vocabulary import LONGEST_IN_PIECES, NetworkVocabulary, read_known_pieces
from unit.zoo.toy import LARGE

pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")


@pytest.mark.parametrize("name", LARGE)
def test_loaded_weights_are_those_that_were_saved(name: str, sizes: NetworkSizes, batch: Batch, tmp_path: Path) -> None:
    torch.manual_seed(0)
    saved, other = make_network(name, sizes).eval(), make_network(name, sizes).eval()
    saved.body.save_pretrained(tmp_path)
    other.load(tmp_path)

    assert torch.equal(saved(batch).h, other(batch).h)
    assert not saved.pretrained_on  # it started from nothing
    assert other.pretrained_on


def test_weights_of_other_sizes_are_refused(sizes: NetworkSizes, tmp_path: Path) -> None:
    make_network("visualbert", sizes).body.save_pretrained(tmp_path)

    with pytest.raises(ModelError, match="21 words"):
        make_network("visualbert", sizes._replace(words=21)).load(tmp_path)


def test_without_transformers_the_library_is_named(sizes: NetworkSizes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(MissingExtraError, match="transformers"):
        make_network("lxmert", sizes)


PIECES = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "is",
    "there",
    "a",
    "what",
    "color",
    "the",
    "ban",
    "##ana",
    "##s",
    "?",
)
RELEASED = TrainingRequest("lxmert", epochs=1, batch=32, hidden=16, device="cpu")


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """Save weights and a tokenizer as they are released, for features of the planted world."""
    torch.manual_seed(5)
    make_network("lxmert", NetworkSizes(len(PIECES), 3, 80, 16)).body.save_pretrained(tmp_path / "weights")
    (tmp_path / "weights" / "vocab.txt").write_text("\n".join(PIECES))
    return tmp_path / "weights"


def test_questions_are_cut_into_pieces_as_transformers_cuts_them() -> None:
    from transformers import BertTokenizerFast

    texts = ["What color is the banana?", "Is there a zebra?", "", "bananas " * 30]
    theirs = BertTokenizerFast(vocab={piece: at for at, piece in enumerate(PIECES)})
    expected = theirs(texts, padding="max_length", truncation=True, max_length=LONGEST_IN_PIECES)["input_ids"]

    assert NetworkVocabulary(PIECES, ("yes",), ("",), pieces=True).read(pl.Series(texts)).tolist() == expected


def test_the_type_of_a_question_and_the_marks_around_it_are_not_hidden() -> None:
    known = NetworkVocabulary(PIECES, ("yes",), ("",), pieces=True)
    found = known.may_be_hidden(pl.Series(["what color is the banana"] * 2), pl.Series(["what color", None]))

    assert found[:, :8].tolist() == [[False] * 3 + [True] * 4 + [False], [False] + [True] * 6 + [False]]


def test_released_weights_are_trained_on_and_what_they_saw_is_recorded(released: Path, tmp_path: Path) -> None:
    world = make_world(WorldSettings(images=20)).data
    wanted = replace(RELEASED, init=f"hf:{released}", rate=1e-12)
    record = train_into(tmp_path / "m", world, wanted, lambda _: None)
    network, _ = TrainingFolder(tmp_path / "m").open()
    started = make_network("lxmert", network.sizes)
    started.load(released)  # type: ignore[operator]  # of a network of transformers

    assert record.pretrained_on == started.pretrained_on != ()
    assert not record.course["tuned"]  # it was not trained to answer these
    assert TrainingFolder(tmp_path / "m").vocabulary.words == PIECES
    for name, value in started.body.state_dict().items():
        torch.testing.assert_close(network.body.state_dict()[name], value, atol=1e-6, rtol=0)

    asked = world.examples.head(3).select("id", "question", "image")
    answers = load(f"zoo:{tmp_path / 'm'}").answer(asked, world.images)
    assert answers["answer"].null_count() == 0


def test_pieces_are_found_in_either_file_of_a_tokenizer(released: Path) -> None:
    from transformers import BertTokenizerFast

    (released / "vocab.txt").unlink()
    BertTokenizerFast(vocab={piece: at for at, piece in enumerate(PIECES)}).save_pretrained(released)
    (released / "vocab.txt").unlink(missing_ok=True)

    assert read_known_pieces(released) == PIECES


@pytest.mark.parametrize(
    ("lost", "wanted", "message"),
    [
        ("vocab.txt", RELEASED, "a tokenizer like BERT's"),
        ("model.safetensors", RELEASED, "save_pretrained"),
        ("", replace(RELEASED, hidden=32), "width 32"),
        ("", replace(RELEASED, model="updn"), "choose lxmert"),
    ],
)
def test_what_cannot_be_started_from_is_refused(
    released: Path, lost: str, wanted: TrainingRequest, message: str
) -> None:
    if lost:
        (released / lost).unlink()
    world = make_world(WorldSettings(images=20)).data

    with pytest.raises(EyechartError, match=message):
        train_into(released / "m", world, replace(wanted, init=f"hf:{released}"), lambda _: None)
    assert not (released / "m").exists()


def test_a_damaged_tokenizer_is_told_of(released: Path) -> None:
    (released / "vocab.txt").unlink()
    (released / "tokenizer.json").write_text("{")

    with pytest.raises(FileFormatError, match="a tokenizer in"):
        read_known_pieces(released)
