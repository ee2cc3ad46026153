r"""Normalise answers exactly as the official VQA evaluation does (GT-Vision-Lab/VQA, vqaEval.py).

The official script cleans an answer (newlines and tabs become spaces, ends are stripped), then processes
punctuation, then digits and articles. Its quirks affect published numbers, so all of them are kept:

- a punctuation mark becomes a space; but if the same mark touches a space anywhere in the answer, or a
  digit-comma-digit ("1,000") occurs anywhere in it, every such mark is removed;
- a period is removed unless a digit follows: the look-behind of `(?!<=\d)(\.)(?!\d)` is mistyped and does nothing;
- only the first 32 periods are removed, because `re.UNICODE` (32) is passed as the `count` of `sub`;
- "none" becomes "0", whatever the question;
- an answer that is only articles ("a") becomes the empty text;
- the contractions of "I" are listed with a capital letter but looked up in lower case, so "im" stays "im".
"""

import polars as pl

PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
ARTICLES = ("a", "an", "the")
NUMBER_WORDS = {
    "none": "0",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
}

# The official list as spellings of each expansion, without the entries that change nothing ("let's") and
# those with a capital "I", which a lower-cased word never meets. "somebody'd" is reversed in the original.
_SPELLINGS = {
    "'ow's'at": "ow's'at 'ows'at 'ow'sat",
    "'twas": "twas",
    "ain't": "aint",
    "aren't": "arent",
    "can't": "cant",
    "could've": "couldve",
    "couldn't": "couldnt",
    "couldn't've": "couldn'tve couldnt've",
    "didn't": "didnt",
    "doesn't": "doesnt",
    "don't": "dont",
    "hadn't": "hadnt",
    "hadn't've": "hadnt've hadn'tve",
    "hasn't": "hasnt",
    "haven't": "havent",
    "he'd": "hed",
    "he'd've": "hed've he'dve",
    "he's": "hes",
    "how'd": "howd",
    "how'll": "howll",
    "how's": "hows",
    "isn't": "isnt",
    "it'd": "itd",
    "it'd've": "itd've it'dve",
    "it'll": "itll",
    "ma'am": "maam",
    "might've": "mightve",
    "mightn't": "mightnt",
    "mightn't've": "mightnt've mightn'tve",
    "must've": "mustve",
    "mustn't": "mustnt",
    "needn't": "neednt",
    "not've": "notve",
    "o'clock": "oclock",
    "oughtn't": "oughtnt",
    "shan't": "shant",
    "she'd've": "shed've she'dve",
    "should've": "shouldve",
    "shouldn't": "shouldnt",
    "shouldn't've": "shouldnt've shouldn'tve",
    "somebody'd've": "somebodyd've somebody'dve",
    "somebody'll": "somebodyll",
    "somebody's": "somebodys",
    "somebodyd": "somebody'd",
    "someone'd": "someoned",
    "someone'd've": "someoned've someone'dve",
    "someone'll": "someonell",
    "someone's": "someones",
    "something'd": "somethingd",
    "something'd've": "somethingd've something'dve",
    "something'll": "somethingll",
    "that's": "thats",
    "there'd": "thered",
    "there'd've": "thered've there'dve",
    "there're": "therere",
    "there's": "theres",
    "they'd": "theyd",
    "they'd've": "theyd've they'dve",
    "they'll": "theyll",
    "they're": "theyre",
    "they've": "theyve",
    "wasn't": "wasnt",
    "we'd've": "wed've we'dve",
    "we've": "weve",
    "weren't": "werent",
    "what'll": "whatll",
    "what're": "whatre",
    "what's": "whats",
    "what've": "whatve",
    "when's": "whens",
    "where'd": "whered",
    "where's": "wheres",
    "where've": "whereve",
    "who'd": "whod",
    "who'd've": "whod've who'dve",
    "who'll": "wholl",
    "who's": "whos",
    "who've": "whove",
    "why'll": "whyll",
    "why're": "whyre",
    "why's": "whys",
    "won't": "wont",
    "would've": "wouldve",
    "wouldn't": "wouldnt",
    "wouldn't've": "wouldnt've wouldn'tve",
    "y'all": "yall",
    "y'all'd've": "yall'd've y'alld've y'all'dve",
    "y'all'll": "yall'll y'allll",
    "you'd": "youd",
    "you'd've": "youd've you'dve",
    "you'll": "youll",
    "you're": "youre",
    "you've": "youve",
}
CONTRACTIONS = {short: full for full, spellings in _SPELLINGS.items() for short in spellings.split()}

# White space according to Python's str.strip and str.split; Rust's `\s` lacks the four separators.
_SPACES = "".join(map(chr, [*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]))
_SPACES += "\u2028\u2029\u202f\u205f\u3000"
_SPACE_RUN = r"[\s\x1c-\x1f]+"

# Each word of a text is surrounded by two spaces of its own, so that no two of these keys can overlap.
_WORDS = {
    **{f" {word} ": "" for word in ARTICLES},
    **{f" {word} ": f" {new} " for word, new in (NUMBER_WORDS | CONTRACTIONS).items()},
}

# Placeholder for a period to keep. All ";" are removed by then, so it cannot clash with the text.
_KEPT_PERIOD = ";"


def clean_answer(answer: pl.Expr) -> pl.Expr:
    """Replace newlines and tabs by spaces and strip the ends: all the official score does to unanimous answers."""
    return answer.str.replace_all(r"[\n\t]", " ").str.strip_chars(_SPACES)


def normalize_answer(answer: pl.Expr) -> pl.Expr:
    """Apply the official punctuation step, then the official digit, article and contraction step."""
    return _fold_words(_strip_punctuation(answer))


def _strip_punctuation(answer: pl.Expr) -> pl.Expr:
    """Remove marks or replace them by spaces, then drop the first 32 periods that no digit follows."""
    has_comma_number = answer.str.contains(r"\d,\d")
    text = answer
    for mark in PUNCTUATION:
        vanishes = has_comma_number | answer.str.contains_any([f"{mark} ", f" {mark}"])
        filler = pl.when(vanishes).then(pl.lit("")).otherwise(pl.lit(" "))
        text = text.str.replace_all(mark, filler, literal=True)
    text = text.str.replace_all(r"\.(\d)", f"{_KEPT_PERIOD}$1")
    return text.str.replace(".", "", literal=True, n=32).str.replace_all(_KEPT_PERIOD, ".", literal=True)


def _fold_words(text: pl.Expr) -> pl.Expr:
    """Convert to lower case, drop articles, write number words as digits and restore apostrophes in contractions."""
    words = text.str.to_lowercase().str.strip_chars(_SPACES).str.replace_all(_SPACE_RUN, "  ")
    replaced = words.str.replace_all("^|$", " ").str.replace_many(_WORDS)
    return replaced.str.replace_all("  ", " ", literal=True).str.strip_chars(" ")
