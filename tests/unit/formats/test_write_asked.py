"""Every condition of a run becomes a dataset of another tool, and what the tool logs comes back under its id."""

import json
import runpy
from ast import literal_eval
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from PIL import Image

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError
from eyechart.base.files import write_table
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Prober, fill
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.formats.exports import EXPORTS, plain_name
from eyechart.formats.vlmeval import picture_cell, text_cell
from eyechart.formats.vlmeval import write_table as write_cells
from eyechart.language.prompts import build_prompts, choose_template
from eyechart.models import load
from eyechart.runs.run import NamedSplits, Run

EVERYTHING = NamedSplits(learn=["none"], judge=["none"])  # is judged
CONDITIONS = ("image=blank", "image=none", "plain")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Make a run whose ids are numbers with leading zeros, some with several pictures, with three conditions."""
    folder = tmp_path_factory.mktemp("asked")
    data = read("world", folder / "pictures", images=8, seed=2, render=True)
    examples = data.examples.with_columns(pl.int_range(pl.len()).cast(pl.String).str.zfill(5).alias("id"))
    others = pl.concat_list("image", pl.col("image").sort(descending=True))
    examples = examples.with_columns(images=pl.when(pl.int_range(pl.len()) % 3 == 0).then(others))
    made = Run(Store(folder / "run")).start(Dataset("quiz", examples, data.images), parts=EVERYTHING)
    made.study([Accuracy()])
    made.probe()
    ids = made.store.probes("plain").select("id")
    for condition in CONDITIONS[:2]:
        probes = Prober(made.store.data).complete(ids.with_columns(removal=pl.lit(condition)), condition)
        write_table(probes, made.store.probe_file(condition))
    return made.store


def asked(run: Store, condition: str) -> pl.DataFrame:
    """Tell what a model of ours would be shown."""
    filled = fill(run.probes(condition), run.data)
    shown = build_prompts(filled, run.data.images, choose_template(None))
    return filled.select("id").with_columns(
        pl.Series("prompt", shown.prompts), pl.Series("seen", shown.all_pictures(), pl.Object)
    )


def judge(run: Store, logs: dict[str, Path]) -> pl.DataFrame:
    """Bring logs back as a model's answers."""
    spec = ",".join(f"{condition}={path}" for condition, path in logs.items())
    model = load(f"predictions:{spec}")
    Run(run).predict(model)
    return run.answers(model.name).answers


def check_pictures(run: Store, condition: str, found: dict[str, list[str]]) -> None:
    """Compare the written pictures with those a model of ours would see."""
    for row in asked(run, condition).iter_rows(named=True):
        for path, seen in zip(found[row["id"]], row["seen"], strict=True):
            assert (np.asarray(Image.open(path)) == seen.pixels).all()


def expected(run: Store) -> set[tuple[str, str, str]]:
    return {
        (condition, *row)
        for condition in CONDITIONS
        for row in asked(run, condition).select("id", said(pl.col("prompt"))).iter_rows()
    }


def said(prompt: pl.Expr) -> pl.Expr:
    """Answer a prompt as the tools of these tests do."""
    return pl.lit("said ") + prompt.str.len_chars().cast(pl.String)


def test_vlmeval_tables_hold_every_question_and_come_back_by_id(run: Store, tmp_path: Path) -> None:
    written = EXPORTS.get("vlmeval")(run, tmp_path)
    logs = {}
    for condition in CONDITIONS:
        table = pl.read_csv(tmp_path / f"{plain_name(condition)}.tsv", separator="\t")
        ids = table["eyechart"].str.strip_prefix("id:")
        paths = [literal_eval(path) if path.startswith("[") else [path] for path in table["image_path"]]
        check_pictures(run, condition, dict(zip(ids, paths, strict=True)))
        logs[condition] = tmp_path / f"M_{plain_name(condition)}.tsv"
        table.with_columns(said(pl.col("question")).alias("prediction")).write_csv(logs[condition], separator="\t")
    answers = judge(run, logs)

    assert written == {f"{plain_name(one)}.tsv": run.probes(one).height for one in CONDITIONS} | {"README.md": 1}
    assert set(answers.select("condition", "id", "answer").rows()) == expected(run)


def test_what_vlmeval_would_misread_is_written_so_that_it_cannot(tmp_path: Path) -> None:
    """Paths in brackets are run by it as Python, and what pandas takes for missing is lost."""
    paths = [["a.png"], ["[__import__('os').abort()].png]"], None, [], ["it's.png", "b.png"]]
    texts = ["None", "none", "NA", "a", "b"]
    table = pl.DataFrame({"path": paths, "text": texts}).select(picture_cell(pl.col("path")), text_cell(pl.col("text")))
    file = tmp_path / "it.tsv"
    write_cells(table, file)
    back = pl.read_csv(file, separator="\t")

    assert [literal_eval(path) if path.startswith("[") else path for path in back["image_path"]] == [
        "a.png",
        ["[__import__('os').abort()].png]"],
        [],
        [],
        ["it's.png", "b.png"],
    ]
    assert back["text"].to_list() == ["None ", "none", "NA ", "a", "b"]


def test_a_folder_of_logs_comes_back_with_its_conditions_and_answers_are_found_in_the_text(
    run: Store, tmp_path: Path
) -> None:
    """Letters are taken for the options that were shown, in whatever words they come; failures stay failures."""
    EXPORTS.get("vlmeval")(run, tmp_path / "out")
    logs = tmp_path / "logs"
    logs.mkdir()
    letters = {}
    for condition in CONDITIONS:
        table = pl.read_csv(tmp_path / "out" / f"{plain_name(condition)}.tsv", separator="\t")
        words = pl.lit("<think>A or B?</think> I think the answer is B.")
        lost = pl.int_range(pl.len()) == 0
        said = pl.when(lost).then(pl.lit("Failed to obtain answer via API.")).otherwise(words)
        table.with_columns(said.alias("prediction")).write_csv(logs / f"M_{plain_name(condition)}.tsv", separator="\t")
        shown = fill(run.probes(condition).sort("id"), run.data)
        letters |= {(condition, row["id"]): (row["choices"] or [None, None])[1] for row in shown.to_dicts()}
    model = load(f"predictions:{logs},extract=yes")
    Run(run).predict(model)
    answers = run.answers(model.name).answers

    assert answers.filter(pl.col("status") == "failed").height == len(CONDITIONS)
    found = answers.filter(pl.col("status") == "ok")
    assert {(row["condition"], row["id"]): row["answer"] for row in found.to_dicts()}.items() <= letters.items()
    listed = sum(option is not None for option in letters.values())
    assert listed > 50
    assert found.height >= listed - len(CONDITIONS)


def test_lmms_eval_tasks_work_and_come_back_by_id(run: Store, tmp_path: Path) -> None:
    """Do what lmms-eval does with a task: load its functions and table, ask, and log what `process_results` gives."""
    EXPORTS.get("lmms-eval")(run, tmp_path)
    functions = runpy.run_path(str(tmp_path / "utils.py"))
    logs = {}
    for condition in CONDITIONS:
        text = (tmp_path / f"eyechart_{plain_name(condition)}.yaml").read_text().replace("!function ", "")
        task = yaml.safe_load(text)
        docs = pl.read_parquet(task["dataset_kwargs"]["data_files"]["test"]).to_dicts()
        check_pictures(run, condition, {doc["id"]: doc["pictures"] for doc in docs})
        assert [len(functions["doc_to_visual"](doc)) for doc in docs] == [len(doc["pictures"]) for doc in docs]
        lines = []
        for n, doc in enumerate(docs):
            answer = f"said {len(functions['doc_to_text'](doc))}"
            metrics = functions["process_results"](doc, [answer])
            lines.append({"doc_id": n, "input": doc["prompt"], "target": "", "filtered_resps": answer, **metrics})
        assert functions["share"]([line["answered"] for line in lines]) == 1.0
        logs[condition] = tmp_path / f"20260101_samples_{task['task']}.jsonl"
        logs[condition].write_text("\n".join(map(json.dumps, lines)))
    answers = judge(run, logs)

    assert set(answers.select("condition", "id", "answer").rows()) == expected(run)


def test_inspect_samples_hold_every_question(run: Store, tmp_path: Path) -> None:
    """What Inspect itself makes of them stands in tests/harness."""
    written = EXPORTS.get("inspect")(run, tmp_path)
    for condition in CONDITIONS:
        lines = (tmp_path / f"ask_{plain_name(condition)}.jsonl").read_text().splitlines()
        samples = {sample["id"]: sample["input"][0]["content"] for sample in map(json.loads, lines)}
        pictures = {key: [part["image"] for part in parts if "image" in part] for key, parts in samples.items()}
        check_pictures(run, condition, pictures)
        assert {(key, parts[-1]["text"]) for key, parts in samples.items()} == set(
            asked(run, condition).select("id", "prompt").iter_rows()
        )
    tasks = (tmp_path / "tasks.py").read_text()
    compile(tasks, "tasks.py", "exec")

    assert written["tasks.py"] == tasks.count("@task") == len(CONDITIONS)


@pytest.mark.parametrize("form", ["vlmeval", "lmms-eval", "inspect"])
def test_the_references_stay_here_and_the_guide_names_every_condition(run: Store, form: str, tmp_path: Path) -> None:
    secret = run.data.examples.with_columns(pl.lit("a very secret answer").alias("answer")).drop("choices")
    data = Dataset("secret", secret, run.data.images)
    hidden = Run(Store(tmp_path / "run")).start(data, parts=EVERYTHING)
    hidden.study([Accuracy()])
    hidden.probe()
    EXPORTS.get(form)(hidden.store, tmp_path / "out")
    EXPORTS.get(form)(run, tmp_path / "named")
    guide = (tmp_path / "named" / "README.md").read_text()

    assert not [path for path in (tmp_path / "out").rglob("*.*") if b"very secret" in path.read_bytes()]
    assert all(f"`{condition}`" in guide for condition in CONDITIONS)


def test_names_of_conditions_stay_apart_and_are_safe() -> None:
    names = [plain_name(one) for one in ("plain", "iou+qou", "iou-qou", "image#0", "../../etc/passwd", "image=as-if")]

    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


def test_a_run_without_probes_is_one_clear_error(run: Store, tmp_path: Path) -> None:
    Run(Store(tmp_path / "run")).start(run.data)

    with pytest.raises(DataError, match="found none; run `eyechart probe` first"):
        EXPORTS.get("inspect")(Store(tmp_path / "run"), tmp_path / "out")
