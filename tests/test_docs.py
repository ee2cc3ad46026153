"""Pages stay short enough to be read, and every audit's page answers the same questions in the same order."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from eyechart.audits import AUDITS

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
AUDIT_PAGES = [DOCS / "audits" / f"{name}.md" for name in AUDITS.names()]

# Looked up, not read from top to bottom: they may be as long as what they list.
LOOKED_UP = {
    DOCS / "cli.md",
    DOCS / "real_files.md",
    DOCS / "zoo_table.md",
    *(DOCS / "audits" / f"{name}-reference.md" for name in AUDITS.names()),
}
READ = sorted({PROJECT / "README.md", *DOCS.glob("**/*.md")} - LOOKED_UP)


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def headings(page: Path) -> list[str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("# ", "## ", "**Question"))]


@pytest.mark.parametrize("page", READ, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page_is_read_in_one_sitting(page: Path) -> None:
    assert words(page) <= 1500


@pytest.mark.parametrize("page", sorted(LOOKED_UP), ids=lambda page: page.name)
def test_a_page_that_may_be_long_exists(page: Path) -> None:
    assert page.is_file()


@pytest.mark.parametrize("page", AUDIT_PAGES, ids=lambda page: page.stem)
def test_an_audit_has_a_page_of_its_question_an_example_how_to_read_it_and_limits(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = headings(page)
    assert found[0] == f"# Audit `{page.stem}`"
    assert found[1].startswith("**Question")
    assert text.count("```python") == 1
    assert text.index("```python") < text.index("\n## How to read it\n") < text.index("\n## Limits\n")
    assert found[-1] == "## More"
    assert 600 <= words(page) <= 900


@pytest.mark.parametrize("page", AUDIT_PAGES, ids=lambda page: page.stem)
def test_an_audits_settings_are_on_a_page_that_begins_with_those_most_used(page: Path) -> None:
    reference = page.with_name(f"{page.stem}-reference.md")
    assert "| setting | default |" not in page.read_text(encoding="utf-8")
    assert f"({reference.name})" in page.read_text(encoding="utf-8")
    settings = reference.read_text(encoding="utf-8").split("\n## Settings\n")[1]
    assert "likely to" in settings.split("| setting | default |")[0]


def test_the_readme_is_two_screens_with_one_picture_and_two_commands() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert text.count("](docs/images/") == 1
    first = text.split("```console\n")[1].split("```")[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["$ make demo", "$ make test"]


# A reader who knows one word for a thing should not meet a second one: banned word -> the glossary's.
BANNED = {
    "by lot": "draw",
    "confidence intervals?": "interval",
    "debiasing": "bias reduction",
    "distractors?": "decoy",
    "error bars?": "interval",
    "experiments?": "run",
    "foils?": "decoy",
    "gold": "reference",
    "ground truth": "reference",
    "repl(?:y|ies)": "response",
    "spurious": "shortcut",
}
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


def glossary() -> dict[str, str]:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return {word: meaning for word, meaning in ROW.findall(text) if word not in {"word", "---"}}


def uses(text: str, term: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(term.strip('`'))}(?!\w)", text, re.IGNORECASE) is not None


@pytest.mark.parametrize(("word", "meaning"), glossary().items(), ids=glossary().keys())
def test_a_term_of_the_glossary_is_used_where_it_says(word: str, meaning: str) -> None:
    audits = set(re.findall(r"(?:^of|^in|; of| of| in|baseline of) `(\w+)`", meaning)) & set(AUDITS.names())
    pages = {page for page in DOCS.glob("**/*.md") if page.name != "glossary.md"}
    everywhere = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    of_audits = ["\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob(f"audits/{a}*.md")) for a in audits]
    for term in word.split(", "):
        assert all(uses(text, term) for text in (everywhere, *of_audits)), term


def test_the_glossary_is_in_alphabetical_order_and_knows_the_words_that_are_preferred() -> None:
    words = [word.split(",")[0].strip("`").lower() for word in glossary()]
    assert words == sorted(words)
    assert set(BANNED.values()) <= {term.strip("`") for word in glossary() for term in word.split(", ")}


def test_pages_explain_terms_by_the_glossary_of_the_documentation() -> None:
    shown = files("eyechart.reporting").joinpath("glossary.md").read_text(encoding="utf-8")

    assert shown == (DOCS / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_headings_and_help_use_one_word_for_one_thing(page: Path) -> None:
    """All of the command line's help is on one page, which its own test keeps fresh."""
    text = page.read_text(encoding="utf-8")
    shown = text if page.name == "cli.md" else "\n".join(re.findall(r"^#+ .*", text, re.MULTILINE))
    found = {word: better for word, better in BANNED.items() if re.search(rf"\b{word}\b", shown, re.IGNORECASE)}
    assert not found
