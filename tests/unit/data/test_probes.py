"""Probes hold keys, a hash of what will be shown, and never the reference."""

from dataclasses import replace

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Filler, Prober, fill
from eyechart.data.tables import BOX


def probes_of(data: Dataset) -> dict[str, str]:
    probes = Prober(data).plain(data.examples["id"])
    return dict(zip(probes["id"], probes["probe"], strict=True))


def test_a_plain_probe_shows_the_example_itself(tiny: Dataset) -> None:
    shown = fill(Prober(tiny).plain(tiny.examples["id"]), tiny)

    assert shown.select("id", "image", "question").equals(tiny.examples.select("id", "image", "question"))


def test_a_donor_lends_one_modality_and_not_the_other(tiny: Dataset) -> None:
    keys = pl.DataFrame({"id": ["00", "03"], "image_from": ["06", None]})
    shown = fill(Prober(tiny).complete(keys, "image#0"), tiny)

    assert shown["image"].to_list() == ["d", None]
    assert shown["question"].to_list() == ["what color is it?", "is it big?"]


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_filled_part_by_part_is_filled_at_once(tiny: Dataset, size: int) -> None:
    data = replace(tiny, examples=tiny.examples.with_columns(choices=pl.concat_list("answer", "question_type")))
    donors = pl.DataFrame({"id": data.examples["id"], "image_from": data.examples["id"].shift(3)})
    probes = Prober(data).complete(donors, "image#0")
    filler = Filler(probes, data)

    parts = pl.concat([filler.fill(at, size) for at in range(0, 8, size)])

    assert parts.equals(fill(probes, data))
    assert parts["image"].to_list() == [None, None, None, "a", "a", "b", "b", "c"]


def test_the_hash_follows_the_content_and_nothing_else(tiny: Dataset) -> None:
    """A changed question changes its probe; a changed answer, order or further column changes none."""
    before = probes_of(tiny)
    reworded = tiny.examples.with_columns(
        pl.when(pl.col("id") == "02").then(pl.lit("what hue is it?")).otherwise("question").alias("question")
    )
    other = tiny.examples.with_columns(pl.lit("x").alias("answer"), pl.lit(1).alias("category")).reverse()
    after = probes_of(replace(tiny, examples=reworded))

    assert {name for name in before if before[name] != after[name]} == {"02"}
    assert probes_of(replace(tiny, examples=other)) == before


def test_the_hash_tells_apart_what_is_shown(tiny: Dataset) -> None:
    """The same two texts in exchanged modalities, an edit, or options make other probes."""
    prober = Prober(tiny)
    keys = pl.DataFrame({"id": ["00"]})
    box = pl.Series("hidden", [[[0, 0, 1, 1]]], dtype=pl.List(BOX))
    variants = [
        keys,
        keys.with_columns(pl.lit("06").alias("image_from")),
        keys.with_columns(pl.lit(None, pl.String).alias("image_from")),
        keys.with_columns(pl.lit("blank").alias("removal")),
        keys.with_columns(pl.Series("visible", [[0, 2]])),
        keys.with_columns(pl.Series("visible", [[0, 1]])),
        keys.with_columns(box),
        keys.with_columns(pl.Series("choices", [["red", "blue"]])),
        keys.with_columns(pl.Series("choices", [["blue", "red"]])),
    ]
    hashes = [prober.complete(variant, "it")["probe"][0] for variant in variants]

    assert len(set(hashes)) == len(variants)


def test_the_hash_is_the_same_in_every_version() -> None:
    """Written down once: answers saved by an older eyechart must still be known."""
    examples = pl.DataFrame({"id": ["1"], "image": ["a"], "question": ["what?"], "answer": ["x"]})

    assert probes_of(Dataset("d", examples, Images.named(examples["image"]))) == {"1": "8633045910395425538"}


@pytest.mark.parametrize("secret", ["answer", "answers", "evidence"])
def test_nothing_shown_carries_the_reference(tiny: Dataset, secret: str) -> None:
    probes = Prober(tiny).plain(tiny.examples["id"])

    assert secret not in probes.columns + fill(probes, tiny).columns


def test_options_are_shown_unless_an_audit_changed_them(tiny: Dataset) -> None:
    data = replace(
        tiny, examples=tiny.examples.with_columns(pl.concat_list("answer", pl.lit("other")).alias("choices"))
    )
    prober = Prober(data)
    changed = prober.complete(pl.DataFrame({"id": ["00"], "choices": [["red", "green"]]}), "qou")

    assert fill(prober.plain(data.examples["id"][:1]), data)["choices"].to_list() == [["red", "other"]]
    assert fill(changed, data)["choices"].to_list() == [["red", "green"]]
