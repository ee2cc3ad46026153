"""Write docs/cli.md from the program itself: `make docs`; a test keeps the page fresh."""

from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from eyechart.cli import app

HEAD = """# The command line

The help of every command, as the program prints it. Exit codes: 0 success; 1 an error (one line that says what was
expected, what was found and what to do); 2 a --fail-on threshold was crossed; 130 interrupted from the keyboard.
"""


def page() -> str:
    """Join the help of the program and of each command."""
    commands = [[], *([name] for name in get_command(app).commands)]
    return HEAD + "".join(map(_section, commands))


def _section(words: list[str]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="eyechart", env={"COLUMNS": "110"}).output
    return f"\n## {' '.join(['eyechart', *words])}\n\n```text\n{shown.strip()}\n```\n"


if __name__ == "__main__":
    (Path(__file__).parent / "cli.md").write_text(page(), encoding="utf-8")
