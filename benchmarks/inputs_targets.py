"""What is fuzzed: sound files of each kind, how they are read, and whether each of their rows has a fate.

A target's `read` raises an EyechartError for what it refuses; any other exception is a traceback that users would see.
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from inputs_damage import DAMAGES, Files, damage_values, dumps

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from fuzz.seeds import DATASETS, EVALSCOPE, HELM, INSPECT, LIGHTEVAL, Seed, as_details, as_json, as_lines, unknown

VALUES = "odd values"
KINDS = (VALUES, *DAMAGES)
SECRET = b"what nobody may read"


class Case(NamedTuple):
    """Files to read, and how many rows they hold; None where that is not known."""

    kind: str
    files: Files
    rows: int | None = None
    lost: str = ""


class Target(NamedTuple):
    """Something that reads files: its sound content, and how to read a folder of damaged files.

    `read` gives the rows read and dropped, by the reasons that begin with a text; None where nothing is counted.
    """

    seeds: Callable[[], list[Seed]]
    read: Callable[[Path, str], int | None]


class LostRowsError(Exception):
    """Raised where rows have no fate, or more than one."""


def draw(target: Target, name: str, number: int) -> Case:
    """Draw a case: the same for the same number."""
    random = Random(f"{name} {number}")
    seed = random.choice(target.seeds())
    kind = KINDS[number % len(KINDS)]
    if kind == VALUES:
        content = damage_values(random, seed.content)
        return Case(kind, seed.write(content), seed.rows(content), seed.lost)
    return Case(kind, DAMAGES[kind](random, seed.write(copy_of(seed.content))))


def copy_of(content: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return sound content; a writer never changes it."""
    return content


def read_case(target: Target, case: Case, folder: Path) -> None:
    """Put the files of a case into a folder, and read them; raise an error about rows without a fate."""
    for name, data in case.files.items():
        file = folder / name.replace("/", "\u2044") if ".." in name else folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    counted = target.read(folder, case.lost)
    if counted is not None and case.rows is not None and counted != case.rows:
        raise LostRowsError(f"{case.rows} rows in, {counted} read or dropped")


def only_file(folder: Path) -> Path:
    """Return the only file in a folder, or the folder."""
    files = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
    return files[0] if len(files) == 1 else folder


def read_dataset(name: str, folder: Path, lost: str) -> int:
    """Read a dataset, and count the rows."""
    from eyechart.formats import read

    data = read(name, only_file(folder))
    counts = data.counts.with_columns(pl.col("reason").fill_null(""))
    known = int(counts.filter(pl.col("status") == "read")["n"].sum())
    if data.height != known:
        raise LostRowsError(f"{data.height} examples, {known} counted")
    require_own_pictures(data.images)
    return known + int(counts.filter(pl.col("status") == "dropped", pl.col("reason").str.starts_with(lost))["n"].sum())


def require_own_pictures(images: Any) -> None:  # noqa: ANN401 - imported with the readers
    """Raise an error if any picture would be opened elsewhere, or was copied from there."""
    from eyechart.base.errors import EyechartError
    from eyechart.data.images import picture_paths
    from eyechart.data.picture_files import find_picture

    copied = [] if images.root is None else [file for file in images.root.rglob("*") if not file.is_symlink()]
    for name, path in picture_paths(images).iter_rows():
        with suppress(EyechartError):
            copied.append(find_picture(name, path, images.root))
    for file in copied:
        if file.is_file() and SECRET in file.read_bytes():
            raise PermissionError(f"a file from elsewhere is let in as {file.name}")


def read_answers(folder: Path, lost: str) -> int:  # noqa: ARG001 - part of the contract
    """Read the answers of a model, and count the rows."""
    from eyechart.data.predictions import Predictions, tidy
    from eyechart.formats.predictions import read_predictions

    found = read_predictions(only_file(folder))
    twice = pl.col("reason") == "prediction whose review is read"
    fate = found.counts.filter(pl.col("status").is_in(["read", "dropped"]) | twice.fill_null(value=False))
    known = int(found.counts.filter(status="read")["n"].sum())
    if found.answers.height != known:
        raise LostRowsError(f"{found.answers.height} answers, {known} counted")
    has_conditions = "condition" in found.answers.columns
    for part in found.answers.partition_by("condition") if has_conditions else [found.answers]:
        asked = part.select(pl.col("id").unique(), condition=pl.lit("plain"), probe=pl.lit("x"))
        Predictions("m", tidy(part, asked, "m"))
    return int(fate["n"].sum())


def read_settings(folder: Path, lost: str) -> None:  # noqa: ARG001 - part of the contract
    """Read a file of options, and one of prompts."""
    from eyechart.cli.options import read_yaml_options
    from eyechart.language.prompts import choose_template

    file = only_file(folder)
    if file.name.startswith("prompt"):
        choose_template(str(file))
    else:
        str(read_yaml_options(file))


def read_run(folder: Path, lost: str) -> None:  # noqa: ARG001 - part of the contract
    """Open a run whose files are replaced by damaged ones; judge it again, and collect its page."""
    from eyechart.base.files import damaged_inside
    from eyechart.data.store import Store
    from eyechart.reporting import collect, to_json
    from eyechart.runs.run import Run

    whole = folder / "run"
    shutil.copytree(sound_run(), whole)
    for path in [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]:
        target = whole / path.name.replace("~", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    try:
        to_json(collect(Store(whole)))
        Run(Store(whole)).judge("m")
    except pl.exceptions.PolarsError as error:
        raise damaged_inside(error) or error from None  # as the command line does


def read_zoo(folder: Path, lost: str) -> None:  # noqa: ARG001 - part of the contract
    """Open a trained model whose files are replaced by damaged ones."""
    from eyechart.zoo.train.folder import TrainingFolder

    whole = folder / "zoo"
    shutil.copytree(sound_zoo(), whole)
    for path in [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]:
        path.rename(whole / path.name)
    TrainingFolder(whole).open()
    TrainingFolder(whole).state()


def read_regions(folder: Path, lost: str) -> None:  # noqa: ARG001 - part of the contract
    """Attach region features whose files are replaced by damaged ones, and take some."""
    from eyechart.zoo.features import check_features

    for name, data in region_files().items():
        if not (folder / name).exists():
            (folder / name).write_bytes(data)
    features = check_features(folder)
    taken = features.regions.take(np.array([0, -1, 1]))
    if not (np.isfinite(taken.v).all() and np.isfinite(taken.boxes).all()):
        raise LostRowsError("features that are not finite were let through")


@cache
def sound_run() -> Path:
    """Make a small run with a study, probes, answers and results."""
    from eyechart.audits import make_audit
    from eyechart.data.dataset import Dataset
    from eyechart.data.images import Images
    from eyechart.data.store import Store
    from eyechart.models.function import Function
    from eyechart.runs.run import Run

    folder = Path(tempfile.mkdtemp(prefix="inputs-run-")) / "run"
    n = 12
    columns = {
        "id": [f"{i}" for i in range(n)],
        "image": [f"i{i % 4}" for i in range(n)],
        "answer": ["yes", "no"] * (n // 2),
    }
    examples = pl.DataFrame(columns).with_columns(question="is it " + pl.col("id") + "?", split=pl.lit("test"))
    run = Run(Store(folder)).start(Dataset("quiz", examples, Images.named(examples["image"])))
    run.study([make_audit("accuracy", {}), make_audit("perception", {})])
    run.probe()
    model = Function("m", lambda probes: ["yes" for _ in probes])
    run.predict(model)
    run.judge("m")
    return folder


@cache
def sound_zoo() -> Path:
    """Train a very small network."""
    from eyechart.world import WorldSettings, make_world
    from eyechart.zoo.train.trainer import TrainingRequest, train_into

    folder = Path(tempfile.mkdtemp(prefix="inputs-zoo-")) / "model"
    wanted = TrainingRequest("question-only", epochs=1, batch=64, hidden=4, device="cpu")
    train_into(folder, make_world(WorldSettings(images=30)).data, wanted, lambda _: None)
    return folder


@cache
def region_files() -> Files:
    """Write sound features of three images."""
    values = np.arange(20, dtype=np.float16).reshape(5, 4)
    arrays = {
        "features": values,
        "starts": np.array([0, 2, 2, 5]),
        "images": np.array(["a", "b", "c"]),
        "boxes": values / 99,
    }
    return {f"{name}.npy": as_npy(array) for name, array in arrays.items()}


def as_npy(array: Any) -> bytes:  # noqa: ANN401 - any array
    """Write an array as a file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def one_file_of(files: Callable[[], Files]) -> list[Seed]:
    """Damage one file of many at a time; JSON is damaged inside, too."""
    return [Seed(data, partial(_as_it_is, name), unknown) for name, data in files().items()]


def _as_it_is(name: str, content: Any) -> Files:  # noqa: ANN401 - bytes, or what damage made of them
    return {name: content if isinstance(content, bytes) else dumps(content)}


def files_under(folder: Path, separator: str) -> Files:
    """Read all files of a folder, with paths as names."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {separator.join(path.relative_to(folder).parts): path.read_bytes() for path in paths}


def odd_arrays() -> Iterator[Seed]:
    """Give arrays of the wrong shape, type, order and values in the place of each."""
    values = np.arange(20, dtype=np.float32).reshape(5, 4)
    odd = {
        "starts": [np.int64(3), np.array(["0", "2", "2", "5"]), np.array([0, 3, 2, 5]), np.array([0.0, 2, 2, np.nan]),
                   np.array([[0, 2, 2, 5]]), np.array([-5, 2, 2, 5]), np.array([1, 2, 2, 5]), np.array([], np.int64),
                   np.array([0, 2, 2, 2**62]), np.array([0, 2, 2, 5], object), np.array([0, 2, 2, 5], complex)],
        "features": [values * np.nan, values + np.inf, values.astype(str), values[0], np.float32(1),
                     values.astype(object), values.astype(complex), values[:, :0], values[:0], values.astype(bool)],
        "images": [np.array([1, 2, 3]), np.array(["a", "a", "b"]), np.array("a"), np.array([["a", "b", "c"]]),
                   np.array([b"a", b"\xff", b"c"]), np.array([None, "a", "b"], object), np.array(["a", "b", "c\0"])],
        "boxes": [values * np.nan, values[:, :3], values.astype(str), np.float32(0), values.astype(object)],
    }  # fmt: skip
    for name, arrays in odd.items():
        for array in arrays:
            yield Seed(as_npy(array), partial(_as_it_is, f"{name}.npy"), unknown)


CONFIG = b"data: DATA\nmodel: [openai:tiny, 'predictions:a.json']\nset:\n  score: exact\nlimit: 10\njson: true\n"
PROMPT = b"open: '{question}'\nchoice: '{question} {options}'\nlabels: letters\nexpects: text\nversion: 2\n"
ANSWERS = [
    {"question_id": n, "answer": "yes", "scores": [{"answer": "yes", "score": 0.5}], "status": "ok"} for n in range(4)
]


def one_each(content: Any) -> int | None:  # noqa: ANN401 - any JSON
    """Count the samples of a log of a harness, if each has one response: others become draws of their own."""
    said = [row.get(key) for row in content if isinstance(row, dict) for key in ("filtered_resps", "resps")]
    return None if any(isinstance(one, list) and len(one) != 1 for one in said) else len(content)


LOGS: dict[str, list[Seed]] = {
    "lmms-eval": [
        Seed(
            [{"doc_id": n, "filtered_resps": "a", "resps": ["a"], "target": "b"} for n in range(3)], as_lines, one_each
        )
    ],
    "lm-eval": [Seed([{"doc_id": n, "doc": {"id": n}, "filtered_resps": ["a"]} for n in range(3)], as_lines, one_each)],
    "eee": [
        Seed([{"sample_id": f"{n}", "evaluation_id": "e", "output": {"raw": "a"}} for n in range(3)], as_lines, len)
    ],
    "llava": [Seed([{"question_id": n, "text": "a", "answer_id": "x"} for n in range(3)], as_lines, len)],
    "vlmeval": [Seed([{"index": n, "prediction": "a", "A": "x"} for n in range(3)], as_lines, len)],
    "chat": [Seed([{"id": n, "messages": [{"role": "user", "content": "what?"}]} for n in range(3)], as_lines, len)],
    "evalscope": [Seed(EVALSCOPE, as_lines, unknown)],
    "helm": [Seed({"scenario_state": HELM}, as_json, unknown)],
    "opencompass": [
        Seed([{"idx": n, "origin_prompt": "what?", "prediction": "a"} for n in range(3)], as_lines, unknown)
    ],
    "inspect": [Seed({"log": INSPECT}, as_json, unknown)],
    "lighteval": [Seed(LIGHTEVAL, as_details, unknown)],
    "scienceqa": [Seed({"r": {"acc": 0, "results": {"1": 0}, "outputs": {"1": "a"}}}, as_json, unknown)],
}


def as_parquet(content: Any) -> Files:  # noqa: ANN401 - any JSON
    """Write records as Parquet, under a name that is no log's."""
    return {"answers.parquet": next(iter(as_details(content).values()))}


def prediction_seeds() -> list[Seed]:
    """Write answers in each form of a table."""
    from fuzz.seeds import as_separated, length

    flat = [{"id": n, "answer": "yes"} for n in range(4)]
    return [
        Seed(ANSWERS, as_lines, length),
        Seed({"answers": ANSWERS}, as_json, unknown),
        Seed({"answers": {f"{n}": "yes" for n in range(4)}}, as_json, unknown),
        Seed(flat, as_separated(",", "csv"), unknown),
        Seed(flat, as_separated("\t", "tsv"), unknown),
        Seed(flat, as_parquet, unknown),
    ]


TARGETS: dict[str, Target] = {
    **{f"data {name}": Target(partial(list, seeds), partial(read_dataset, name)) for name, seeds in DATASETS.items()},
    **{f"log {name}": Target(partial(list, seeds), read_answers) for name, seeds in LOGS.items()},
    "predictions": Target(cache(prediction_seeds), read_answers),
    "settings": Target(
        lambda: [
            Seed(CONFIG, partial(_as_it_is, "config.yaml"), unknown),
            Seed(PROMPT, partial(_as_it_is, "prompt.yaml"), unknown),
        ],
        read_settings,
    ),
    "run folder": Target(cache(lambda: one_file_of(partial(files_under, sound_run(), "~"))), read_run),
    "zoo folder": Target(cache(lambda: one_file_of(partial(files_under, sound_zoo(), "~"))), read_zoo),
    "region files": Target(cache(lambda: [*one_file_of(region_files), *odd_arrays()]), read_regions),
}
