"""Load the weights of Hugging Face models: from a folder, or by name from the hub or its cache.

Only safetensors are loaded, and no code of the model is run.
"""

import hashlib
import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from eyechart.base.errors import MissingExtraError, ModelError

Kind = Literal["chat", "vqa", "text"]


class LoadedModel(NamedTuple):
    """A model ready to run, and the processor that turns texts and pictures into tensors (else its tokenizer)."""

    model: Any
    processor: Any
    device: str
    takes_images: bool

    @property
    def tokenizer(self) -> Any:  # noqa: ANN401 - transformers are not typed here
        """Return the tokenizer, alone or inside the processor."""
        return getattr(self.processor, "tokenizer", self.processor)


@lru_cache(maxsize=8)
def find_config(model: str, revision: str | None) -> Path:
    """Find config.json in the model's folder or in the hub's cache, downloading it if necessary."""
    if Path(model).is_dir():
        return Path(model) / "config.json"
    _require_transformers()
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(model, "config.json", revision=revision))
    except (OSError, ValueError) as error:
        advice = "give a folder with a saved model, or the name of a model on the hub, which must be reachable"
        raise ModelError(f"a model {model!r}", _first_line(error), advice) from None


@lru_cache(maxsize=8)
def find_kind(model: str, revision: str | None) -> Kind:
    """Determine from its config whether a model chats about pictures, is a classic VQA model, or takes only text."""
    _require_transformers()
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES,
    )

    config = _read_config(find_config(model, revision))
    family, names = str(config.get("model_type")), config.get("architectures") or [""]
    classic = MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES.get(family)
    if names[0] == classic and names[0].endswith("ForQuestionAnswering"):
        return "vqa"
    return "chat" if family in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES else "text"


@lru_cache(maxsize=8)
def find_revision(model: str, revision: str | None) -> str:
    """Return what is actually loaded: the commit on the hub, or a hash of all files in a folder."""
    folder = find_config(model, revision).parent
    if not Path(model).is_dir():
        return folder.name
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name} {content}\n".encode())
    return f"sha256:{digest.hexdigest()[:16]}"


@lru_cache(maxsize=1)
def load_weights(name: str, revision: str | None, kind: Kind, device: str, dtype: str) -> LoadedModel:
    """Load a model to be asked; keep the latest in memory."""
    _require_transformers()
    import torch
    import transformers

    classes: dict[Kind, tuple[Any, Any]] = {
        "chat": (transformers.AutoModelForImageTextToText, transformers.AutoProcessor),
        "vqa": (transformers.AutoModelForVisualQuestionAnswering, transformers.AutoProcessor),
        "text": (transformers.AutoModelForCausalLM, transformers.AutoTokenizer),
    }
    model_class, processor_class = classes[kind]
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    options = {"revision": revision, "trust_remote_code": False}
    library_logging: Any = transformers.utils.logging
    library_logging.disable_progress_bar()
    try:
        processor = processor_class.from_pretrained(name, **options)
        model = model_class.from_pretrained(name, dtype=dtype, use_safetensors=True, **options)
        loaded = LoadedModel(model.to(device).eval(), processor, device, kind != "text")
        return loaded if kind == "vqa" else _pad_left(loaded)
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, AttributeError, ImportError) as error:
        advice = "check the folder or name, kind=, dtype= and device=; only safetensors are opened"
        raise ModelError(f"a model in {name!r} that opens as {kind}", _first_line(error), advice) from None


def _pad_left(loaded: LoadedModel) -> LoadedModel:
    """Pad on the left, so that every prompt ends where its answer begins."""
    tokenizer = loaded.tokenizer
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return loaded


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        advice = "give a folder written by `save_pretrained`"
        raise ModelError(f"the configuration of a model in {path}", _first_line(error), advice) from None
    return config if isinstance(config, dict) else {}


def _require_transformers() -> None:
    if not (find_spec("torch") and find_spec("transformers")):
        advice = "pip install 'eyechart[hf]'"
        raise MissingExtraError("the packages torch and transformers", "at least one missing", advice)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
