"""The built wheel, alone in a clean environment away from the checkout, is all a user needs."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent


def run(*words: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it into an environment of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, PROJECT, folder=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=True)
    pip = (folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-compile", "--constraint", PROJECT / "constraints.txt", wheel, folder=folder)
    return folder


def test_the_wheel_tells_its_version(clean: Path) -> None:
    assert run(clean / "env" / "bin" / "eyechart", "--version", folder=clean) == "eyechart 0.1.0\n"


def test_the_wheel_audits_a_drawn_world_and_writes_its_page(clean: Path) -> None:
    """Audits without kernels, which would be compiled anew in this environment: that takes half a minute."""
    eyechart = clean / "env" / "bin" / "eyechart"
    run(
        eyechart, "read", "world", "pictures", "-o", "world", "--set", "images=20", "--set", "render=true", folder=clean
    )
    audits = ("-a", "accuracy", "-a", "perception", "-a", "grounding")
    out = run(eyechart, "audit", "world", *audits, "-m", "world:seer", "-o", "run", folder=clean)

    assert "seer" in out
    assert (clean / "run" / "report.html").stat().st_size > 10_000


def test_the_wheel_brings_nothing_heavy(clean: Path) -> None:
    installed = run(clean / "env" / "bin" / "python", "-m", "pip", "list", folder=clean).lower().split()

    assert not {"torch", "transformers", "ray", "fastapi", "pytest"} & set(installed)
