"""Every script in benchmarks/ says what it takes and runs at a tiny size; no figure is looked at."""

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from threadpoolctl import threadpool_limits

PROJECT = Path(__file__).parents[2]
CALLED = {"children", "scale_data"}  # they take their words from another script, not from people
SCRIPTS = sorted(
    path.stem
    for path in PROJECT.glob("benchmarks/*.py")
    if path.stem not in CALLED and '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)
NOT_SMALL = {
    "inputs": "damaged files are read for minutes; tests/fuzz reads some of each kind",
    "page": "a browser opens a page of 1,000 images; tests/web opens one of 60",
    "smollm_aokvqa": "a language model of 135 million weights is unpacked and asked",
    "zoo_speed": "12 GB of features are made on a GPU",
}
# They start processes like themselves or measure what one has used; the others run in this one, which has loaded most.
IN_OWN_PROCESS = {"audit_stages", "demo", "engines", "out_of_core", "predict", "read", "scale", "verdicts", "view"}
IN_OWN_PROCESS |= {f"zoo {verb}" for verb in ("train", "time", "forecast")}
TIMEOUT_S = 1200  # kernels may have to be compiled first, on a machine that is busy
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
N = r" *[\d.,]+ *"
PEER = N if find_spec("fim") else " - "  # pyfim comes with no extra; the script goes on without it


class Small(NamedTuple):
    """Command lines, run one after the other, each with what it must print; and the modules they need."""

    steps: dict[str, str]
    needs: tuple[str, ...] = ()


SMALL = {
    "audit_stages": Small({"--examples 100": r"^now audit of 100 examples \{.*after the studies.*\}$"}),
    "accuracy_real": Small({"{data}": rf"^\| GPT-2, text only \|{N}"}),
    "decoys": Small({"--sizes 300 --drawings neutral --pairs 0": rf"^\| neutral \| 300 \|{N}\|.*\|$"}, ("faiss",)),
    "decoys_real": Small({"{data}": rf"^\| VQA v2, leave_out \| I\+Q\+A \|{N}"}),
    "decoys_world": Small({"--images 40 --seeds 1 --small 20": r"^\| A, mlp \|"}),
    "demo": Small({"--images 20 --runs 1 --warm": rf"^\| now \| 0 \|{N}\|{N}\|{N}\|$"}),
    "engines": Small(
        {'--examples 100 --only waiting --engines "ray, 1 process"': rf"^\| predict.* ray, 1 process \|{N}\|"},
        ("ray",),
    ),
    "extraction": Small(
        {
            '{data} --only "MMMU-Pro, GPT-4o, direct"': rf"^\| MMMU-Pro, GPT-4o, direct \| MMMU \|{N}\|",
            '{data} --show "MMMU-Pro, GPT-4o, direct"': r'^ "kind": "different"$',
        }
    ),
    "grounding": Small({"--sizes 100": rf"^\| 100 \|{N}\|.*{N} relevant,{N} irrelevant \|$"}),
    "grounding_world": Small({"--seeds 1 --images 20 --drawn 5": r"^\| `reader` \| 1 \|"}),
    "mining": Small({"--sizes 400 --validation 300": rf"^\| usual \| 400 \|.*\|{PEER}\|\n(.*\n)+\| 400 \| 300 \|"}),
    "out_of_core": Small(
        {"--rows 200 --limit-mb 0 --times 0.0005 --only read splits": rf"^\| `study -a splits` \|{N}\|"}
    ),
    "perception": Small(
        {"--worlds 1 --images 30 --repeats 1 --large 30 --only seer=0.2": rf"^\| `mix.*` \| question / model \|{N}\|"}
    ),
    "perception_coverage": Small({"--repeats 2": rf"^\| 20 answers \| 150 \| perception \|{N}\|"}),
    "perception_socialiq": Small(
        {"{data}/socialiq2": r"^\| sentiment \| video \|(.*\|){5} cannot tell \|"}, ("vaderSentiment",)
    ),
    "perception_synthetic": Small(
        {"--repeats 1 --spreads 1 --examples 20 --draws 2": rf"P_c \|\n.*\n\| 1 \|{N},{N}\|"}
    ),
    "perception_donors": Small({"--images 40": rf"^\| `same-answer-type` \| All \|{N}"}, ("torch",)),
    "pictures": Small(
        {"--rows 100 --kilobytes 2 --limit-mb 0 --only JSON": rf"^JSON lines, base64{N}{N}GB{N}s{N}MB$"}, ("pyarrow",)
    ),
    "predict": Small({"--latency 0.01 --rounds 1 --goal 0": rf"^ +64 +64 +{N}"}, ("openai",)),
    "read": Small({"--share 0.0001 --gigabytes 0": rf"^jsonl, json \+ pandas{N}"}, ("pandas",)),
    "real_files": Small(
        {"{data} --only vqa2/vqa2": rf"^\| `vqa2/vqa2_89710_with_objects.parquet` \| data \|{N}\| 89,710 \|"}
    ),
    "rules_real": Small({"{data}": rf"^\| overall \|{N}"}),
    "rules_world": Small({"--seeds 1 --images 60": r"^\| `guesser` \| \d \| \d \| \d \|$"}),
    "scale": Small(
        {
            '--sizes 100 --only "read parquet" --place {place}': '^{"arrow": "read parquet", "n": 100, "stopped": "", ',
            "--draw": r"^\| `read parquet` \|",
        }
    ),
    "scoring": Small({"--examples 90": rf"^ndcg +90{N}"}),
    "splits": Small({"--sizes 500": rf"^\| 500 \|{N}\|"}, ("pandas",)),
    "splits_real": Small({"{data}": rf"^\| all judged \(IID\) \|{N}"}),
    "splits_head_share": Small(
        {"--images 60 --concepts QT --steps 1 --shares 0.5": rf"^\| QT \|{N}\| 50% \|{N}"}, ("torch",)
    ),
    "splits_world": Small(
        {"--worlds 1 --draws 1 --forms small --leaners 200": rf"^\| small \| \d+ of {N} \(.*\n\n.*\n.*\n\| `prior`"}
    ),
    "verdicts": Small(
        {
            "--worlds 1 --forms 0 --images 60 --answerers blind --workers 1": r"^\| `blind` \| \| \| \d/\d ",
            "--worlds 0 --forms 1 --images 60 --workers 1 --minutes 0": r"^\| nothing planted \| \d/2\D",
        }
    ),
    "view": Small({"--rules 300 --judged 100 --train 50": rf"^CSV of all rules{N}"}, ("fastapi", "uvicorn")),
    "zoo": Small(
        {
            "prepare {place} --images 40": "'ask plain'",
            'train {place} --out {place}/done/1.npz --only "prior plain" --epochs 1 --workers 1': "^3 of 3",
            'time {place} --only "image-only plain" --epochs 1 --workers 2': rf"^\| `image-only plain` .* \| 2 \|{N}\|",
            'forecast {place} --out {place}/f.npz --only "prior plain" --workers 1': r"^\| all \| 3 \|.*\n\n.*: 1\.$",
            "judge {place}": "^prior plain 2 .*'fpvg'",
            "table {place}": "",
        },
        ("torch",),
    ),
}


def run_alone(script: Path, words: str, cwd: Path) -> str:
    """Run a script in a process of its own and give what it printed."""
    command = [sys.executable, str(script), *shlex.split(words)]
    quiet = os.environ | ONE_THREAD  # several would only wait for each other at these sizes
    done = subprocess.run(command, cwd=cwd, env=quiet, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path, str, Path], str]:
    """Run a script in this process as if it were alone, and give what it printed."""

    def run(script: Path, words: str, cwd: Path) -> str:
        with monkeypatch.context() as patched, warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("default")
            patched.chdir(cwd)
            patched.syspath_prepend(str(script.parent))
            patched.setattr(sys, "argv", [str(script), *shlex.split(words)])
            try:
                runpy.run_path(str(script), run_name="__main__")
            except SystemExit as leaving:
                assert not leaving.code, f"{words}\n{leaving.code}"  # noqa: PT017 - `--help` leaves, others do not
            finally:
                for name in [name for name, each in sys.modules.items() if _is_in(script.parent, each)]:
                    del sys.modules[name]
        return capsys.readouterr().out

    return run


def _is_in(folder: Path, module: object) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}")


def written(name: str) -> set[str]:
    """Find the options of a script that its docstring and the documentation name."""
    own = ast.get_docstring(ast.parse((PROJECT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))) or ""
    pages = [own, *(page.read_text(encoding="utf-8") for page in PROJECT.glob("docs/**/*.md"))]
    uses = (use for page in pages for use in re.findall(rf"python benchmarks/{name}\.py([^`\n#]*)", page))
    return {option for use in uses for option in re.findall(r"--[a-z-]+", use)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_its_usage_and_knows_the_options_written_about_it(
    name: str, scripts: Path, tmp_path: Path, run_here: Callable[[Path, str, Path], str]
) -> None:
    usage = run_here(scripts / f"{name}.py", "--help", tmp_path).partition("\n\n")[0]

    assert usage.startswith(f"usage: {name}.py ")
    assert written(name) <= set(re.findall(r"--[a-z-]+", usage))


def test_every_script_is_run_small_or_has_a_reason_why_not() -> None:
    assert sorted(SMALL | NOT_SMALL) == SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_small_and_prints_its_table(
    name: str, scripts: Path, data: Path, tmp_path: Path, run_here: Callable[[Path, str, Path], str]
) -> None:
    if name in NOT_SMALL:
        pytest.skip(NOT_SMALL[name])
    steps, needs = SMALL[name]
    if missing := [module for module in needs if find_spec(module) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    for words, row in steps.items():
        run = run_alone if {name, f"{name} {words.split()[0]}"} & IN_OWN_PROCESS else run_here
        said = run(scripts / f"{name}.py", words.format(place=tmp_path, data=data), tmp_path)

        assert re.search(row, said, re.MULTILINE), said
