"""What is opened under a name, found without opening it."""

import json
import shutil
from pathlib import Path

import pytest

from eyechart.base.errors import MissingExtraError, ModelError, SettingError
from eyechart.language.prompts import PromptBatch
from eyechart.models import load, weights
from eyechart.models.weights import find_config, find_kind, find_revision

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay down a model as the hub's cache holds it, and cut the network."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    place = tmp_path / "models--org--tiny"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)
    (place / "snapshots" / COMMIT).mkdir(parents=True)
    (place / "snapshots" / COMMIT / "config.json").write_text('{"model_type": "llava"}')
    return place


def test_a_name_of_the_hub_is_found_in_its_cache_with_the_commit(hub: Path) -> None:
    assert find_config("org/tiny", None) == hub / "snapshots" / COMMIT / "config.json"
    assert find_revision("org/tiny", "main") == COMMIT
    assert find_kind("org/tiny", None) == "chat"


def test_a_name_that_cannot_be_reached_is_one_clear_error(hub: Path) -> None:
    with pytest.raises(ModelError, match="a model 'org/other'"):
        load("hf:org/other")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"model_type": "vilt", "architectures": ["ViltForQuestionAnswering"]}', "vqa"),
        ('{"model_type": "blip-2", "architectures": ["Blip2ForConditionalGeneration"]}', "chat"),
        ('{"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"]}', "chat"),
        ('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}', "text"),
        ('{"model_type": "llama"}', "text"),
        ("[]", "text"),
    ],
)
def test_the_kind_follows_from_the_configuration(tmp_path: Path, content: str, kind: str) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text(content)

    assert find_kind(str(tmp_path), None) == kind


def test_a_model_that_comes_with_code_never_runs_it(tiny_llama: Path, tmp_path: Path) -> None:
    """A folder may name Python beside its weights: opening it raises or ignores that, but never imports it."""
    folder = tmp_path / "coded"
    shutil.copytree(tiny_llama, folder)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Evil: ...\n")
    for name, known in (("config.json", "AutoModelForCausalLM"), ("tokenizer_config.json", "AutoTokenizer")):
        content = json.loads((folder / name).read_text())
        classes = ["evil.Evil", None] if known == "AutoTokenizer" else "evil.Evil"
        content |= {"auto_map": {"AutoConfig": "evil.Evil", known: classes}, "model_type": "evil"}
        (folder / name).write_text(json.dumps(content))
    with pytest.raises(ModelError):
        load(f"hf:{folder},kind=text,device=cpu").backend.respond(PromptBatch(["?"], [None], [None]))

    assert not (tmp_path / "ran").exists()


def test_no_setting_and_no_code_of_ours_trusts_remote_code() -> None:
    source = Path(weights.__file__).parents[1]
    uses = [line for file in source.rglob("*.py") for line in file.read_text().splitlines() if "trust_remote" in line]

    assert uses == ['    options = {"revision": revision, "trust_remote_code": False}']
    with pytest.raises(SettingError, match="'trust_remote_code'"):
        load("hf:org/tiny,trust_remote_code=yes")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)

    with pytest.raises(MissingExtraError, match=r"pip install 'eyechart\[hf\]'"):
        load(f"hf:{tmp_path}")
