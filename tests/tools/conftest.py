"""Tools of other people, each installed in an environment of its own."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture(scope="session")
def install() -> Iterator[Callable[[str], Path]]:
    """Install a package from the registry and return the Python that has it; skip where that cannot be done.

    The environments are large, so they are removed at once and not kept as pytest keeps its folders.
    """
    with ExitStack() as stack:

        @cache  # what several tests use is installed once
        def make(package: str) -> Path:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            python = folder / "bin" / "python"
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["it gives no reason"])[-1]
                pytest.skip(f"pip cannot install {package} here: {reason}")
            return python

        yield make
