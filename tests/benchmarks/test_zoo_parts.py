"""Parts of the zoo's study: rows that are cut short go on where they were, and gains are told with their doubt."""

from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")


def test_a_row_in_parts_gives_what_a_whole_one_gives(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    from zoo_prepare import prepare
    from zoo_rows import Row
    from zoo_train import Bundle, Part, train_row

    prepare(tmp_path, 40)
    row, bundle = Row("updn", "plain@1,hint", 0), Bundle(tmp_path / "bundle.npz")
    course = row.course("cpu", 3)
    part = Part(tmp_path / "part" / f"{row.name}.pt", until=0.0)
    for done in (1, 2):
        with pytest.raises(TimeoutError, match=f"^{done} epochs are kept"):
            train_row(row, bundle, course, part, None)
        assert [each.name for each in part.file.parent.iterdir()] == [part.file.name]
    in_parts = train_row(row, bundle, course, part, None)
    whole = train_row(row, bundle, course, Part(part.file, until=float("inf")), None)

    assert not part.file.exists()
    assert in_parts.keys() == whole.keys()
    assert all(np.array_equal(in_parts[name], whole[name]) for name in whole if name != "log")


def test_rows_that_stand_in_the_results_are_trained_only_if_that_is_said(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    import zoo
    import zoo_crew
    import zoo_table

    asked: list[list[str]] = []
    monkeypatch.setattr(zoo_table, "load", lambda: {"prior plain 0": {}, "prior plain 2": {}})
    monkeypatch.setattr(zoo_crew, "train_all", lambda rows, _: asked.append([row.name for row in rows]))
    for more in ([], ["--again"]):
        monkeypatch.setattr("sys.argv", ["zoo.py", "train", str(tmp_path), "--only", "prior plain", *more])
        zoo.main()

    assert asked == [["prior plain 1"], ["prior plain 0", "prior plain 1", "prior plain 2"]]


def test_rows_that_were_begun_come_first(scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    from zoo_crew import Shift, in_turn
    from zoo_rows import Row

    rows = [Row(model, "plain", seed) for model in ("updn", "san") for seed in (0, 1)]
    shift = Shift(tmp_path / "bundle.npz", tmp_path / "out.npz", 1, 1, None, "cpu", compiled=False)
    begun = shift.part_of(rows[3])
    begun.parent.mkdir()
    begun.touch()

    assert in_turn(rows, shift) == [rows[3], rows[0], rows[1], rows[2]]
    assert in_turn(rows, shift._replace(compiled=True)) == [rows[3], rows[0], rows[2], rows[1]]


def test_processes_that_will_take_turns_on_a_gpu_are_told_of(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    import zoo_crew

    def told(shift: zoo_crew.Shift) -> bool:
        zoo_crew.warn_of_turns(shift)
        return "`nvidia-cuda-mps-control -d`" in capsys.readouterr().out

    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    shift = zoo_crew.Shift(tmp_path / "bundle.npz", tmp_path / "out.npz", 1, 15, None, "auto", compiled=False)
    assert told(shift)
    assert not told(shift._replace(workers=1))
    assert not told(shift._replace(device="cpu"))
    (tmp_path / "control").touch()  # as the service does
    assert not told(shift)


def test_seeds_of_a_pair_share_what_a_process_compiled(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    import zoo_crew
    from zoo_rows import Row

    used: list[object] = []
    monkeypatch.setattr(zoo_crew, "Bundle", lambda file: file)
    monkeypatch.setattr(zoo_crew, "settle", lambda: None)
    monkeypatch.setattr(zoo_crew, "train_row", lambda *given: used.append(given[-1]))
    for compiled in (True, False):
        tasks: Queue[Any] = Queue()
        for row in (Row("updn", "visfis", 0), Row("san", "plain", 0), Row("updn", "visfis", 1)):
            tasks.put(row)
        shift = zoo_crew.Shift(tmp_path / "bundle.npz", tmp_path / "out.npz", 1, 1, None, "cpu", compiled)
        zoo_crew.work(shift, tasks, Queue(), float("inf"))

    assert used[0] is used[2] is not used[1]
    assert used[3:] == [None, None, None]


def test_a_forecast_adds_the_epochs_and_the_teacher_that_few_epochs_left_out(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    from zoo_forecast import read_cost, tell

    costs = {
        "updn lmh-v": read_cost(30.0, [5.0, 2.0, 6.0, 4.0]),  # two of these begin a stage
        "image-only plain": read_cost(9.0, [2.0, 1.0, 1.0, 1.0]),
        "prior plain": read_cost(1.0, [0.5]),  # has one epoch in the study too
    }
    taught, teacher, counted = 30 + 26 * (3 + 1), 9 + 26 * 1, 1
    per_device = [seconds * 3 / 2 / 60 for seconds in (taught, teacher, counted)]  # three seeds, two processes
    said = tell(costs, workers=2, start=10.0)

    for name, minutes in zip(("`updn`", "`image-only`", "`prior`"), per_device, strict=True):
        assert f"| {name} | 3 | {minutes:.1f} |" in said
    assert f"| all | 9 | {sum(per_device):.1f} |" in said
    assert "trains for 451: 10 to start, 2 to begin a row again, 2 of an epoch that is lost, 15 to end" in said
    assert said.endswith("Shards in all: 1.")


def test_a_forecast_wants_the_teachers_of_its_rows(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    from zoo_crew import Shift
    from zoo_forecast import forecast
    from zoo_rows import Row

    shift = Shift(tmp_path / "bundle.npz", tmp_path / "out.npz", 1, 1, None, "cpu", compiled=False)
    with pytest.raises(SystemExit, match=r"add question-only plain$"):
        forecast([Row("updn", "lmh-l", 3)], shift)


def test_the_figure_compares_with_plain_training_of_the_same_loss_and_brackets_what_seeds_could_do(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(scripts))
    from zoo_figure import gains

    scores = {
        "san plain": (0.50, 0.51, 0.52),
        "san plain-ce": (0.70, 0.70, 0.70),
        "san lmh": (0.60, 0.61, 0.62),
        "san plain@15,hint": (0.40, 0.53, 0.66),  # 2 points more, with a standard error of 8
        "san lpf": (0.70, 0.71, 0.69),
        "san css": (0.90, 0.90),  # lacks a seed
    }
    panels = ("iid", "shifted", "image", "fpvg")
    measured = {
        f"{pair} {seed}": dict.fromkeys(panels, score)
        for pair, found in scores.items()
        for seed, score in enumerate(found)
    }

    said = {(row["method"], row["label"]) for row in gains(measured)}
    assert said == {("lmh", "+10"), ("hint", "(+2)"), ("lpf", "0")}
