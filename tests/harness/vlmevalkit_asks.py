"""Let VLMEvalKit ask about tables in its data folder; run by its own Python: FOLDER OF LOGS, then names of tables.

Its other benchmarks import torchvision, of which there may be none that fits; nothing that runs here uses it, so a
stand-in lets the imports pass. The model says `B`, and how many pictures and characters it was shown.
"""

import importlib.abc
import importlib.machinery
import json
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import MagicMock

import transformers.utils  # noqa: F401, TID253 - finds out first that torchvision is not there


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        ours = name.split(".", maxsplit=1)[0] == "torchvision"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if ours else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: MagicMock(name=name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing."""


class Model:
    is_api = False

    def set_dump_image(self, dump: object) -> None:
        """Need no pictures in files: they are."""

    def generate(self, message: Sequence[dict[str, str]], dataset: str) -> str:
        from PIL import Image

        pictures = [Image.open(part["value"]).size for part in message if part["type"] == "image"]
        text = "".join(part["value"] for part in message if part["type"] == "text")
        return f"B\n{len(pictures)} {len(text)}"


def main() -> None:
    from vlmeval.dataset import build_dataset
    from vlmeval.inference import infer_data_job

    logs, *names = sys.argv[1:]
    Path(logs).mkdir()
    for name in names:
        dataset = build_dataset(name)
        infer_data_job(Model(), logs, "tiny", dataset)
        told = {"class": type(dataset).__name__, "rows": len(dataset)}
        if dataset.TYPE == "MCQ":
            scored = dataset.evaluate(f"{logs}/tiny_{name}.xlsx", model="exact_matching")
            told["accuracy"] = dict(zip(scored["split"], map(float, scored["Overall"]), strict=True))
        print("TOLD", json.dumps(told))  # noqa: T201 - for whoever started it


if __name__ == "__main__":
    sys.meta_path.append(StandIn())
    main()
