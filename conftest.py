"""Run the Python of the README and the docs, each page in a namespace and a folder of its own."""

import os
import tempfile
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def enter_folder(namespace: dict[str, Any]) -> None:
    """Move to an empty folder, for pages write files."""
    namespace["_home"], namespace["_folder"] = os.getcwd(), tempfile.TemporaryDirectory()  # noqa: PTH109
    os.chdir(namespace["_folder"].name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Move back and clean up."""
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
