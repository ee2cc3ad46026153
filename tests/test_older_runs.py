"""Every command that shows a run of an older version says in one line that its verdicts are old, until they are not."""

import sys
import tarfile
from pathlib import Path

import pytest

from eyechart.cli import main

OLDER = Path(__file__).parent / "data" / "run_of_format_1.tar.xz"  # made by eyechart 0.1.0 before format 2
ADVICE = "made by an older version of eyechart; run `eyechart judge RUN` to update.\n"


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unpack a run of accuracy, perception, rules and splits on two models, made in format 1."""
    with tarfile.open(OLDER) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "RUN"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # noqa: ANN201 - a function
    def run(*words: str | Path) -> str:
        monkeypatch.setattr(sys, "argv", ["eyechart", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert not leaving.value.code
        return capsys.readouterr().out

    return run


def test_judging_one_of_its_models_leaves_the_other(older: Path, printed) -> None:  # noqa: ANN001
    told = printed("judge", older, "-m", "cheater")

    assert f"4 results were {ADVICE}" in told
    assert ADVICE not in printed("judge", older)


def test_a_study_says_which_verdicts_are_left(older: Path, printed) -> None:  # noqa: ANN001
    """The study of accuracy is made again, which removes its two results; six are left."""
    assert f"6 results were {ADVICE}" in printed("study", older / "data", "-a", "accuracy", "-o", older)


def test_an_audit_says_which_verdicts_are_left(older: Path, printed) -> None:  # noqa: ANN001
    """The model is judged anew by every study of the run; three results of the other model are left."""
    words = ("audit", older / "data", "-a", "accuracy", "-m", "world:guesser", "-o", older)

    assert f"3 results were {ADVICE}" in printed(*words)


@pytest.mark.parametrize("form", [[], ["--markdown"]])
def test_a_comparison_says_that_nobody_knew_what_is_better(older: Path, printed, form: list[str]) -> None:  # noqa: ANN001
    told = printed("compare", older, "-o", older.parent / "page.html", *form)
    page = (older.parent / "page.html").read_text()

    assert f"8 results were {ADVICE}" in told
    assert ADVICE.strip() in page
    for text in (told, page):
        assert "Neither direction is better" not in text
    assert "An older version, which did not record which way is better" in page


def test_once_judged_again_a_comparison_ranks(older: Path, printed) -> None:  # noqa: ANN001
    printed("judge", older)
    told = printed("compare", older, "--markdown")

    assert ADVICE.strip() not in told
    assert "The best accuracy is that of" in told
