"""One line a model: what follows from its verdicts, what was not tested, and a command that would test it."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from html import escape
from itertools import product
from pathlib import Path

import pytest

from eyechart.base.files import write_record
from eyechart.cli import app, main
from eyechart.data.furniture import About, Furniture
from eyechart.data.records import StudyPlan, WantedConditions
from eyechart.data.result import OUTDATED, State, Verdict
from eyechart.data.store import Store
from eyechart.reporting import as_dict, collect, collect_results, render
from eyechart.reporting.overall import MODEL, Overall, Remedies, collect_overall, combine
from eyechart.reporting.page import summarise

STATES: tuple[State, ...] = ("yes", "no", "cannot tell", "not tested")
ABOUT: dict[str, About] = {"far": "looking", "near": "looking", "easy": "shortcuts", "right": "other"}
PARTS = ("decoys", "grounding", "perception", "rules", "splits")
QUESTION = "Any question?"


def verdict(state: State, label: str = "in short", question: str = QUESTION) -> Verdict:
    return Verdict(state, question, label, "In a sentence.")


def line(**states: State | tuple[State, ...]) -> Overall:
    """Write the line of a model by its states, one or several by each audit."""
    several = {audit: own if isinstance(own, tuple) else (own,) for audit, own in states.items()}
    return Overall.of(
        "m", {audit: [verdict(state) for state in own] for audit, own in several.items()}, Remedies(None, ABOUT, {})
    )


def parse(command: str) -> None:
    """Let the command line read every command of a chain, without running it."""
    import typer

    for part in command.split(" && "):
        program, name, *words = shlex.split(part)
        assert program == "eyechart"
        group = typer.main.get_command(app)
        assert isinstance(group, typer.core.TyperGroup)
        group.commands[name].make_context(name, words)


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    def run(command: str) -> str:
        for part in command.split(" && "):
            monkeypatch.setattr("sys.argv", shlex.split(part))
            with pytest.raises(SystemExit) as leaving:
                main()
            assert not leaving.value.code
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("looking", [("a", "b", "c"), ("a",), ()])
def test_the_state_follows_from_the_states_of_all_verdicts(looking: tuple[str, ...]) -> None:
    """In the order of the rule: any no; nothing that looks tested; any cannot tell; else yes."""
    for states in product((*STATES, None), repeat=5):
        by_audit = {audit: [state] for audit, state in zip("abcde", states, strict=True) if state}
        tested = [audit for audit in looking if by_audit.get(audit, ["not tested"]) != ["not tested"]]

        state, audits = combine(by_audit, looking)

        if "no" in states:
            assert state == "no"
        elif not tested:
            assert state == "not tested"
        elif "cannot tell" in states:
            assert state == "cannot tell"
        else:
            assert state == "yes"
        assert audits == tuple(audit for audit, own in by_audit.items() if state in own and state != "not tested")


def test_every_verdict_of_an_audit_counts() -> None:
    for first, second in product(STATES, repeat=2):
        both, apart = combine({"a": [first, second]}, "a"), combine({"a": [first], "b": [second]}, "ab")

        assert both[0] == apart[0]


def test_an_audit_about_something_else_takes_no_part() -> None:
    for state in STATES:
        assert line(far="yes", near="yes", easy="yes", right=state).state == "yes"
        assert line(right=state).state == "not tested"


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({"far": "yes", "near": "yes", "easy": "no"}, "no: easy says no."),
        ({"far": "no", "near": "yes", "easy": "no"}, "no: easy and far say no."),
        ({"far": "yes", "near": "yes", "easy": "yes"}, "yes: easy, far and near say yes."),
        ({"far": "yes", "near": "yes", "easy": "cannot tell"}, "cannot tell: easy cannot tell."),
        ({"far": "yes", "near": ("yes", "not tested"), "easy": "yes"}, "Not tested: near (Any question? in short)."),
        ({"easy": "yes"}, "not tested: no audit tested it. Not tested: far and near (not run)."),
        (
            {"easy": "not tested", "far": "yes", "near": "yes"},
            "say yes. Not tested: easy (in short).",
        ),
        ({}, "Not tested: easy, far and near (not run)."),
    ],
)
def test_the_line_names_the_audits_behind_it(states: dict[str, State], sentence: str) -> None:
    assert line(**states).sentence.startswith("Does it look? ")
    assert line(**states).sentence.endswith(sentence)


def test_the_registered_audits_say_what_they_are_about() -> None:
    assert Remedies.of().about == {
        "accuracy": "other",
        "decoys": "looking",
        "grounding": "looking",
        "perception": "looking",
        "rules": "shortcuts",
        "splits": "shortcuts",
    }
    assert Furniture().about == "other"


def test_an_audit_of_ones_own_takes_part_as_its_plan_says(run: Store) -> None:
    (one, *_) = run.results()
    result = replace(run.results()[one]["accuracy"].read(), audit="own")
    result.save(run.study_folder("own"))
    result.save(run.result_folder(one, "own"))
    write_record(StudyPlan("own.py:Own", {}, about="looking"), run.plan_file("own"))

    found = {each.model: each for each in collect(run).overall}

    assert (found[one].state, found[one].audits) == ("no", ("own",))
    assert {each.state for model, each in found.items() if model != one} == {"not tested"}


def test_with_accuracy_alone_every_model_has_a_line_that_is_not_tested(run: Store) -> None:
    lines = collect(run).overall

    assert [each.model for each in lines] == sorted(run.results())
    assert {each.state for each in lines} == {"not tested"}
    assert set(lines[0].untested) == set(PARTS)
    assert lines[0].untested["grounding"] == "no evidence in the data"
    for each in lines:
        for command, tested in each.commands.items():
            assert "grounding" not in tested
            parse(command)


def test_a_run_without_models_has_no_line(data_only: Store) -> None:
    assert collect(data_only).overall == ()


def test_who_answered_and_was_not_judged_has_a_line_with_the_steps_that_are_left(run: Store) -> None:
    """A result may be missing because nobody judged, nobody was asked, or there are no probes."""
    result = run.results()["a:one"]["accuracy"].read()
    replace(result, audit="rules").save(run.study_folder("rules"))
    write_record(StudyPlan("rules", {}), run.plan_file("rules"))
    run.stock_file("a:one").unlink()

    def steps() -> str:
        found = next(each for each in collect(run).overall if each.model == "a:one")
        assert found.untested["rules"] == "not judged"
        command = next(command for command, audits in found.commands.items() if audits == ("rules",))
        parse(command)
        return command

    place = shlex.quote(str(run.folder))
    assert steps() == (
        f"eyechart probe {place} && eyechart predict {place} -m {MODEL} && eyechart judge {place} -m a:one"
    )
    write_record(WantedConditions("wanted", {"rules": ("plain",)}), run.wanted_file)
    assert steps() == f"eyechart judge {place} -m a:one"
    run.answer_file("a:one", "plain").unlink()
    assert steps() == f"eyechart predict {place} -m {MODEL} && eyechart judge {place} -m a:one"


def test_an_outdated_verdict_is_not_tested_until_it_is_judged_again(run: Store) -> None:
    result = replace(run.results()["a:one"]["accuracy"].read(), audit="perception", verdict=OUTDATED)
    for folder in (run.study_folder("perception"), run.result_folder("a:one", "perception")):
        result.save(folder)
    write_record(StudyPlan("perception", {}), run.plan_file("perception"))
    write_record(WantedConditions("wanted", {"perception": ("plain",)}), run.wanted_file)

    found = next(each for each in collect(run).overall if each.model == "a:one")

    assert found.state == "not tested"
    assert found.untested["perception"] == "judged by an older version"
    assert found.commands[f"eyechart judge {shlex.quote(str(run.folder))} -m a:one"] == ("perception",)


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ("-m world:a:one -o R", "world:a:one"),
        ("--model=world:a:one -o R", "world:a:one"),
        ("-m openai:a:one,prompt=x -m world:b --base-url=http://h/v1", "openai:a:one,prompt=x --base-url http://h/v1"),
        ("-m hf:a:one --base-url http://h/v1 --draws 3", "hf:a:one --draws 3"),
        ("-m predictions:x.json,name=a:one", "predictions:x.json,name=a:one"),
        ("-m world:other", MODEL),
        ("'unclosed -m world:a:one", MODEL),
    ],
)
def test_the_command_asks_the_model_as_the_run_did(run: Store, words: str, again: str) -> None:
    write_record(replace(run.manifest, command=f"eyechart audit D {words}"), run.manifest_file)
    run.stock_file("a:one").unlink()

    (command,) = next(each for each in collect(run).overall if each.model == "a:one").commands

    assert f" -m {again} -o " in command


def test_answers_from_files_need_a_model_that_has_the_others(run: Store) -> None:
    write_record(replace(run.manifest, command="eyechart audit D -m predictions:a:one"), run.manifest_file)

    (command,) = next(each for each in collect(run).overall if each.model == "a:one").commands

    assert f" -m {MODEL} -o " in command


def test_an_audit_whose_study_failed_has_no_command(run: Store) -> None:
    write_record({"kind": "left out", "reasons": {"splits": "expected a; found b; do c"}}, run.left_out_file)

    found = collect(run).overall[0]

    assert found.untested["splits"] == "left out"
    assert all("splits" not in audits for audits in found.commands.values())


def test_the_command_it_names_tests_what_was_not_tested(tmp_path: Path, type_in: Callable[[str], str]) -> None:
    run = f"{tmp_path}/a run"
    type_in(f"eyechart read world -o {tmp_path}/world --set images=30")
    first = type_in(f"eyechart audit {tmp_path}/world -a accuracy -m world:deaf -o '{run}'")
    (before,) = collect(Store(Path(run))).overall
    (command,) = before.commands

    assert before.commands[command] == PARTS
    assert f"\n  to test decoys, grounding, perception, rules and splits for deaf: {command}\n" in first
    assert max(map(len, first.partition("deaf: ")[2].splitlines()[:2])) <= 80
    type_in(command)
    (after,) = collect(Store(Path(run))).overall
    assert (after.state, after.commands) == ("no", {})
    assert "grounding" in after.audits
    assert all(reason != "not run" for reason in after.untested.values())


def test_every_page_shows_the_line(run: Store, nasty: str, type_in: Callable[[str], str]) -> None:
    page = collect(run)
    shown, markdown = render(page), summarise(page)

    assert json.loads(json.dumps(as_dict(page)))["overall"][0]["state"] == "not tested"
    for each in page.overall:
        assert each.sentence in markdown
        assert all(escape(command) in shown for _, command in each.tests())
    assert shown.index('class="lead"') < shown.index('<table class="matrix">')
    assert nasty not in shown
    assert not any(line.startswith(f"- **c {nasty}") for line in markdown.splitlines())
    assert page.overall[0].sentence[:60] in type_in(f"eyechart compare {shlex.quote(str(run.folder))} --markdown")


def test_results_in_memory_have_a_line(run: Store) -> None:
    result = run.results()["a:one"]["accuracy"].read()
    several = [replace(result, audit="perception"), result]

    (found,) = collect_results(several).overall

    assert (found.model, found.state, found.audits) == ("a:one", "no", ("perception",))
    (command,) = found.commands
    parse(command)
    assert command == "eyechart audit DATA -a decoys -a grounding -a rules -a splits -m MODEL -o RUN"
    assert collect_overall({}) == ()
