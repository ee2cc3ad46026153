"""Answers are read out of their wording before they are judged; those that say nothing, or two things, stay."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.data.images import Images
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.language.prompts import choose_template
from eyechart.models import load
from eyechart.runs import wording
from eyechart.runs.run import Run
from eyechart.runs.wording import KnownAnswers, _tell, read_wording

KNOWN = KnownAnswers(pl.Series(["red", "red", "yes", "no", "2", "two", "red bus", "a dog", "Paris"]))
OPTIONS = ["red", "blue", "dark red", "bus"]


def reread(texts: list[str], question: str, choices: list[str] | None = None) -> list[str]:
    """Give what is judged for each text."""
    answers = pl.DataFrame({"answer": texts, "raw": texts, "status": "ok", "condition": "plain"})
    shown = pl.DataFrame({"question": [question] * len(texts), "choices": [choices] * len(texts)})
    return read_wording(answers, shown.cast({"choices": pl.List(pl.String)}), KNOWN).to_list()


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("red", "red"),
        ("RED", "red"),
        ("Red!", "red"),
        ("It looks like red to me", "red"),
        ("I would say red.", "red"),
        ("The answer is dark red.", "dark red"),
        ("A. red", "red"),
        ("Option C", "dark red"),
        ("A", "A"),  # names an option as it is, for scores that read labels
        ("(a)", "(a)"),
        ("either red or blue", "either red or blue"),
        ("either red or red", "either red or red"),
        ("I am not sure.", "I am not sure."),
        ("not red", "not red"),
        ("I doubt it is red", "I doubt it is red"),
        ("It is hardly red", "It is hardly red"),
        ("anything but red", "anything but red"),
        ("I question whether it is red", "I question whether it is red"),
        ("It is unlikely to be red", "It is unlikely to be red"),
        ("There is no doubt that it is red", "red"),
        ("I cannot see an image.", "I cannot see an image."),
        ("Hmm ...", "Hmm ..."),
        ("", ""),
        ("1", "1"),  # may be an index
        ("Red bus", "Red bus"),  # an answer of its own in these data, not the option bus
    ],
)
def test_an_option_is_read_where_nothing_else_could_be_meant(said: str, judged: str) -> None:
    assert reread([said], "what is it?", OPTIONS) == [judged]


@pytest.mark.parametrize(
    ("question", "said", "judged"),
    [
        ("is it red?", "yes , it is", "yes"),
        ("is it red?", "No, there isn't a yes", "no"),
        ("is it red?", "YES", "yes"),
        ("is it red?", "yes and no", "yes and no"),
        ("is it red?", "It depends.", "It depends."),
        ("what color?", "It looks like red to me", "red"),
        ("what color?", "It's red.", "red"),
        ("what color?", "not red", "not red"),
        ("what color?", "it is red and white", "it is red and white"),
        ("what color?", "either red or red", "either red or red"),
        ("how many?", "There are 2 of them", "2"),
        ("how many?", "two", "two"),
        ("how many?", "2 million", "2 million"),
        ("which city?", "paris", "Paris"),
        ("what is it?", "dog", "a dog"),
    ],
)
def test_an_open_answer_is_read_where_it_is_one_in_the_data_in_other_words(
    question: str, said: str, judged: str
) -> None:
    assert reread([said], question) == [judged]


def test_what_was_not_answered_stays_so() -> None:
    said = ["RED", "RED", None]
    answers = pl.DataFrame({"answer": said, "raw": said, "status": ["refused", "ok", "failed"], "condition": "plain"})
    shown = pl.DataFrame({"question": ["what color?"] * 3})

    assert read_wording(answers, shown, KNOWN).to_list() == ["RED", "red", None]


def test_whether_letters_are_labels_is_decided_for_each_condition() -> None:
    """B is the label of A where the other answer is a label, too; beside a text it is the option itself."""
    said = ["B", "A", "B", "cat"]
    answers = pl.DataFrame({"answer": said, "raw": said, "status": "ok", "condition": ["one", "one", "two", "two"]})
    options = [["C", "A", "B"], ["dog", "cat"]] * 2
    shown = pl.DataFrame({"question": ["which?"] * 4, "choices": options})

    assert read_wording(answers, shown, KNOWN).to_list() == ["A", "A", "B", "cat"]


def test_the_same_text_is_read_by_the_options_of_each_question() -> None:
    answers = pl.DataFrame(
        {"answer": "Option B.", "raw": "Option B.", "status": "ok", "condition": ["one", "two", "two"]}
    )
    shown = pl.DataFrame({"question": ["which?"] * 3, "choices": [["red", "blue"], ["cat", "dog"], ["red", "blue"]]})

    assert read_wording(answers, shown, KNOWN).to_list() == ["blue", "dog", "blue"]


@pytest.mark.parametrize("at_once", [1, 5, 100_000])
def test_conditions_that_are_read_together_keep_their_answers(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wording, "_AT_ONCE", at_once)
    run = start(tmp_path)
    run.study([make_audit("perception", {"modalities": ("question",), "draws": 4})])
    run.probe()
    wanted = {}
    for n, condition in enumerate(run.store.conditions()):
        probes = run.store.probes(condition)
        wanted[condition] = ["cat", "dog"][n % 2]
        told = {"answer": f"It is a {wanted[condition]}.", "raw": "", "status": "ok", "condition": condition}
        told = {name: pl.lit(value) for name, value in told.items()} | {"draw": pl.lit(0, pl.Int64)}
        run.store.write(probes.select("id", "probe", **told), run.store.answer_file("told", condition))

    wording.read_stored_answers(run.store, "told")

    assert len(wanted) > 2
    for condition, answer in wanted.items():
        assert set(run.store.answers("told").under(condition)["answer"]) == {answer}


class Said:
    """Answer with the same text every time."""

    name = "said"
    identity = json.dumps({"prompt": "choice@1", "words": choose_template("choice").digest})

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        told = {"answer": pl.lit(None, pl.String), "raw": pl.lit("I'd say it's B."), "status": pl.lit("unparsed")}
        return probes.select("id", **told)


def start(folder: Path) -> Run:
    rows = [{"id": str(n), "question": f"what {n}?", "answer": "cat", "choices": ["dog", "cat"]} for n in range(4)]
    (folder / "data.json").write_text(json.dumps(rows))
    run = Run(Store(folder / "run")).start(read(folder / "data.json"))
    run.study([make_audit("accuracy")])
    return run


def test_responses_are_read_anew_by_the_rules_of_this_version(tmp_path: Path) -> None:
    """An older version did not understand "I'd say it's B."; nobody has to be asked again."""
    run = start(tmp_path)

    assert run.audit(Said())["accuracy"].measure("accuracy", "plain").value == 1
    answers = run.store.answers("said").answers
    assert set(answers["answer"]) == {"cat"}
    assert set(answers["raw"]) == {"I'd say it's B."}


@pytest.mark.parametrize(("settings", "accuracy"), [("", 1), (",extract=auto", 1), (",extract=no", 0.25)])
def test_a_run_says_once_how_many_answers_it_read(
    settings: str, accuracy: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "said.json").write_text(json.dumps({"0": "cat", "1": "Cat!", "2": "It is a cat", "3": "B. cat"}))
    run = start(tmp_path)
    results = run.audit(load(f"predictions:{tmp_path / 'said.json'}{settings}"))
    run.judge("said")

    assert results["accuracy"].measure("accuracy", "plain").value == accuracy
    assert caplog.text.count("3 of the 4 answers of said were read out of their wording") == (accuracy == 1)
    assert run.store.answers("said").answers["raw"].to_list() == ["cat", "Cat!", "It is a cat", "B. cat"]


def test_answers_to_what_no_audit_asks_any_more_stay(tmp_path: Path) -> None:
    run = start(tmp_path)
    run.audit(Said())
    answers = run.store.table(run.store.answer_file("said", "plain"))
    former = answers.with_columns(condition=pl.lit("former"), answer=pl.lit("Cat!"))
    run.store.write(former, run.store.answer_file("said", "former"))

    assert run.judge("said")["accuracy"].measure("accuracy", "plain").value == 1
    assert set(run.store.answers("said").under("former")["answer"]) == {"Cat!"}


@pytest.mark.parametrize(("others", "accuracy"), [(["B", "(B)", "B."], 1), (["cat", "cat", "cat"], 0.75)])
def test_a_letter_is_a_label_where_the_other_answers_are_labels(
    others: list[str], accuracy: float, tmp_path: Path
) -> None:
    """Of the options C, A and B the second is A; whoever answers B to everything means it, unless answers are texts."""
    rows = [{"id": str(n), "question": "what?", "answer": "cat", "choices": ["dog", "cat"]} for n in range(3)]
    rows.append({"id": "3", "question": "which corner?", "answer": "A", "choices": ["C", "A", "B"]})
    (tmp_path / "data.json").write_text(json.dumps(rows))
    (tmp_path / "said.json").write_text(json.dumps({str(n): said for n, said in enumerate([*others, "B"])}))
    run = Run(Store(tmp_path / "run")).start(read("table", tmp_path / "data.json"))
    run.study([make_audit("accuracy")])

    first = run.audit(load(f"predictions:{tmp_path / 'said.json'}"))["accuracy"].measure("accuracy", "plain").value
    again = run.judge("said")["accuracy"].measure("accuracy", "plain").value

    assert first == again == accuracy


def test_what_is_told_of_an_answer_fits_into_a_line(caplog: pytest.LogCaptureFixture) -> None:
    long = "First,\n" + "I look at it again. " * 50 + "It is red."

    _tell("mine", pl.DataFrame({"answer": ["red"], "before": [long]}), 1, is_file=True)

    assert "\n" not in caplog.text.strip()
    assert len(caplog.text) < 300
    assert "It is red.'" in caplog.text
