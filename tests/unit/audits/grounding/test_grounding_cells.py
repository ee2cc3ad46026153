"""The logic of the cells against every answer pattern, and against the paper's printed numbers."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.grounding.answers import CELLS, CONDITIONS, AnswersByCondition, probability_of, question_rows

EMPTY = pl.DataFrame()
# Table 2: accuracies with all, the four cells, and the grounded share, in points.
TABLE_2 = {
    "MAC": (59.20, 15.40, 7.19, 43.81, 33.60, 22.59),
    "UpDn": (57.99, 15.76, 9.68, 42.23, 32.33, 25.44),
    "UpDn+HINT": (57.95, 16.31, 9.72, 41.64, 32.33, 26.03),
    "MCAN": (65.78, 20.18, 6.20, 45.60, 28.02, 26.37),
    "OSCAR+": (69.96, 20.37, 6.00, 49.58, 24.05, 26.37),
    "MMN": (68.23, 21.93, 5.86, 46.29, 25.92, 28.22),
    "DFOL": (57.45, 20.19, 10.03, 37.25, 32.53, 30.22),
    "UpDn+VisFIS": (60.01, 20.38, 12.20, 39.63, 27.79, 32.58),
    "VLR": (57.39, 24.55, 11.68, 32.83, 30.93, 36.23),
    "UpDn*": (64.81, 23.90, 9.29, 40.92, 25.89, 33.19),
}
DOES_NOT_ADD_UP = {"MMN"}  # its cells sum to 27.79


def answers_under(**answers: list[tuple[str | None, float]]) -> AnswersByCondition:
    """Lay down (answer, score) of each question under each condition, one draw."""
    tables = {}
    for condition, given_ in answers.items():
        responses, right = zip(*given_, strict=True)
        ids = [f"{at:04}" for at in range(len(given_))]
        tables[condition] = pl.DataFrame(
            {"id": ids, "draw": 0, "cluster": ids, "response": responses, "right": right, "p": None},
            schema_overrides={"response": pl.String, "right": pl.Float64, "p": pl.Float64},
        )
    return AnswersByCondition(tables, EMPTY, EMPTY)


def author_cell(answers: tuple[str, str, str], reference: str) -> str:
    """Decide as one would from Fig. 2 and section 3.2, case by case."""
    everything, relevant, irrelevant = answers
    right = "right" if everything == reference else "wrong"
    if everything != relevant:
        return f"ungrounded_{right}"
    if everything == irrelevant:
        return f"ungrounded_{right}"
    return f"grounded_{right}"


def test_all_64_answer_patterns() -> None:
    """Answers a to d under three conditions, with the reference a: each lands in exactly the cell it should."""
    patterns = list(product("abcd", repeat=3))
    columns = [[(pattern[at], float(pattern[at] == "a")) for pattern in patterns] for at in range(3)]
    rows = question_rows(answers_under(**dict(zip(CONDITIONS, columns, strict=True))))

    assert rows.height == 64
    for pattern, row in zip(patterns, rows.sort("id").to_dicts(), strict=True):
        wanted = author_cell(pattern, "a")
        assert {name: row[name] for name in CELLS} == {name: float(name == wanted) for name in CELLS}
        assert row["grounded"] == float(wanted.startswith("grounded"))
        assert row["kept"] == float(pattern[0] == pattern[1])


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(*[st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([0, 0.3, 1]))] * 3), min_size=1)
)
def test_cells_sum_to_one_and_to_the_accuracy(answers) -> None:  # noqa: ANN001 - drawn
    columns = [[question[at] for question in answers] for at in range(3)]
    rows = question_rows(answers_under(**dict(zip(CONDITIONS, columns, strict=True))))

    for row in rows.to_dicts():
        assert sum(row[name] for name in CELLS) == pytest.approx(1)
        assert row["grounded_right"] + row["ungrounded_right"] == pytest.approx(row["acc_all"])
        assert row["grounded_right"] + row["grounded_wrong"] == pytest.approx(row["grounded"])


def test_two_different_right_answers_are_not_the_same() -> None:
    """With several right answers the answer may change from one right one to another: that is not grounded."""
    rows = question_rows(answers_under(plain=[("man", 1.0)], evidence=[("boy", 1.0)], rest=[("dog", 0.0)]))

    assert rows["ungrounded_right"].to_list() == [1]


def test_a_refusal_is_an_answer_of_its_own() -> None:
    rows = question_rows(
        answers_under(
            plain=[("red", 1.0), (None, 0.0)],
            evidence=[("red", 1.0), (None, 0.0)],
            rest=[(None, 0.0), (None, 0.0)],
        )
    )

    assert rows["grounded"].to_list() == [1, 0]


@pytest.mark.parametrize("model", TABLE_2)
def test_table_2_is_made_of_its_cells(model: str) -> None:
    """Write each printed row down as 10,000 answers: the audit gives back accuracy and grounded share as printed."""
    accuracy, *cells, grounded = TABLE_2[model]
    n = [round(100 * cell) for cell in cells]
    plain, evidence, rest = [], [], []
    for name, count in zip(CELLS, n, strict=True):
        right = float(name.endswith("_right"))
        plain += [("a", right)] * count
        evidence += [("a", right)] * count
        rest += [("b" if name.startswith("grounded") else "a", 0.0)] * count
    rows = question_rows(answers_under(plain=plain, evidence=evidence, rest=rest))

    assert 100 * rows["acc_all"].mean() == pytest.approx(accuracy, abs=0.02)
    difference = abs(100 * rows["grounded"].mean() - grounded)
    assert (difference > 0.02) == (model in DOES_NOT_ADD_UP)
    assert sum(cells) == pytest.approx(100, abs=0.03)


def test_scores_of_every_kind_become_probabilities() -> None:
    """By hand: probabilities as they are, exp of log-probabilities, the softmax of logits; none listed is 0."""
    table = pl.DataFrame(
        {
            "id": ["0", "1", "2", "3", "4"],
            "draw": 0,
            "response": ["red"] * 5,
            "scores": [
                [{"answer": "Red.", "score": 0.7}, {"answer": "blue", "score": 0.3}],
                [{"answer": "red", "score": -1.0}],
                [{"answer": "red", "score": 2.0}, {"answer": "blue", "score": 2.0}],
                [{"answer": "blue", "score": 1.0}],
                None,
            ],
            "score_kind": ["prob", "logprob", "logit", "prob", None],
        }
    )
    found = probability_of(table, table.select("id", "draw", "response"), "normalized").to_list()

    assert found[:4] == pytest.approx([0.7, 0.36787944, 0.5, 0.0])
    assert found[4] is None
