# ruff: noqa: RUF001 - full-width characters are what is tested
"""What a careful person understands, in responses written by hand: an option, nothing (-) or a refusal (!)."""

import polars as pl
import pytest

from eyechart.language.prompts import choose_template
from eyechart.models.extraction import extract

COLORS = ["red", "blue", "dark red", "a dog"]
SAMPLES = ["sample A", "sample B"]
LETTERS = ["B", "A", "D", "C"]
COUNTS = ["1", "2", "3", "10"]
YES_NO = ["yes", "no"]
TRUTHS = ["True.", "False."]
PROJECTS = ["Neither Project A nor B", "Project B", "Project A", "Both Project A and B"]
VITAMINS = ["Vitamin A", "Vitamin C", "Vitamin D", "iron"]
SPEEDS = ["5 m/s", "15 m/s", "-5 m/s", "5.5 m/s"]
CHINESE = ["红色", "蓝色", "暗红色", "狗"]
NINE = ["one way", "another", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]

CASES: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "styles of labels": (
        COLORS,
        [
            *(
                (text, "blue")
                for text in ("B", "b", "(B)", "(b)", "[B]", "B.", "B)", "B:", "**B**", "*B*", "`B`", '"B"')
            ),
            *(
                (text, "blue")
                for text in ("Option B", "option b", "Choice B.", "Option (B)", "**Option B**", "Letter B")
            ),
            *(
                (text, "blue")
                for text in ("B. blue", "B) blue", "B: blue", "B - blue", "(B) blue", "[B] blue", "B blue")
            ),
            *(
                (text, "blue")
                for text in ("B.blue", "**B.** blue", "**B. blue**", "> B", "# B", "B\n", "B\nblue", "$B$")
            ),
            *((text, "blue") for text in (r"\(B\)", r"\boxed{B}", r"\boxed{\text{B}}", r"\[\boxed{B. blue}\]")),
            *((text, "blue") for text in ("(2)", "2. blue", "2) blue", "Option 2")),
            *((text, "-") for text in ("2", "E", "(E)", "5.", "Option 7", "B2", "AB", "Bob", "B-", "1. blue and red")),
        ],
    ),
    "announcements": (
        COLORS,
        [
            *((text, "blue") for text in ("Answer: B", "Answer: blue", "ANSWER: B", "Final answer: B", "answer = B")),
            *(
                (text, "blue")
                for text in ("The answer is B", "The correct answer is (B).", "The best answer would be B.")
            ),
            *((text, "blue") for text in ("My final answer is B, since A is dark.", "The correct option is B.")),
            *(
                (text, "blue")
                for text in ("The answer is B.\nThe other answer is wrong.", "Answer: B\nExplanation: A is wrong")
            ),
            *(
                (text, "blue")
                for text in ("The answer is red? No. The answer is blue.", "Answer:\n\nB", "**Answer:** B")
            ),
            *((text, "blue") for text in ("Option A is red.\n\nAnswer: B", "I first took A. So the answer is B")),
            *((text, "blue") for text in ("<answer>B</answer>", "<think>The answer is A.</think>\nThe answer is B.")),
            *(
                (text, "blue")
                for text in ('{"answer": "B"}', '{"reason": "A is dark", "answer": "blue"}', "{'answer': 'B'}")
            ),
            *((text, "blue") for text in ('```json\n{"answer": "B"}\n```', '{"final_answer": "(B)"}')),
            *(
                (text, "blue")
                for text in (r"Answer: \( \text{B} \)", r"\[ \text{Answer: B} \]", "Answer: **B (blue)**")
            ),
            *(
                (text, "-")
                for text in ("The answer is not B", "Answer: A or B", "Answer: A, B", "The answer is (A) or (B).")
            ),
            *((text, "-") for text in ("Answer: Options (A), (B) and (D)", "Answer: none of them", "Answer: green")),
            *(
                (text, "-")
                for text in ('{"answer": ["A", "B"]}', "The answer is either A or C", "Answer:", "Answer: E")
            ),
        ],
    ),
    "sentences": (
        COLORS,
        [
            *(
                (text, "blue")
                for text in ("It looks like blue to me", "I would say blue.", "I think it's B.", "It is blue")
            ),
            *(
                (text, "blue")
                for text in ("BLUE", "Blue!", "blue, because of the sky", "Blue, not red.", "I'd go with B.")
            ),
            *(
                (text, "blue")
                for text in ("Option B is correct.", "B is correct", "B, because it is blue", "It must be B.")
            ),
            *((text, "blue") for text in ("The picture shows something blue.", "Let me see.\nThere is a sky.\n\nB")),
            *(
                (text, "dark red")
                for text in ("dark red", "It is dark red.", "Dark Red", "C. dark red", "The answer is dark red")
            ),
            *((text, "a dog") for text in ("A dog is there", "a dog", "It is a dog.", "D")),
            *((text, "red") for text in ("red", "It is red.", "A")),
            *(
                (text, "-")
                for text in ("A and B", "A or B", "A, B", "A/B", "either red or blue", "red or blue", "not B")
            ),
            *(
                (text, "-")
                for text in ("It is not blue", "It isn't B.", "neither", "both", "B. red", "(A) red (B) blue")
            ),
            *(
                (text, "-")
                for text in ("A cat", "I see nothing", "bluebird", "Hmm ...", "It depends.", "I am not sure.", "")
            ),
            *((text, "-") for text in ("A. red\nB. blue\nC. dark red\nD. a dog", "<think>B", "maybe red, maybe blue")),
            *(
                (text, "!")
                for text in ("I'm sorry, I can't help.", "I cannot see the image.", "I am unable to answer.")
            ),
        ],
    ),
    "refusals are not option I": (
        NINE,
        [
            ("I", "ninth"),
            ("(I)", "ninth"),
            ("Answer: I", "ninth"),
            ("I. ninth", "ninth"),
            ("I'm sorry, I can't determine the answer.", "!"),
            ("I can't comply with that request.", "!"),
            ("I am unable to view the image.", "!"),
            ("I don't know", "-"),
            ("I, for one, would not say.", "-"),
            ("I'm sorry, but the answer is B.", "another"),
        ],
    ),
    "options with letters in them": (
        SAMPLES,
        [
            ("The answer is A. BECAUSE: in sample B, the particles are fast. So sample B is warmer.", "sample A"),
            ("The answer is A.\nBECAUSE: because of sample B.", "sample A"),
            ("The symbol for ancient Egypt is B. The answer is A.", "sample A"),
            ("So, the answer is ice. The answer is B.", "sample B"),
            ("B, because sample A is cold", "sample B"),
            ("Answer: B. sample B", "sample B"),
            ("sample A", "sample A"),
            ("sample A or sample B", "-"),
        ],
    ),
    "projects": (PROJECTS, [("C. Project A", "Project A"), ("A. Project A", "-"), ("D", "Both Project A and B")]),
    "vitamins": (VITAMINS, [("(C) Vitamin D", "Vitamin D"), ("vitamin c", "Vitamin C"), ("It is iron.", "iron")]),
    "bare letters": (
        LETTERS,
        [("A", "B"), ("(A)", "B"), ("The answer is D.", "C"), ("A. B", "B"), ("Option C", "D"), ("A and B", "-")],
    ),
    "numbers": (
        COUNTS,
        [
            ("2", "2"),
            ("B", "2"),
            ("There are 3 dogs.", "3"),
            ("10", "10"),
            ("D. 10", "10"),
            ("B. 3", "-"),
            ("2 or 3", "-"),
            ("2.5", "-"),
            ("-2", "-"),
            ("12", "-"),
        ],
    ),
    "speeds": (
        SPEEDS,
        [
            ("5 m/s", "5 m/s"),
            ("-5 m/s", "-5 m/s"),
            ("It is 15 m/s.", "15 m/s"),
            ("The answer is 5.5 m/s", "5.5 m/s"),
            ("C. -5 m/s", "-5 m/s"),
            (r"\(15 \, \text{m/s}\)", "15 m/s"),
            ("25 m/s", "-"),
        ],
    ),
    "yes and no": (
        YES_NO,
        [
            ("Yes", "yes"),
            ("NO.", "no"),
            ("No, there isn't a yes", "no"),
            ("Yes, there is no dog", "yes"),
            ("I would say no.", "no"),
            ("The answer is yes", "yes"),
            ("yes and no", "-"),
            ("Yes or no", "-"),
            ("There is no way to say", "-"),
            ("yes, no", "-"),
            ("A", "yes"),
        ],
    ),
    "true and false": (
        TRUTHS,
        [("False.", "False."), ("true", "True."), ("It is not true", "-"), ("B) False", "False.")],
    ),
    "Chinese": (
        CHINESE,
        [
            ("Ｂ", "蓝色"),
            ("（B）", "蓝色"),
            ("B．蓝色", "蓝色"),
            ("蓝色。", "蓝色"),
            ("答案：B", "蓝色"),
            ("答案是蓝色。", "蓝色"),
            ("正确答案是：（C）", "暗红色"),
            ("我认为是暗红色", "暗红色"),
            ("不是蓝色", "-"),
            ("无法确定", "!"),
            ("选项B", "蓝色"),
        ],
    ),
}


def read_cases() -> dict[tuple[str, str], str]:
    """Read all cases at once."""
    rows = [(group, text, options) for group, (options, cases) in CASES.items() for text, _ in cases]
    table = pl.DataFrame(rows, schema=["id", "text", "choices"], orient="row")
    found = extract(table["text"], table.drop("text"), choose_template("choice"))
    marks = {"unparsed": "-", "refused": "!"}
    return {
        (group, text): marks.get(status, answer)
        for (group, text, _), (answer, status) in zip(rows, found.rows(), strict=True)
    }


READ = read_cases()


def test_there_are_many_cases() -> None:
    assert len(READ) >= 150


@pytest.mark.parametrize("group", CASES)
def test_a_response_is_read_as_a_careful_person_would(group: str) -> None:
    expected = dict(CASES[group][1])

    assert {text: READ[group, text] for text in expected} == expected
