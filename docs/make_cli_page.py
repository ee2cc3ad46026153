"""Write docs/cli.md from the program itself: `make docs`; a test keeps the page fresh."""

from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from eyechart.cli import app

HEAD = """# The command line

Made from the program by `make docs`. Exit codes: 0 fine, 1 error (one line that says what was expected, what was
found and what to do), 2 a threshold of --fail-on crossed, 130 stopped from the keyboard.
"""


def page() -> str:
    """Join the help of the program and of each verb."""
    verbs = [[], *([name] for name in get_command(app).commands)]
    return HEAD + "".join(map(_section, verbs))


def _section(words: list[str]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="eyechart", env={"COLUMNS": "110"}).output
    return f"\n## {' '.join(['eyechart', *words])}\n\n```text\n{shown.strip()}\n```\n"


if __name__ == "__main__":
    (Path(__file__).parent / "cli.md").write_text(page(), encoding="utf-8")
