"""The official VQA evaluation, written out slowly and literally, against our vectorised scores.

The reference follows the order of steps of vqaEval.py (GT-Vision-Lab/VQA, commit a013f00) one by one.
"""

import os
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.text import CONTRACTIONS, clean_answer, normalize_answer
from eyechart.scoring import score

DATA = Path(os.environ.get("EYECHART_DATA", Path(__file__).parents[3] / "shared" / "data"))
VQA2 = DATA / "vqa2" / "vqa2_89710_with_objects.parquet"

PUNCT = [";", "/", "[", "]", '"', "{", "}", "(", ")", "=", "+", "\\", "_", "-", ">", "<", "@", "`", ",", "?", "!"]
PERIOD = re.compile(r"(?!<=\d)(\.)(?!\d)")
COMMA = re.compile(r"(\d)(\,)(\d)")
NUMBER_LIST = "none=0 zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10"
CONTRACTION_LIST = """
    aint=ain't arent=aren't cant=can't couldve=could've couldnt=couldn't couldn'tve=couldn't've
    couldnt've=couldn't've didnt=didn't doesnt=doesn't dont=don't hadnt=hadn't hadnt've=hadn't've
    hadn'tve=hadn't've hasnt=hasn't havent=haven't hed=he'd hed've=he'd've he'dve=he'd've hes=he's howd=how'd
    howll=how'll hows=how's Id've=I'd've I'dve=I'd've Im=I'm Ive=I've isnt=isn't itd=it'd itd've=it'd've
    it'dve=it'd've itll=it'll let's=let's maam=ma'am mightnt=mightn't mightnt've=mightn't've
    mightn'tve=mightn't've mightve=might've mustnt=mustn't mustve=must've neednt=needn't notve=not've
    oclock=o'clock oughtnt=oughtn't ow's'at='ow's'at 'ows'at='ow's'at 'ow'sat='ow's'at shant=shan't
    shed've=she'd've she'dve=she'd've she's=she's shouldve=should've shouldnt=shouldn't
    shouldnt've=shouldn't've shouldn'tve=shouldn't've somebody'd=somebodyd somebodyd've=somebody'd've
    somebody'dve=somebody'd've somebodyll=somebody'll somebodys=somebody's someoned=someone'd
    someoned've=someone'd've someone'dve=someone'd've someonell=someone'll someones=someone's
    somethingd=something'd somethingd've=something'd've something'dve=something'd've
    somethingll=something'll thats=that's thered=there'd thered've=there'd've there'dve=there'd've
    therere=there're theres=there's theyd=they'd theyd've=they'd've they'dve=they'd've theyll=they'll
    theyre=they're theyve=they've twas='twas wasnt=wasn't wed've=we'd've we'dve=we'd've weve=we've
    werent=weren't whatll=what'll whatre=what're whats=what's whatve=what've whens=when's whered=where'd
    wheres=where's whereve=where've whod=who'd whod've=who'd've who'dve=who'd've wholl=who'll whos=who's
    whove=who've whyll=why'll whyre=why're whys=why's wont=won't wouldve=would've wouldnt=wouldn't
    wouldnt've=wouldn't've wouldn'tve=wouldn't've yall=y'all yall'll=y'all'll y'allll=y'all'll
    yall'd've=y'all'd've y'alld've=y'all'd've y'all'dve=y'all'd've youd=you'd youd've=you'd've
    you'dve=you'd've youll=you'll youre=you're youve=you've
"""
MANUAL_MAP = dict(pair.split("=") for pair in NUMBER_LIST.split())
OFFICIAL_CONTRACTIONS = dict(pair.split("=") for pair in CONTRACTION_LIST.split())


def official_clean(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


def official_punctuation(text: str) -> str:
    out = text
    for mark in PUNCT:
        touches_space = mark + " " in text or " " + mark in text
        out = out.replace(mark, "" if touches_space or re.search(COMMA, text) is not None else " ")
    return PERIOD.sub("", out, re.UNICODE)


def official_words(text: str) -> str:
    kept = []
    for word in text.lower().split():
        mapped = MANUAL_MAP.get(word, word)
        if mapped not in ("a", "an", "the"):
            kept.append(mapped)
    return " ".join(OFFICIAL_CONTRACTIONS.get(word, word) for word in kept)


def official_normal(text: str) -> str:
    return official_words(official_punctuation(text))


def official_accuracy(answer: str, humans: list[str], *, always: bool = False) -> float:
    answer, humans = official_clean(answer), [official_clean(human) for human in humans]
    if always or len(set(humans)) > 1:
        answer, humans = official_normal(answer), [official_normal(human) for human in humans]
    subsets = [humans[:out] + humans[out + 1 :] for out in range(len(humans))]
    return sum(min(1, subset.count(answer) / 3) for subset in subsets) / len(subsets)


def normal(*texts: str) -> list[str]:
    return (
        pl.Series("text", texts, dtype=pl.String).to_frame().select(normalize_answer(pl.col("text")))["text"].to_list()
    )


def vqa(rows: list[tuple[str, list[str]]], how: str = "vqa") -> list[float]:
    schema = {"given": pl.String, "answers": pl.List(pl.String)}
    return score(pl.DataFrame(rows, schema=schema, orient="row"), how).to_list()


PIECES = [
    *PUNCT, *";,.-?!", *".....", ". ", " .", " ,", ", ", "- ", " -", "1,000", "3.5", ".5", "5.", "1.2.3", "0", "7",
    "a", "an", "the", "The", "A", "none", "None", "zero", "one", "ten", "eleven", "Two", "dont", "Im", "ive", "wont",
    "let's", "she's", "somebody'd", "'ow'sat", "y'allll", "cat", "DOG", "x", "'", ":", "$", "%", "&", " ", "  ", "\n",
    "\t", "\r", "\x0b", "\x1c", "\x1f", "\x85", "\u00a0", "\u2003", "\u3000", "\u200b", "é", "É", "ß", "İ", "Σ", "ΟΔΟΣ",
    "猫", "😀", "\u0663", "\u0967,\u0968", "\u066b", "\uff0e", "½", "²", "e\u0301", "\x00",
]  # fmt: skip
STRINGS = st.lists(
    st.sampled_from(PIECES) | st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs", "Cn"]), max_size=14
).map("".join)
WORDS = st.sampled_from(
    [
        "yes", "Yes", "yes.", "yes!", " yes", "the yes", "no", "none", "0", "zero", "a", "", "dont know", "don't know",
        "don't know?", "1,000", "1000", "x-ray", "x ray", "xray",
    ]
)  # fmt: skip
ROWS = st.tuples(
    WORDS | STRINGS, st.lists(WORDS, min_size=10, max_size=10) | st.builds(lambda word: [word] * 10, WORDS)
)


def test_contractions_are_the_official_ones() -> None:
    """Only entries that can change a lower-cased word may be left out of our list."""
    reachable = {
        short: full for short, full in OFFICIAL_CONTRACTIONS.items() if short == short.lower() and short != full
    }

    assert reachable == CONTRACTIONS
    assert len(OFFICIAL_CONTRACTIONS) - len(reachable) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", "0"),  # issue 7 of the official repository
        ("None of them", "0 of them"),
        ("ten", "10"),
        ("eleven", "eleven"),
        ("The cat", "cat"),
        ("a", ""),
        ("", ""),
        ("a an the", ""),
        ("a a dog a", "dog"),
        ("x-ray", "x ray"),  # a mark becomes a space
        ("x-ray - yes", "xray yes"),  # but vanishes everywhere where it touches one somewhere
        ("yes/no, maybe", "yes no maybe"),  # each mark for itself
        ("1,000", "1000"),
        ("1,000 x-ray/y", "1000 xrayy"),  # such a number makes all marks vanish
        ("\u0661,\u0662-x", "\u0661\u0662x"),  # digits of every script
        ("red,blue", "red blue"),
        ("-5", "5"),
        ("5.", "5"),  # the look-behind does nothing
        ("3.5", "3.5"),
        ("U.S.A.", "usa"),
        ("...5", ".5"),
        (".,5", "5"),
        (".-5", "5"),
        ("v1.2.3.", "v1.2.3"),
        ("." * 32, ""),
        ("." * 33, "."),
        ("." * 40 + "x.5.", "........x.5."),
        ("1.5" + ".x" * 40, "1.5" + "x" * 32 + ".x" * 8),  # a kept period does not count
        ("it's 10:30", "it's 10:30"),  # apostrophe and colon are no punctuation here
        ("dont", "don't"),
        ("Dont!", "don't"),
        ("im", "im"),  # listed as "Im", so never met
        ("Ive", "ive"),
        ("somebody'd", "somebodyd"),
        ("'ow'sat", "'ow's'at"),
        ("lets", "lets"),
        ("do-nt", "do nt"),
        ("two\u00a0\u3000dogs\x1cran\r\n", "2 dogs ran"),
        ("ΟΔΟΣ", "οδος"),
    ],
)
def test_quirks(text: str, expected: str) -> None:
    """Each quirk of the official normal form, by hand."""
    assert official_normal(text) == expected
    assert normal(text) == [expected]


@settings(max_examples=150, deadline=None)
@given(st.lists(STRINGS, min_size=10, max_size=10))
def test_normal_form_equals_the_literal_one(texts: list[str]) -> None:
    """1,500 texts full of marks, digits, articles, number words, contractions and odd characters."""
    cleaned = pl.DataFrame({"text": texts}).select(clean_answer(pl.col("text")))["text"].to_list()

    assert cleaned == [official_clean(text) for text in texts]
    assert normal(*texts) == [official_normal(text) for text in texts]


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, min_size=10, max_size=10))
def test_soft_accuracy_equals_the_literal_one(rows: list[tuple[str, list[str]]]) -> None:
    """600 rows of ten human answers, with normalisation where they differ and always."""
    for how in ("vqa", "vqa-always"):
        expected = [official_accuracy(*row, always=how == "vqa-always") for row in rows]

        assert vqa(rows, how) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=2, max_size=13)), min_size=5, max_size=5))
def test_soft_accuracy_for_other_numbers_of_humans(rows: list[tuple[str, list[str]]]) -> None:
    for how in ("vqa", "vqa-always"):
        expected = [official_accuracy(*row, always=how == "vqa-always") for row in rows]

        assert vqa(rows, how) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("how", ["vqa", "vqa-always"])
def test_table_of_matches(how: str) -> None:
    """0, 1, 2, 3 and 4 or more matches out of ten score 0, .3, .6, .9 and 1."""
    rows = [("cat", ["cat"] * matches + ["dog"] * (10 - matches)) for matches in range(11)]

    assert vqa(rows, how) == pytest.approx([0, 0.3, 0.6, 0.9] + [1] * 7, abs=1e-12)


def test_eight_against_two() -> None:
    """The example worked out by the authors in issue 1 of the official repository."""
    humans = ["yes"] * 8 + ["no"] * 2

    assert vqa([("yes", humans), ("no", humans)]) == pytest.approx([1.0, 0.6], abs=1e-12)


def test_unanimous_humans_switch_normalisation_off() -> None:
    """Against ten times "black", "Black." scores 0 officially and 1 where normal forms are always compared."""
    rows = [("Black.", ["black"] * 10), ("Black.", ["black"] * 9 + ["grey"]), ("Black.", [" black", "black\n"] * 5)]

    assert vqa(rows, "vqa") == [0, 1, 0]
    assert vqa(rows, "vqa-always") == [1, 1, 1]


def test_none_matches_zero_only_after_normalisation() -> None:
    """Since 2021-03 both sides are normalised, so "none" meets "none" and also "0"."""
    rows = [("none", ["none"] * 3 + ["0"] + ["nothing"] * 6), ("none", ["0"] * 10)]

    assert vqa(rows, "vqa") == [1, 0]
    assert vqa(rows, "vqa-always") == [1, 1]


@pytest.mark.skipif(not VQA2.exists(), reason="the real VQA v2 rows are not at ../shared/data or $EYECHART_DATA")
def test_real_rows() -> None:
    """2,000 real questions, each answered with the answer of a question of the same type."""
    table = pl.read_parquet(VQA2, columns=["question_type", "answers"]).sample(2000, seed=0)
    table = table.sort("question_type", maintain_order=True)
    donors = table["answers"].shift(1).fill_null(table["answers"].tail(1))
    table = table.with_columns(given=donors.list.get(3))
    for how in ("vqa", "vqa-always"):
        expected = [
            official_accuracy(*row, always=how == "vqa-always") for row in table["given", "answers"].iter_rows()
        ]

        assert 0 < sum(expected) < len(expected)
        assert score(table, how).to_list() == pytest.approx(expected, abs=1e-12)
