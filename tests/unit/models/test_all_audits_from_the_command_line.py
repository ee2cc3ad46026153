"""Every audit from the command line, with a tiny model that sees: in this process, and served on loopback."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyechart.audits import AUDITS
from eyechart.cli import main
from eyechart.data.result import Result
from eyechart.data.store import Store

pytest.importorskip("openai")
pytest.importorskip("transformers.cli.serve", reason="transformers is installed without its extra `serving`")

Eyechart = Callable[..., str]


@pytest.fixture
def eyechart(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Eyechart:
    """Run a command that succeeds, with a cache of its own, and return what it prints."""
    monkeypatch.setenv("EYECHART_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def call(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["eyechart", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        out, err = capsys.readouterr()
        assert not leaving.value.code, err
        return out

    return call


def test_all_audits_run_end_to_end_twice_alike_and_alike_over_the_network(
    tiny_llava: Path, url: str, eyechart: Eyechart, tmp_path: Path
) -> None:
    """Pictures are edited and given by donors; a second run asks everything anew, a third asks the served model."""
    eyechart("read", "world", "-o", tmp_path / "data", "--set", "images=16", "--set", "render=true", "--seed", 3)
    # Of decoys only the sets that models are asked about, the others having nothing to do with a model.
    small = ("--limit", 24, "--set", "decoys.most=50", "--set", "decoys.folds=2", "--set", "decoys.sets=orig,iou+qou")
    asked = {
        "here": ("-m", f"hf:{tiny_llava},max_new_tokens=2,device=cpu,dtype=float32"),
        "again": ("-m", f"hf:{tiny_llava},max_new_tokens=2,device=cpu,dtype=float32", "--cache", "off"),
        "served": ("-m", f"openai:{tiny_llava},max_new_tokens=2", "--base-url", url),
    }
    for name, words in asked.items():
        eyechart("audit", tmp_path / "data", "-o", tmp_path / name, *words, *small)
    here, *others = (_Ended.of(Store(tmp_path / name)) for name in asked)

    assert set(here.results) == set(AUDITS.names())
    assert "failed" not in here.answers["status"].unique()
    for other in others:
        assert_frame_equal(other.answers.drop("model_name"), here.answers.drop("model_name"))  # each by its own
        for name, result in here.results.items():
            assert_frame_equal(other.results[name].measures, result.measures)
            assert_frame_equal(other.results[name].rows, result.rows)
            assert_frame_equal(other.results[name].tables["parsing"], result.tables["parsing"])
    assert all(result.tables["parsing"].height for result in here.results.values())
    run = Store(tmp_path / "here")
    plain = here.results["accuracy"].tables["counts"].filter(pl.col("condition") == "plain")["n"].sum()
    assert plain == run.probes("plain").height
    edited = pl.concat([run.probes(condition) for condition in ("evidence", "rest")], how="diagonal")
    assert edited["hidden"].list.len().min() >= 1
    donated = run.probes("image#0")
    assert (donated["image_from"] != donated["id"]).any()
    assert here.answers["raw"].n_unique() > 10  # it does look


class _Ended(NamedTuple):
    """What a run with one model came to."""

    answers: pl.DataFrame
    results: dict[str, Result]

    @classmethod
    def of(cls, run: Store) -> Self:
        [model] = run.models()
        return cls(run.answers(model).answers, run.results()[model])
