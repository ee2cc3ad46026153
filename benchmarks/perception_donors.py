"""Make table 1 of the Perceptual Score for a network of the zoo, by donors of any type and of the same answer type.

    python benchmarks/perception_donors.py [--images 2000] [--record]

UpDn is trained on a planted world. The paper's Table 1 very likely drew donors of the same answer type; a donor of any
type often brings a question that takes another kind of answer, so that the model loses more without its own.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import eyechart
from record import Row, add_flag
from tables import Layout, report, table

DONORS = ("other", "same-answer-type")
RECIPE = ("--epochs", "15", "--rate", "0.005", "--batch-size", "64", "--hidden", "128")


def measure(images: int) -> list[Row]:
    """Train the network and judge it with both donors."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "data", Path(folder) / "updn"
        eyechart.read("world", seed=12, images=images).save(data)
        start = [sys.executable, "-m", "eyechart", "train", str(data), "updn", *RECIPE, "-o", str(model)]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
        rows = []
        for donors in DONORS:
            audit = eyechart.make_audit("perception", {"donors": donors, "by": ("answer_type",), "score": "vqa"})
            found = eyechart.audit(eyechart.read(data), f"zoo:{model}", [audit])["perception"].tables["table1"]
            rows += [{"donors": donors} | row for row in found.iter_rows(named=True)]
    return rows


LAYOUTS: dict[str, Layout] = {
    "": table(
        "| donors | type | n | accuracy | P of image | P of question | accuracy without the question |",
        "| `{donors}` | {group} | {n:,} | {accuracy:.1f} | {P image:.1f} | {P question:.1f} | {rest:.1f} |",
    )
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000)
    add_flag(parser)
    given = parser.parse_args()
    rows = [row | {"rest": row["accuracy"] - row["P question"]} for row in measure(given.images)]
    report("perception_donors", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
