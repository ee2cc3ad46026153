"""Write the tables of figures in docs from `benchmarks/results`: `make docs`; a test keeps them equal.

A table stands between `<!-- results: NAME -->`, or `<!-- results: NAME:TABLE -->` where the results have several, and
`<!-- end results -->`. NAME is a file of results, and the script or `layouts` in benchmarks that lays it out.
"""

import re
import sys
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "benchmarks"))
REGION = re.compile(r"<!-- results: ([\w.+-]+?)(?::([\w-]+))? -->\n.*?<!-- end results -->", re.DOTALL)


def fill(page: str) -> str:
    """Write every table of a page anew."""
    return REGION.sub(_region, page)


def _region(found: re.Match[str]) -> str:
    opening, _, _ = found[0].partition("\n")
    return f"{opening}\n\n{table(found[1], found[2] or '')}\n\n<!-- end results -->"


def table(name: str, part: str) -> str:
    """Lay out one table of a results file."""
    from layouts import LAYOUTS
    from record import load_rows

    layouts = LAYOUTS.get(name) or import_module(name).LAYOUTS
    return "\n".join(layouts[part](load_rows(name)))


def main() -> None:
    """Write all pages in which something changed."""
    for page in sorted(DOCS.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (after := fill(before)) != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
