"""Bodies of transformers: weights are loaded from a folder, or refused in one line."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from eyechart.errors import MissingExtraError, ModelError
from eyechart.zoo.batch import Batch
from eyechart.zoo.models import make_network
from eyechart.zoo.network import Sizes
from unit.zoo.toy import LARGE

pytestmark = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")


@pytest.mark.parametrize("name", LARGE)
def test_loaded_weights_are_those_that_were_saved(name: str, sizes: Sizes, batch: Batch, tmp_path: Path) -> None:
    torch.manual_seed(0)
    saved, other = make_network(name, sizes).eval(), make_network(name, sizes).eval()
    saved.body.save_pretrained(tmp_path)
    other.load(str(tmp_path))

    assert torch.equal(saved(batch).h, other(batch).h)
    assert not saved.pretrained_on  # it started from nothing
    assert other.pretrained_on


def test_weights_of_other_sizes_are_refused(sizes: Sizes, tmp_path: Path) -> None:
    make_network("visualbert", sizes).body.save_pretrained(tmp_path)

    with pytest.raises(ModelError, match="21 words"):
        make_network("visualbert", sizes._replace(words=21)).load(str(tmp_path))


def test_without_transformers_the_library_is_named(sizes: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    with pytest.raises(MissingExtraError, match="transformers"):
        make_network("lxmert", sizes)
