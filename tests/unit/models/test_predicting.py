"""Asking over the command line: nothing is paid for twice, a kill loses nothing, and the key is nowhere."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.cli import main
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.runs.run import Run
from servers.starting import Served, misbehaving

KEY = "sk-do-not-tell-anyone-1234567890"


class Done(NamedTuple):
    """What became of a command."""

    code: int
    out: str
    err: str


Eyechart = Callable[..., Done]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with misbehaving() as served:
        yield served


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run on drawn pictures, up to the probes."""
    folder = tmp_path_factory.mktemp("world")
    read("world", folder / "pictures", images=20, seed=3, render=True).save(folder / "data")
    run = Run(Store(folder / "run")).start(Dataset.load(folder / "data"))
    run.study([Accuracy()])
    run.probe()
    return run.store.folder


@pytest.fixture
def run(probed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the run, and give it a cache of its own and a key."""
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shutil.copytree(probed, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def eyechart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Eyechart:
    """Run a command."""

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["eyechart", *map(str, words)])
        caplog.clear()
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        return Done(int(leaving.value.code or 0), out, err + caplog.text)

    return call


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "eyechart", *map(str, words)]


def questions(server: Served, model: str) -> list[str]:
    return [one["question"] for one in server.seen(model)]


def predict(run: Path, server: Served, model: str, *more: object) -> list[object]:
    return ["predict", run, "-m", f"openai:{model}", "--base-url", server.url, *more]


def test_a_killed_run_goes_on_without_asking_again(run: Path, server: Served, eyechart: Eyechart) -> None:
    """Killed within a batch, while it waits for an answer, it asks only for the rest and ends like one that was not."""
    words = command(*predict(run, server, "halting,concurrency=1"))
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        while len(server.seen("halting")) < 13:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    asked = len(server.seen("halting"))
    again = eyechart(*predict(run, server, "halting,concurrency=1"))
    answers = Store(run).answers("halting").answers
    every = questions(server, "halting")

    assert again.code == 0, again.err
    assert asked == 13 < answers.height
    assert "failed" not in answers["status"]
    assert answers.height == Store(run).probes("plain").height
    assert len(every) - len(set(every)) == 1  # the one in flight
    eyechart(*predict(run, server, "echo"))
    whole = Store(run).answers("echo").answers
    assert answers.select("id", "draw", "raw").equals(whole.select("id", "draw", "raw"))


def test_a_model_is_asked_by_one_process_in_a_run(run: Path, server: Served, eyechart: Eyechart) -> None:
    with subprocess.Popen(command(*predict(run, server, "slow"))) as first:
        while not server.seen("slow"):
            assert first.poll() is None
            time.sleep(0.01)
        second = eyechart(*predict(run, server, "slow"))
        first.kill()

    assert second.code == 1
    assert "expected only one process asking slow; found another one" in second.err


def test_two_runs_at_once_fill_one_cache(run: Path, server: Served, eyechart: Eyechart) -> None:
    other = shutil.copytree(run, run.with_name("other"))
    at_once = [subprocess.Popen(command(*predict(one, server, "delayed"))) for one in (run, other)]
    codes = [process.wait() for process in at_once]
    asked = len(server.seen("delayed"))
    third = shutil.copytree(run, run.with_name("third"), ignore=shutil.ignore_patterns("answers"))
    eyechart(*predict(third, server, "delayed"))
    answers = [Store(one).answers("delayed").answers for one in (run, other, third)]

    assert codes == [0, 0]
    assert "failed" not in answers[0]["status"]
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])
    assert len(server.seen("delayed")) == asked


def test_a_dry_run_foresees_exactly_what_is_asked(run: Path, server: Served, eyechart: Eyechart) -> None:
    model = "echo,max_new_tokens=5"
    before = json.loads(eyechart(*predict(run, server, model, "--dry-run", "--json")).out)
    ahead = before[model]["plain"]
    count = len(server.seen("echo"))
    too_many = eyechart(*predict(run, server, model, "--max-calls", ahead["calls"] - 1))
    eyechart(*predict(run, server, model, "--max-calls", ahead["calls"]))
    asked = server.seen("echo")[count:]
    after = json.loads(eyechart(*predict(run, server, model, "--dry-run", "--json")).out)
    anew = json.loads(eyechart(*predict(run, server, model, "--dry-run", "--json", "--fresh")).out)
    for file in Store(run).answer_folder(model).iterdir():
        file.unlink()
    cached = json.loads(eyechart(*predict(run, server, model, "--dry-run", "--json")).out)

    assert too_many.code == 1
    assert "found " + str(ahead["calls"]) + " to make" in too_many.err
    assert ahead["answers"] == Store(run).probes("plain").height
    assert ahead["calls"] == len(asked) == len({json.dumps(one["parts"]) for one in asked})
    assert ahead["images"] == sum(part["type"] == "image_url" for one in asked for part in one["parts"])
    assert ahead["tokens"] > 255 * ahead["images"]
    assert after == {model: {}}
    assert anew == before
    assert cached == {model: {"plain": ahead | {"calls": 0, "images": 0, "tokens": 0}}}


def test_draws_are_kept_and_clustered_by_item(run: Path, server: Served, eyechart: Eyechart) -> None:
    more = ("--draws", 3, "--temperature", 0.7)
    done = eyechart(*predict(run, server, "lucky", *more))
    n = Store(run).probes("plain").height
    answers = Store(run).answers("lucky,draws=3,temperature=0.7").answers
    asked = len(server.seen("lucky"))
    again = eyechart(*predict(run, server, "lucky", *more))
    judged = eyechart("judge", run, "--json")
    result = Store(run).results()["lucky,draws=3,temperature=0.7"]["accuracy"]

    assert (done.code, again.code, judged.code) == (0, 0, 0), done.err + judged.err
    assert sorted(answers.group_by("draw").len().rows()) == [(0, n), (1, n), (2, n)]
    assert (
        asked == len(server.seen("lucky")) == len({(json.dumps(o["parts"]), o["seed"]) for o in server.seen("lucky")})
    )
    assert result.measure("accuracy", "plain").n == n


def test_draws_without_temperature_are_refused(run: Path, server: Served, eyechart: Eyechart) -> None:
    done = eyechart(*predict(run, server, "lucky", "--draws", 3))

    assert done.code == 1
    assert "expected one draw, or several at a temperature above 0; found draws=3 at temperature 0" in done.err


def test_failures_are_told_and_asked_again(run: Path, server: Served, eyechart: Eyechart) -> None:
    """A reply of another form fails; that of all first replies stops the command, and the next run asks again."""
    first = eyechart(*predict(run, server, "odd"))
    count = len(server.seen("odd"))
    eyechart(*predict(run, server, "odd"))

    assert first.code == 1
    assert "prompts failed, the first: a reply without an answer" in first.err
    assert "found first 20 calls that all failed, the last with a reply without an answer" in first.err
    assert 0 < count <= 20, "one for each different question of the first 20"
    assert len(server.seen("odd")) == 2 * count


def test_refusals_and_what_cannot_be_read_stand_in_every_result(run: Path, server: Served, eyechart: Eyechart) -> None:
    for model in ("refusing", "empty"):
        assert eyechart(*predict(run, server, model)).code == 0
    table = eyechart(*predict(run, server, "empty")).out
    judged = eyechart("judge", run)
    n = Store(run).probes("plain").height
    refused, empty = (Store(run).results()[model]["accuracy"] for model in ("refusing", "empty"))

    assert judged.code == 0, judged.err
    assert Store(run).answers("refusing").answers["raw"].unique().to_list() == ["No, thank you."]
    assert refused.tables["parsing"].select("asked", "unparsed", "parsed").rows() == [(n, 0, 1.0)]
    assert empty.tables["parsing"].select("asked", "unparsed", "parsed", "as_wrong").rows() == [(n, n, 0.0, 0.0)]
    assert "unparsed" in table


def test_the_key_is_nowhere(run: Path, server: Served, eyechart: Eyechart) -> None:
    """Not in the run, the cache, the output or an error, even where the server repeats it."""
    done = [eyechart(*predict(run, server, model)) for model in ("echo", "forbidden", "parrot")]
    done.append(eyechart("judge", run))
    done.append(eyechart("report", run))
    written = [path.read_bytes() for path in run.parent.rglob("*") if path.is_file()]

    assert [one.code for one in done] == [0, 1, 0, 0, 0]
    assert set(Store(run).answers("parrot").answers["raw"]) == {"Bearer ***"}
    assert KEY in server.seen("forbidden")[0]["headers"]["authorization"]
    assert not [one for one in done if KEY in one.out + one.err]
    assert not [content for content in written if KEY.encode() in content]


def test_a_file_with_the_key_would_be_found(tmp_path: Path) -> None:
    """The search itself can fail: Parquet and SQLite keep such text as it is."""
    pl.DataFrame({"raw": [f"wrong key: {KEY}"]}).write_parquet(tmp_path / "a.parquet")

    assert KEY.encode() in (tmp_path / "a.parquet").read_bytes()


def test_the_cache_is_listed_pruned_and_cleared(run: Path, server: Served, eyechart: Eyechart) -> None:
    empty = eyechart("cache", "ls")
    for model in ("echo", "letters"):
        eyechart(*predict(run, server, model))
    listed = eyechart("cache", "ls").out
    told = json.loads(eyechart("cache", "ls", "--json").out)
    mistakes = [eyechart("cache", "prune"), eyechart("cache", "clear", "-m", "echo")]
    pruned = json.loads(eyechart("cache", "prune", "-m", '"model": "echo"', "--json").out)
    young = json.loads(eyechart("cache", "prune", "--older-than", "1", "--json").out)
    cleared = eyechart("cache", "clear").out
    n = Store(run).probes("plain").height

    assert empty.code == 0
    assert all(word in listed for word in ("openai", "echo", "letters", "temperature=0.0"))
    assert {one["answers"] for one in told} <= set(range(1, n + 1))
    assert [one.code for one in mistakes] == [1, 1]
    assert (pruned["removed"], young["removed"]) == (told[1]["answers"], 0)
    assert cleared.startswith(f"{told[0]['answers']:,} answers removed")


def test_an_option_that_no_model_takes_is_one_clear_line(run: Path, eyechart: Eyechart) -> None:
    done = eyechart("predict", run, "-m", "world:seer", "--draws", 2)

    assert done.code == 1
    assert "expected a model that takes draws (hf:, openai:); found world:seer; leave this option out" in done.err
    assert eyechart("predict", run, "-m", "world:seer", "--fresh").code == 0
