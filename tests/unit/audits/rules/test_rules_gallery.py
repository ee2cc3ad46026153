"""What is shown of a rule meets it, and is sorted into what bears it out and what does not."""

import polars as pl

from eyechart.audits.rules import RulesAudit
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.language.questions import question_words


def test_examples_shown_with_a_rule_meet_it() -> None:
    data = read("world", images=300)
    study = RulesAudit().study(data, Local())
    table = study.tables["gallery"]
    labels = dict(
        data.images.table.select("image", pl.col("objects").list.eval(pl.element().struct.field("label"))).iter_rows()
    )

    asked = table.with_columns(question_words(pl.col("question")).alias("said in it"))

    assert set(table["here"]) == {"holds", "counterexample"}
    assert table["rule"].n_unique() == 4  # two of words, two of both
    for row in asked.iter_rows(named=True):
        cues, _, said = row["rule"].partition(" → ")
        words = [cue for cue in cues.split(" + ") if not cue.endswith(" in sight")]
        objects = [cue.removesuffix(" in sight") for cue in cues.split(" + ") if cue.endswith(" in sight")]
        assert set(words) <= set(row["said in it"])
        assert set(objects) <= set(labels[row["image"]])
        assert {box["label"] for box in row["boxes"]} == set(objects)
        assert row["here"] == "counterexample" or said.startswith(f"{row['reference']} (")
