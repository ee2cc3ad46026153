"""The command line does what the library does, teaches, and answers mistakes with one line and exit code 1."""

import errno
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.audits import AUDITS
from eyechart.base.progress import quiet
from eyechart.cli import EXAMPLES, main
from eyechart.cli import printing as show
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions

DOCS = Path(__file__).parent.parent / "docs"
VERBS = tuple(verb.__name__ for verb in EXAMPLES)
Eyechart = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "world"
    read("world", images=30, seed=3).save(folder)
    return folder


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("csv") / "quiz.csv"
    path.write_text("which,prompt,label\n01,what color?,red\n02,how many?,2\n")
    return path


def test_the_version_is_told(eyechart: Eyechart) -> None:
    assert eyechart("--version") == (0, "eyechart 0.1.0\n", "")


def test_nothing_asked_is_answered_with_the_help_as_it_is(eyechart: Eyechart) -> None:
    code, out, err = eyechart()

    assert (code, err) == (0, "")
    assert out == eyechart("--help")[1]
    assert "\nCommands:\n" in out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_with_an_example(eyechart: Eyechart, verb: str) -> None:
    code, out, _ = eyechart(verb, "--help")

    assert code == 0
    assert f"Example:\n    eyechart {verb}" in out


def test_the_page_of_the_command_line_is_fresh() -> None:
    """Run `make docs` when this fails."""
    page = runpy.run_path(str(DOCS / "make_cli_page.py"))["page"]

    assert (DOCS / "cli.md").read_text(encoding="utf-8") == page()


def test_demo_goes_the_whole_way(eyechart: Eyechart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = eyechart("demo", "--images", "30")
    pictures = read("demo/world").images

    assert (code, err) == (0, "")
    assert all(name in out for name in ("seer", "cheater", "blind", "guesser"))
    assert "<svg" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert all((Path(str(pictures.root)) / path).is_file() for path in pictures.table["path"])

    monkeypatch.setattr("eyechart.cli.reading.runnable", lambda _: ["accuracy"])  # all of them were seen to run
    told = json.loads(eyechart("demo", "--images", "20", "--json")[1])  # in the place of the first
    assert {row["subject"] for row in told["summary"]} >= {"seer", "cheater"}


@pytest.mark.parametrize("what", ["audits", "formats", "models", "scores", "exports", "networks", "methods"])
def test_ls_lists_for_people_and_for_programs(eyechart: Eyechart, what: str) -> None:
    rows = json.loads(eyechart("ls", what, "--json")[1])
    code, out, _ = eyechart("ls", what)

    assert code == 0
    assert rows
    assert all(next(iter(row.values())) in out for row in rows)


def test_ls_says_which_audits_the_data_allow(eyechart: Eyechart, world: Path) -> None:
    rows = json.loads(eyechart("ls", "audits", "--for", world, "--json")[1])

    assert {row["audit"]: row["can run"] for row in rows} == dict.fromkeys(AUDITS.names(), "yes")


def test_read_counts_what_it_read(eyechart: Eyechart, csv: Path) -> None:
    code, out, _ = eyechart("read", "table", csv, "-o", "D", "--map", "id=which", "question=prompt", "answer=label")

    assert code == 0
    assert "2 examples on 0 images in D" in out
    assert Dataset.load("D").examples["id"].to_list() == ["01", "02"]


def test_read_tells_programs_what_it_read(eyechart: Eyechart, csv: Path) -> None:
    told = json.loads(eyechart("read", "table", csv, "-o", "D", "--map", "id=which", "--json")[1])

    assert (told["examples"], told["images"], told["counts"][0]["n"]) == (2, 0, 2)


def test_read_draws_the_world_into_its_folder(eyechart: Eyechart, tmp_path: Path) -> None:
    code, _, _ = eyechart("read", "world", "-o", "W", "--set", "images=3", "--set", "render=true", "--seed", "5")
    data = Dataset.load("W")

    assert code == 0
    assert data.images.root == Path("W/pictures")
    assert sorted(path.name for path in Path("W/pictures").iterdir()) == sorted(data.images.table["path"])
    assert data.examples.equals(read("world", images=3, seed=5).examples)


def test_read_takes_evidence_from_heat_maps(eyechart: Eyechart, tmp_path: Path) -> None:
    heat = np.zeros((320, 384), np.uint8)
    heat[20:80, 30:90] = 200
    (tmp_path / "maps").mkdir()
    Image.fromarray(heat).save(tmp_path / "maps" / "w5-000001-0.png")
    eyechart("read", "world", "-o", "W", "--set", "images=3", "--seed", "5", "--heat-maps", "maps")

    found = read(tmp_path / "W").examples.select("id", "evidence").drop_nulls()
    assert found.to_dicts() == [{"id": "w5-000001-0", "evidence": [{"label": "heat", "box": [30, 20, 90, 80]}]}]


def test_read_takes_a_seeded_sample(eyechart: Eyechart, world: Path) -> None:
    eyechart("read", "table", world / "examples.parquet", "-o", "D", "--limit", "7", "--seed", "1")

    assert Dataset.load("D").examples.height == 7


def test_the_steps_one_by_one_are_the_audit(eyechart: Eyechart, world: Path) -> None:
    for words in (
        ("study", world, "-a", "accuracy", "--by", "question_type", "-o", "steps"),
        ("probe", "steps"),
        ("predict", "steps", "-m", "world:blind", "--batch-size", "7"),
        ("judge", "steps"),
        ("report", "steps"),
        ("audit", world, "-a", "accuracy", "--by", "question_type", "-o", "whole", "-m", "world:blind"),
    ):
        assert eyechart(*words)[0] == 0
    steps, whole = Store(Path("steps")), Store(Path("whole"))

    assert steps.results()["blind"]["accuracy"].measures.equals(whole.results()["blind"]["accuracy"].measures)
    assert Path("steps/report.html").is_file()
    assert Path("whole/report.html").is_file()
    assert whole.manifest.command.startswith("eyechart audit")


def test_every_verb_over_a_run_speaks_json(eyechart: Eyechart, world: Path) -> None:
    study = json.loads(eyechart("study", world, "-a", "accuracy", "-o", "R", "--json")[1])
    probes = json.loads(eyechart("probe", "R", "--json")[1])
    calls = json.loads(eyechart("predict", "R", "-m", "world:seer", "--dry-run", "--json")[1])
    answers = json.loads(eyechart("predict", "R", "-m", "world:seer", "--json")[1])
    judged = json.loads(eyechart("judge", "R", "--json")[1])
    audited = json.loads(eyechart("audit", world, "-a", "accuracy", "-o", "R", "-m", "world:seer", "--json")[1])
    report = json.loads(eyechart("report", "R", "--json")[1])

    assert calls == {"seer": {condition: {"calls": n} for condition, n in probes.items()}}
    assert {name: counts["n"] for name, counts in answers["seer"]["answers"].items()} == probes
    assert [section["role"] for section in study["sections"]] == ["study"]
    assert judged["summary"] == audited["summary"] == report["summary"]


def test_a_dry_run_counts_and_asks_nothing(eyechart: Eyechart, world: Path) -> None:
    words = ("audit", world, "-a", "accuracy", "-m", "world:seer", "-o", "R", "--dry-run", "--json")
    calls = json.loads(eyechart(*words)[1])

    assert calls["seer"]["plain"] == {"calls": read(world).divided(learns=False).judge.examples.height}
    assert Store(Path("R")).models() == []


def test_several_models_are_told_as_one_object_with_all_that_people_see(eyechart: Eyechart, world: Path) -> None:
    eyechart("study", world, "-a", "accuracy", "-o", "R")
    eyechart("probe", "R")
    ids = Store(Path("R")).probes("plain")["id"]
    Path("a.json").write_text(json.dumps(dict.fromkeys([*ids[:-3], "extra"], "yes")))
    models = ("-m", "world:seer", "-m", "predictions:a.json")
    ahead = json.loads(eyechart("predict", "R", *models, "--dry-run", "--json")[1])
    told = json.loads(eyechart("predict", "R", *models, "--json")[1])
    n, none = len(ids), {"refused": 0, "unparsed": 0, "failed": 0}

    assert ahead == {name: {"plain": {"calls": n}} for name in ("seer", "a")}
    assert told["seer"] == {"answers": {"plain": {"ok": n, **none, "n": n}}, "counts": []}
    assert told["a"]["answers"] == {"plain": {"ok": n - 3, **none, "n": n - 3}}
    assert {(row["reason"], row["n"]) for row in told["a"]["counts"]} >= {
        ("asked, but not in the file", 3),
        ("in the file, but not asked", 1),
    }


def write_quiz(n: int = 60) -> None:
    """Write questions about colours, and a model's answers to them: every other one is right."""
    colors = ("red", "blue", "green")
    rows = [
        {"set": k // 2, "part": k % 2, "question": f"what color is {k}?", "answer": colors[k % 3]} for k in range(n)
    ]
    Path("quiz.json").write_text(json.dumps(rows))
    answers = [
        {"set": row["set"], "part": row["part"], "prediction": row["answer"] if k % 2 else "pink"}
        for k, row in enumerate(rows)
    ]
    Path("answers.json").write_text(json.dumps(answers))


def test_data_and_answers_may_be_files_that_were_never_read(eyechart: Eyechart) -> None:
    write_quiz()

    code, out, _ = eyechart("audit", "quiz.json", "-m", "answers.json", "--id", "set,part", "-a", "accuracy", "-o", "R")

    assert code == 0
    assert "quiz read as: id = set" in out
    assert Store(Path("R")).results()["answers"]["accuracy"].measure("accuracy", "plain").value == 0.5


def test_verbose_shows_the_first_example_of_each_column(eyechart: Eyechart) -> None:
    write_quiz()

    words = ("read", "quiz.json", "--id", "set,part", "-o")
    plain, verbose = eyechart(*words, "A")[1], eyechart(*words, "B", "-v")[1]

    assert "what color is 0?" not in plain
    assert "what color is 0?" in verbose


def test_a_doubtful_reading_stops_until_it_is_confirmed(eyechart: Eyechart) -> None:
    """Half of the ids repeat: the error names the columns that tell all rows apart, and nothing is written."""
    write_quiz()
    rows = [row | {"id": row["set"]} for row in json.loads(Path("quiz.json").read_text())]
    Path("quiz.json").write_text(json.dumps(rows))

    code, out, err = eyechart("read", "quiz.json", "-o", "DATA")

    assert (code, out) == (1, "")
    assert "30 of 60 rows dropped" in err
    assert "--id" in err
    assert "--yes" in err
    assert not Path("DATA").exists()

    code, out, err = eyechart("read", "quiz.json", "-o", "DATA", "--yes")

    assert code == 0
    assert "30 of 60 rows dropped" in err
    assert read("DATA").height == 30


def test_settings_reach_their_audit(eyechart: Eyechart, world: Path) -> None:
    eyechart(
        "study",
        world,
        "-o",
        "R",
        "--set",
        "accuracy.margin=0.05",
        "--set",
        "by=split,question_type",
        "--score",
        "exact",
    )
    settings = Store(Path("R")).studies()["accuracy"].settings

    assert settings == {"score": "exact", "by": ["split", "question_type"], "margin": 0.05}


def test_a_config_file_gives_options_and_the_command_line_wins(eyechart: Eyechart, world: Path) -> None:
    options = (
        f"data: {world}\nout: R\nmodel: [world:seer, world:blind]\nlimit: 50\naudit: [accuracy]\nset: {{margin: 0.2}}\n"
    )
    Path("it.yaml").write_text(options)
    code, _, err = eyechart("audit", "--config", "it.yaml", "--limit", "60")
    run = Store(Path("R"))

    assert (code, err) == (0, "")
    assert run.models() == ["blind", "seer"]
    assert run.data.examples.height == 60
    assert run.studies()["accuracy"].settings["margin"] == 0.2


def test_what_files_of_answers_lack_is_shown(eyechart: Eyechart, world: Path) -> None:
    ids = read(world).examples["id"]
    Path("a.json").write_text(json.dumps(dict.fromkeys([*ids[: len(ids) // 2], "extra"], "yes")))
    code, out, _ = eyechart("audit", world, "-m", "predictions:a.json", "-o", "R", "--allow-partial")

    assert code == 0
    assert "asked, but not in the file" in out
    assert "in the file, but not asked" in out


def test_a_config_file_may_name_one_where_several_could_stand(eyechart: Eyechart, world: Path) -> None:
    Path("it.yaml").write_text(f"data: {world}\nmodel: world:seer\naudit: accuracy\nout: R\n")
    code, _, err = eyechart("audit", "--config", "it.yaml")

    assert (code, err) == (0, "")
    assert list(Store(Path("R")).results()["seer"]) == ["accuracy"]


def test_audits_that_a_file_cannot_serve_are_not_studied(
    eyechart: Eyechart, world: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("a.json").write_text(json.dumps(dict.fromkeys(read(world).examples["id"], "yes")))
    words = ("audit", world, "-m", "predictions:a.json", "--set", "perception.draws=2", "-o", "R", "--json")
    code, out, _ = eyechart(*words)
    (line,) = (message for message in caplog.messages if "left out" in message)

    assert code == 0
    assert set(Store(Path("R")).studies()) == set(Store(Path("R")).results()["a"]) == {"accuracy", "rules", "splits"}
    assert "perception (no answers under image#0, question#0); `eyechart study DATA -a NAME`" in line
    assert json.loads(out)["left_out"] == {
        "decoys": "no answers under orig, iou, qou, iou+qou, all",
        "grounding": "no answers under evidence, rest",
        "perception": "no answers under image#0, question#0",
    }
    assert "no answers under image#0, question#0" in Path("R/report.html").read_text(encoding="utf-8")
    assert "grounding (no answers under evidence, rest)" in eyechart("report", "R", "--markdown")[1]
    eyechart("study", world, "-a", "grounding", "-o", "R")
    assert set(json.loads(eyechart("report", "R", "--json")[1])["left_out"]) == {"decoys", "perception"}


def test_audits_that_a_file_serves_are_judged_by_it(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-m", "world:seer", "-a", "perception", "-o", "asked")
    asked = Store(Path("asked"))
    asked.answers("seer").answers.select("id", "condition", "answer").write_csv("it.csv")
    found = json.loads(eyechart("audit", world, "-m", "predictions:it.csv", "-o", "R", "--json")[1])
    again, before = Store(Path("R")).results()["it"]["perception"], asked.results()["seer"]["perception"]

    assert set(found["left_out"]) == {"decoys", "grounding"}
    assert again.measures.equals(before.measures)


def test_an_audit_of_which_a_file_has_a_part_is_studied(
    eyechart: Eyechart, world: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Path("a.json").write_text(json.dumps(dict.fromkeys(read(world).examples["id"], "yes")))
    code, out, _ = eyechart("audit", world, "-m", "predictions:plain=a.json,image#0=a.json", "-o", "R", "--json")
    run = Store(Path("R"))

    assert code == 0
    assert set(json.loads(out)["left_out"]) == {"decoys", "grounding"}
    assert set(run.studies()) - set(run.results()["a"]) == {"perception"}
    assert "audit 'perception' left out: a has no answers under some of its conditions" in caplog.messages


def test_an_audit_that_is_named_is_studied_whatever_a_file_holds(eyechart: Eyechart, world: Path) -> None:
    Path("a.json").write_text(json.dumps(dict.fromkeys(read(world).examples["id"], "yes")))
    words = ("audit", world, "-m", "predictions:a.json", "-o", "R", "--json")

    assert json.loads(eyechart(*words, "-a", "accuracy")[1])["left_out"] == {}
    code, _, err = eyechart(*words, "-a", "perception")
    assert (code, "expected a file of answers for condition 'image#0'" in err) == (1, True)
    assert set(Store(Path("R")).studies()) == {"accuracy", "perception"}
    assert json.loads(eyechart("report", "R", "--json")[1])["left_out"] == {}


MISTAKES = {
    "unknown verb": ("adit",),
    "unknown option": ("audit", "{world}", "--modle", "x"),
    "missing option": ("study", "{world}"),
    "unknown format": ("read", "vqa3", "{csv}", "-o", "D"),
    "reader that is none": ("read", "math:pi", "{csv}", "-o", "D"),
    "reader that takes no path": ("read", "platform:machine", "{csv}", "-o", "D"),
    "reader that reads no dataset": ("read", "pathlib:Path", "{csv}", "-o", "D"),
    "two paths": ("read", "table", "{csv}", "{csv}", "-o", "D"),
    "no path": ("read", "vqa2", "-o", "D"),
    "missing file": ("read", "table", "nowhere.csv", "-o", "D"),
    "wrong kind of file": ("read", "vqa2", "{csv}", "-o", "D"),
    "unknown column": ("read", "table", "{csv}", "-o", "D", "--map", "question=promt"),
    "map without =": ("read", "table", "{csv}", "-o", "D", "--map", "question"),
    "unknown setting of a format": ("read", "world", "-o", "D", "--set", "imgs=3"),
    "setting of the wrong type": ("read", "world", "-o", "D", "--set", "images=many"),
    "limit of none": ("read", "world", "-o", "D", "--limit", "0"),
    "folder taken": ("read", "world", "-o", "taken"),
    "unknown thing to list": ("ls", "colours"),
    "data that are none": ("ls", "audits", "--for", "nowhere"),
    "unknown audit": ("study", "{world}", "-a", "acuracy", "-o", "R"),
    "audit that is none": ("study", "{world}", "-a", "pathlib:Path", "-o", "R"),
    "unknown setting": ("study", "{world}", "-o", "R", "--set", "marjin=1"),
    "setting of another audit": ("study", "{world}", "-o", "R", "--set", "colours.by=x"),
    "unknown column to group by": ("audit", "{world}", "-m", "world:seer", "-o", "R", "--by", "colour"),
    "unknown score": ("study", "{world}", "-o", "R", "--score", "bleu"),
    "unknown kind of model": ("audit", "{world}", "-m", "hff:x", "-o", "R"),
    "unknown answerer": ("audit", "{world}", "-m", "world:seeer", "-o", "R"),
    "missing predictions": ("audit", "{world}", "-m", "predictions:nowhere.json", "-o", "R"),
    "too many calls": ("audit", "{world}", "-m", "world:seer", "-o", "R", "--max-calls", "3"),
    "no run": ("probe", "nowhere"),
    "run that is a dataset": ("judge", "{world}"),
    "missing config": ("audit", "--config", "nowhere.yaml"),
    "broken config": ("audit", "--config", "broken.yaml"),
    "config that is a list": ("audit", "--config", "list.yaml"),
    "unknown key in config": ("audit", "--config", "unknown.yaml"),
}


@pytest.mark.parametrize("words", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(
    eyechart: Eyechart, words: tuple[str, ...], world: Path, csv: Path, tmp_path: Path
) -> None:
    files = {"broken.yaml": "a: [", "list.yaml": "- a", "unknown.yaml": "modle: x", "taken/thesis.tex": "years of work"}
    (tmp_path / "taken").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, out, err = eyechart(*(word.format(world=world, csv=csv) for word in words))

    assert (code, out) == (1, "")
    assert err.startswith("eyechart: ")
    assert err.count("\n") == 1
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} - set(files)
    assert not {path for path in left if not path.startswith("R/")}
    assert (tmp_path / "taken" / "thesis.tex").read_text() == "years of work"


def test_near_names_are_suggested(eyechart: Eyechart, world: Path) -> None:
    suggestions = {
        ("read", "vqa", "x", "-o", "D"): "did you mean 'vqa2'?",
        ("study", str(world), "-a", "acuracy", "-o", "R"): "did you mean 'accuracy'?",
        ("audit", str(world), "-m", "world:seeer", "-o", "R"): "did you mean 'seer'?",
        ("audit", "--config", "typo.yaml"): "did you mean 'model'?",
        ("ls", "audit"): "what to list as one of audits, formats, .*; found 'audit'; did you mean 'audits'?",
        ("cache", "prun"): "did you mean 'prune'?",
        ("study", str(world), "-a", "rules", "--set", "max_rule=3", "-o", "R"): "did you mean 'max_rules'?",
        ("study", str(world), "-a", "rules", "--set", "correct=normal", "-o", "R"): "did you mean 'normalized'?",
    }
    Path("typo.yaml").write_text("modle: x")

    for words, suggestion in suggestions.items():
        assert re.search(suggestion.replace("?", r"\?"), eyechart(*words)[2])


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("--limit", "some", "as a whole number"),
        ("--limit", "0", "of at least 1"),
        ("--temperature", "hot", "as a number"),
    ],
)
def test_values_of_options_that_do_not_fit_are_explained(
    eyechart: Eyechart, world: Path, option: str, given: str, expected: str
) -> None:
    code, _, err = eyechart("audit", world, "-m", "world:seer", "-o", "R", option, given)

    assert (code, err) == (1, f"eyechart: expected {option} {expected}; found {given!r}; see --help\n")


@pytest.mark.parametrize("setting", ["seed", "rules.seed"])
def test_a_removed_setting_says_what_to_do_instead(eyechart: Eyechart, world: Path, setting: str) -> None:
    code, _, err = eyechart("study", world, "-a", "rules", "--set", f"{setting}=3", "-o", "R")

    assert code == 1
    assert "found 'seed', which was removed; choose the seed that divides data without splits with --seed" in err


def test_a_setting_removed_from_several_audits_says_what_each_has_instead(eyechart: Eyechart, world: Path) -> None:
    words = ("study", world, "-a", "rules", "-a", "grounding", "-o", "R")
    _, _, err = eyechart(*words, "--set", "compat=release")

    assert "expected a setting of rules, grounding; found 'compat', which was removed" in err
    assert "rules: use published='vqa-ce'; grounding: use published='fpvg'" in err


def test_a_setting_removed_from_one_audit_is_for_the_others(eyechart: Eyechart, world: Path) -> None:
    code, _, _ = eyechart("study", world, "-a", "splits", "-a", "perception", "--set", "seed=3", "-o", "R")

    assert code == 0
    assert Store(Path("R")).studies()["perception"].settings["seed"] == 3


def test_a_bug_still_shows_its_traceback(eyechart: Eyechart, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.cli.running.read", lambda path: 1 / 0)
    monkeypatch.setattr(sys, "argv", ["eyechart", "study", str(world), "-o", "R"])

    with pytest.raises(ZeroDivisionError):
        main()


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "closed/.np.x1y2")


def test_a_folder_that_may_not_be_written_is_one_line(
    eyechart: Eyechart, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    code, out, err = eyechart("read", "table", csv, "-o", "closed/np", "--map", "id=which")

    assert (code, out) == (1, "")
    assert err == "eyechart: expected to write closed/np; found Permission denied; name another place, or make room\n"


def test_a_page_that_cannot_be_written_is_one_line(
    eyechart: Eyechart, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("folder").mkdir()
    eyechart("study", world, "-a", "accuracy", "-o", "R")
    taken = eyechart("report", "R", "-o", "folder")
    monkeypatch.setattr(Path, "write_text", fill)  # never a true device: where this fails, root would replace it
    full = eyechart("report", "R", "-o", "it.html")

    for found, place, why in ((taken, "folder", "Is a directory"), (full, "it.html", "No space left on device")):
        said = f"eyechart: expected to write {place}; found {why}; name another place, or make room\n"
        assert found == (1, "", said)
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left"), "to read and write files; found No space left"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), "to read or write a/b; found Permission denied"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "a", None, "b"), "to read or write b; found Is a directory"),
        (OSError("in other words"), "to read and write files; found in other words"),
    ],
    ids=str,
)
def test_what_the_system_refuses_is_one_line(
    eyechart: Eyechart, world: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("eyechart.cli.running.read", fail)

    assert eyechart("study", world, "-o", "R") == (
        1,
        "",
        f"eyechart: expected {said}; name another place, or make room\n",
    )


def test_a_reader_that_left_is_no_matter_for_words(
    eyechart: Eyechart, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("eyechart.cli.running.read", leave)
    for stream in ("stdout", "stderr"):  # typer wraps them for good
        monkeypatch.setattr(sys, stream, getattr(sys, stream))

    assert eyechart("study", world, "-o", "R") == (1, "", "")


def test_a_dataset_in_the_place_of_a_run_is_not_called_damaged(eyechart: Eyechart, world: Path) -> None:
    code, _, err = eyechart("report", world)

    assert (code, err) == (1, f"eyechart: expected a run at {world}; found a dataset; give a run\n")


def test_stopping_says_how_to_go_on(eyechart: Eyechart, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eyechart.cli.running.read", stop)
    code, _, err = eyechart("study", world, "-o", "R")

    assert (code, err) == (130, "eyechart: stopped; run the same command again to continue\n")


def test_answers_are_exported_for_other_tools(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:mix:seer=0.5,blind=0.5", "-o", "R")
    written = json.loads(eyechart("export", "R", "--to", "eee", "-o", "E", "--json")[1])
    samples, aggregate = written
    back = read_predictions(Path("E")).answers.select("id", "answer").sort("id")
    answers = Store(Path("R")).answers("mix:seer=0.5,blind=0.5").answers

    assert written[samples] == answers.height
    assert back.equals(answers.select("id", "answer").sort("id"))
    assert len(json.loads((Path("E") / aggregate).read_text())["evaluation_results"]) == written[aggregate]
    assert json.loads(eyechart("export", "R", "--to", "eee", "-o", "E", "--json")[1]) == written
    assert "did you mean 'eee'?" in eyechart("export", "R", "--to", "ee", "-o", "E")[2]


def test_what_is_no_run_or_has_no_answers_is_not_exported(eyechart: Eyechart, world: Path) -> None:
    eyechart("study", str(world), "-a", "accuracy", "-o", "R")

    for folder, told in (
        (str(world), "expected a run at"),
        (".", "expected a run in"),
        ("R", "expected answers of a model"),
    ):
        code, _, error = eyechart("export", folder, "--to", "eee", "-o", "E")
        assert (code, told in error) == (1, True)
    assert not Path("E").exists()


def test_square_brackets_in_data_are_not_markup(eyechart: Eyechart) -> None:
    Path("t.csv").write_text("id,question,answer,category\n1,what?,[red]x,[bold]loud\n")
    eyechart("read", "table", "t.csv", "-o", "D")
    Path("a.json").write_text('{"1": "[red]x"}')
    eyechart("audit", "D", "-m", "predictions:a.json", "--by", "category", "-o", "R")
    result = Store(Path("R")).results()["a"]["accuracy"]

    assert result.measures.filter(pl.col("by").is_not_null())["group"].to_list() == ["[bold]loud"]
    assert eyechart("judge", "R")[0] == 0


def test_tables_take_names_and_values_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_table("of [red]it", ("llava[base]", "llava[large]"), [("[bold]a :cat:", "b\\")])
    title, _, head, _, row, *_ = capsys.readouterr().out.splitlines()

    assert title == "of [red]it"
    assert head.split() == ["llava[base]", "llava[large]"]
    assert row.split() == ["[bold]a", ":cat:", "b\\"]


def test_judging_a_model_that_never_answered_names_those_that_did(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:seer", "-o", "R")
    code, _, err = eyechart("judge", "R", "-m", "sear")

    assert code == 1
    assert "found 'sear'; did you mean 'seer'?" in err


def test_asking_before_probing_is_one_clear_line(eyechart: Eyechart, world: Path) -> None:
    eyechart("study", world, "-a", "accuracy", "-o", "R")
    code, _, err = eyechart("predict", "R", "-m", "world:seer")

    assert code == 1
    assert "expected probes in R; found none; run `eyechart probe` first" in err


def test_people_who_watch_see_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show.progress_bars(silent=False)("asking [it]", 3) as advance:
        advance(3)

    assert "asking [it]" in capsys.readouterr().err
    assert show.progress_bars(silent=True) is quiet


def test_the_package_can_be_run() -> None:
    done = subprocess.run([sys.executable, "-m", "eyechart", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == "eyechart 0.1.0\n"


def test_compare_sets_models_side_by_side_in_every_form(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:seer", "-m", "world:blind", "-o", "R")
    code, out, err = eyechart("compare", "R", "--base", "seer")
    told = json.loads(eyechart("compare", "R", "--base", "seer", "--json")[1])
    records = told["contests"][0]["records"]
    delta = next(row["delta"] for row in records if (row["model"], row["name"]) == ("blind", "accuracy"))

    assert (code, err) == (0, "")
    assert "differences from seer" in out
    assert f"{100 * delta:.1f} [" in out
    assert f"{100 * delta:.1f} [" in eyechart("compare", "R", "--base", "seer", "--markdown")[1]
    assert "| measure | better | blind | seer |" in eyechart("compare", "R", "--to", "markdown")[1]
    assert r"\begin{tabular}{llll}" in eyechart("compare", "R", "--to", "latex")[1]
    assert eyechart("compare", "R", "--to", "csv")[1].startswith("audit,model,name,")


def test_compare_writes_a_page_and_beside_json_says_so_elsewhere(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:seer", "-m", "world:blind", "-o", "R")
    code, out, err = eyechart("compare", "R", "--json", "-o", "compare.html")

    assert (code, err) == (0, "page: compare.html\n")
    assert json.loads(out)["entrants"][0]["name"] == "blind"
    assert "2 models side by side" in Path("compare.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("R", "--base", "sear"), "did you mean 'seer'"),
        (("R", "-a", "acuracy"), "did you mean 'accuracy'"),
        (("R", "--to", "latx"), "did you mean 'latex'"),
        (("S",), "no manifest.json"),
    ],
)
def test_compare_answers_mistakes_in_one_line(
    eyechart: Eyechart, world: Path, words: tuple[str, ...], said: str
) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:seer", "-o", "R")
    code, _, err = eyechart("compare", *words)

    assert code == 1
    assert err.count("\n") == 1
    assert said in err


def test_a_crossed_threshold_ends_with_exit_code_2(eyechart: Eyechart, world: Path) -> None:
    code, _, err = eyechart(
        "audit", world, "-a", "accuracy", "-m", "world:blind", "-o", "R", "--fail-on", "accuracy.gain < 99"
    )

    assert code == 2
    assert "crossed: accuracy.gain < 99: gain of blind is" in err
    assert eyechart("report", "R", "--fail-on", "accuracy.accuracy < 1")[0] == 0
    assert eyechart("report", "R", "--fail-on", "accuracy.accuracy = 1")[0] == 1


def test_the_report_can_be_had_as_markdown(eyechart: Eyechart, world: Path) -> None:
    eyechart("audit", world, "-a", "accuracy", "-m", "world:blind", "-o", "R")
    code, out, _ = eyechart("report", "R", "--markdown")

    assert code == 0
    assert out.startswith("# An eye test of ")
    assert "| accuracy: Better than guessing? | blind |" in out
