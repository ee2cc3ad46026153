"""However the records of a file are damaged, each is read or dropped, and none costs the others."""

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.aokvqa import read_aokvqa
from eyechart.formats.gqa import read_gqa
from eyechart.formats.scienceqa import read_scienceqa

# Damaged files lose rows, and reading them says so.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")
Record = dict[str, Any]
SOUND: dict[str, Record] = {
    "gqa": {
        "question": "what is it?",
        "answer": "cat",
        "imageId": "n1",
        "isBalanced": True,
        "types": {"structural": "query", "semantic": "rel", "detailed": "relS"},
        "groups": {"local": "a", "global": None},
        "annotations": {"question": {"0": "1"}, "answer": {"0:2": "2"}, "fullAnswer": {}},
        "entailed": ["02"],
    },
    "scienceqa": {
        "question": "which?",
        "choices": ["a", "b"],
        "answer": 1,
        "hint": "look",
        "image": "image.png",
        "split": "train",
    },
    "aokvqa": {
        "question_id": "x",
        "image_id": 7,
        "question": "which?",
        "choices": ["a", "b"],
        "correct_choice_idx": 1,
        "direct_answers": ["a", "b", "b"],
        "rationales": ["so"],
        "split": "val",
    },
}
GRAPH: Record = {
    "width": 5,
    "height": 5,
    "objects": {name: {"name": "cat", "x": 1, "y": 1, "w": 2, "h": 2} for name in ("1", "2")},
}
ODD = st.sampled_from(
    [None, True, 0, -1, 5, 2**60, 0.5, 1e300, "", " ", "x", "é\u2028\x00", [], ["x", None], [[1]], {}, {"a": None}]
)
Damage = list[tuple[int, Any]]


def damage(content: Any, draws: Damage) -> Any:  # noqa: ANN401 - any JSON
    """Walk down by the numbers drawn and put odd values where the walks end; a list of numbers is a walk."""
    content = copy.deepcopy(content)
    for number, value in draws:
        here = content
        while isinstance(here, dict | list) and here:
            number, step = divmod(number, len(here))  # noqa: PLW2901 - the number is used up on the way
            key = list(here)[step] if isinstance(here, dict) else step
            if number % 3 == 0 or not isinstance(here[key], dict | list) or not here[key]:
                here[key] = copy.deepcopy(value)  # else one odd value could come to hold itself
                break
            here = here[key]
    return content


DAMAGE = st.lists(st.tuples(st.integers(0, 10**6), ODD), max_size=4)
ENTRIES = st.lists(DAMAGE | ODD.map(lambda value: ("stray", value)), max_size=6)


def damaged_entries(kind: str, drawn: list[Any]) -> list[Any]:
    strays = [isinstance(one, tuple) for one in drawn]
    return [one[1] if stray else damage(SOUND[kind], one) for one, stray in zip(drawn, strays, strict=True)]


def read_one(reader: Callable[..., Dataset], content: object, graphs: object = None) -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file.json").write_text(json.dumps(content))
        (Path(folder) / "graphs.json").write_text(json.dumps(graphs))
        more = {} if graphs is None else {"scene_graphs": Path(folder) / "graphs.json"}
        return reader(Path(folder) / "file.json", **more)


def account(data: Dataset) -> int:
    return int(data.counts.filter(data.counts["status"] != "noted")["n"].sum())


@pytest.mark.parametrize(("kind", "reader"), [("gqa", read_gqa), ("scienceqa", read_scienceqa)])
@given(drawn=ENTRIES)
@settings(deadline=None)
def test_every_record_by_id_is_read_or_dropped(kind: str, reader: Callable[..., Dataset], drawn: list[Any]) -> None:
    entries = {f"0{at}": one for at, one in enumerate([SOUND[kind], *damaged_entries(kind, drawn)])}

    data = read_one(reader, entries)

    assert account(data) == len(entries)
    assert data.examples["id"][0] == "00"
    assert set(data.examples["id"]) <= set(entries)


@given(drawn=ENTRIES)
@settings(deadline=None)
def test_every_record_of_a_list_is_read_or_dropped(drawn: list[Any]) -> None:
    entries = [SOUND["aokvqa"], *damaged_entries("aokvqa", drawn)]

    data = read_one(read_aokvqa, entries)

    assert account(data) == len(entries)
    assert data.examples["id"][0] == "x"


@given(drawn=ENTRIES, graph=DAMAGE)
@settings(deadline=None)
def test_damaged_scene_graphs_cost_no_question(drawn: list[Any], graph: Damage) -> None:
    entries = {f"0{at}": one for at, one in enumerate([SOUND["gqa"], *damaged_entries("gqa", drawn)])}
    entries["sure"] = SOUND["gqa"] | {"imageId": "n2"}
    graphs = {"n1": damage({"n1": GRAPH}, graph).get("n1"), "n2": GRAPH}

    data = read_one(read_gqa, entries, graphs)

    assert account(data) == len(entries)
    evidence = dict(data.examples.select("id", "evidence").iter_rows())
    assert evidence["sure"] == [{"label": "cat", "box": [1, 1, 3, 3]}] * 2


ASKED = {"role": "user", "content": [{"type": "text", "text": "Which bus?\nA) red\nB) blue"}]}
LOGGED: dict[str, Record] = {
    "evalscope": {"index": 0, "target": ["B"], "messages": [ASKED], "sample_score": {"group_id": 0, "score": {}}},
    "opencompass": {"idx": 0, "origin_prompt": [{"role": "HUMAN", "prompt": "What?"}], "prediction": "x", "gold": "a"},
    "helm": {
        "instance": {
            "id": "id0",
            "input": {"text": "Which bus?", "multimedia_content": {"media_objects": [{"location": "a.png"}]}},
            "references": [{"output": {"text": "red"}, "tags": ["correct"]}, {"output": {"text": "blue"}, "tags": []}],
            "split": "test",
        }
    },
    "inspect": {"id": 0, "epoch": 1, "input": [ASKED], "choices": ["red", "blue"], "target": "B", "attachments": {}},
}


@pytest.mark.parametrize("name", LOGGED)
@given(drawn=st.lists(DAMAGE, max_size=4))
@settings(deadline=None)
def test_every_question_of_a_log_is_read_once_or_dropped(name: str, drawn: list[Damage]) -> None:
    entries = [damage(LOGGED[name], one) for one in [[], *drawn]]
    whole = {"adapter_spec": {}, "request_states": entries} if name == "helm" else entries
    log = {"version": 2, "status": "success", "eval": {}, "samples": entries} if name == "inspect" else whole
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.json"
        path.write_text(json.dumps(log))
        try:
            data = read(name, path)
        except EyechartError:
            return

    assert data.examples["id"].is_unique().all()
    again = data.counts.filter(data.counts["reason"] == "question that was asked again")["n"].sum()
    assert account(data) + int(again) == len(entries)
