"""Rows of the paper's Tables 3 to 5 that do not follow from their own operands, and those beside them that do."""

from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = Path(__file__).parents[4] / "docs" / "audits" / "perception-reference.md"
ROUNDED = 0.011  # two rounded operands and a rounded result


class Printed(NamedTuple):
    """A row as printed: score with and without the modality, P, P / Z_D, and the majority's score."""

    row: str
    whole: float
    without: float
    p: float
    by_task: float
    majority: float

    def differences(self) -> tuple[float, float]:
        """Return how far P and P / Z_D are from what their printed operands give."""
        return self.p - (self.whole - self.without), self.by_task - 100 * self.p / (100 - self.majority)


ROWS = (
    Printed("3, answer, baseline", 64.84, 56.73, 8.11, 18.92, 57.14),
    Printed("3, answer, FGA", 67.38, 57.11, 10.27, 23.96, 57.14),
    Printed("3, question, baseline", 64.84, 64.32, 0.52, 1.21, 57.14),
    Printed("3, question, FGA", 67.38, 65.19, 2.19, 5.11, 57.14),
    Printed("3, video, baseline", 64.84, 63.79, 1.05, 2.45, 57.14),
    Printed("3, video, FGA", 67.38, 64.42, 2.96, 6.91, 57.14),
    Printed("3, NLTK sentiment", 66.70, 56.14, 11.18, 26.08, 57.14),
    Printed("4, image by NDCG, LS (CE)", 75.24, 57.45, 17.79, 23.94, 25.68),
    Printed("4, image by NDCG, LS", 64.89, 51.50, 13.39, 18.02, 25.68),
    Printed("4, image by NDCG, FGA", 56.00, 46.73, 9.27, 9.27, 25.68),
    Printed("5, audio, high", 77.71, 73.88, 3.83, 9.22, 58.48),
    Printed("5, audio, low", 72.51, 66.58, 9.93, 23.91, 58.48),
    Printed("5, video, high", 77.71, 43.16, 34.55, 83.21, 58.48),
    Printed("5, video, low", 72.51, 45.07, 27.44, 66.08, 58.48),
)
IN_P = {"3, NLTK sentiment": 10.56, "5, audio, low": 5.93}
IN_RATIO = {"4, image by NDCG, FGA": 12.47}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.row)
def test_only_the_named_rows_do_not_follow_from_their_operands(row: Printed) -> None:
    off_p, off_ratio = row.differences()

    assert (abs(off_p) > ROUNDED) == (row.row in IN_P)
    assert (abs(off_ratio) > 3 * ROUNDED) == (row.row in IN_RATIO)


def test_the_page_names_them_with_what_they_should_be() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = {row.row: row for row in ROWS}

    for name, value in IN_P.items():
        assert round(rows[name].whole - rows[name].without, 2) == value
        assert f"| {value:.2f} | {rows[name].p:.2f} |" in page
    for name, value in IN_RATIO.items():
        assert round(100 * rows[name].p / (100 - rows[name].majority), 2) == value
        assert f"| {value:.2f} | {rows[name].by_task:.2f} |" in page
    assert [round(100 * p / (100 - majority), 2) for p, majority in ((10.56, 57.14), (5.93, 58.48))] == [24.64, 14.28]
