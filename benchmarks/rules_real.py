"""Mine real VQA v2 questions and judge three models of 2019: the tables of docs/audits/rules-results.md.

    python benchmarks/rules_real.py FOLDER [--record]

FOLDER holds the real data (`vqa2/`), which are not part of the project. Mined on the balanced train part, judged on
validation questions whose images are not in it.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import eyechart
from eyechart.audits.rules import RulesAudit
from eyechart.audits.rules.settings import STATES
from eyechart.data.result import Result
from eyechart.engines import Local
from real import find, judge_models, read_vqa2
from record import Row, add_flag
from tables import CELLS, Layout, lay_out, pivot, report, table

AUDIT = RulesAudit()
SHOWN = 4  # rules that a model follows where they are wrong
SURE = 0.05
TRIED = 8  # held-out images that a rule matches
SHARES = ("easy share", "counterexample share", "uncovered share", "best rule mixed")
KINDS = ("words", "objects", "mixed")
GROUPS = ("counterexample", "easy")
FOLLOWED = ("confidence", "held_out_confidence", "correlation", "followed", "wrong", "control", "q")
MEASURES = {
    "overall": ("accuracy",),
    "easy": ("accuracy", "kind", "easy"),
    "counterexamples": ("accuracy", "kind", "counterexample"),
    "gap": ("gap",),
    "expected gap": ("expected gap",),
    "matched gap": ("matched gap",),
    "exploitation": ("exploitation",),
    "... rules of words": ("exploitation", "rule kind", "words"),
    "... rules of both": ("exploitation", "rule kind", "mixed"),
    "... of both, against the same words": ("exploitation", "rule kind", "mixed, against the same words"),
}


def measure(folder: Path) -> Iterator[Row]:
    """Describe the study, judge the models, and compare them example by example."""
    data = read_vqa2(folder)
    study = AUDIT.study(data, Local())
    yield describe(study)
    results = dict(judge_models(AUDIT, data, study, folder))
    for name, result in results.items():
        for label, key in MEASURES.items():
            yield {"table": "models", "model": name, "measure": label, "value": find(result, *key)}
        yield {"table": "models", "model": name, "measure": "verdict", "value": result.verdict.state}
    for name, result in results.items():
        yield from followed(name, result)
    yield from compare(results)


def describe(study: Result) -> Row:
    """Count the rules, and the examples by what rules say of them."""
    kinds = {kind: {"rules": 0, "confirmed": 0, "untestable": 0} for kind in KINDS}
    kinds |= {row["kind"]: row for row in study.tables["kinds"].iter_rows(named=True)}
    totals = study.tables["kinds"].select(pl.col("rules", "kept", *STATES).sum())
    found: Row = {"table": "study"} | totals.row(0, named=True)
    for kind in KINDS:
        n = kinds[kind]["rules"]
        found |= {kind: n, f"{kind} share": n / max(found["rules"], 1), f"{kind} confirmed": kinds[kind]["confirmed"]}
    found |= {name: find(study, name) for name in SHARES}
    found["objects untestable"] = kinds["objects"]["untestable"]
    found |= describe_rules(study.tables["rules"])
    for row in study.tables["answer_types"].filter(pl.col("answer_type") == "yes/no").iter_rows(named=True):
        found[f"yes/no, {row['subset']}"] = [row["share"], row["low"], row["high"]]
    for way in ("vote", "best"):
        found[way] = find(study, f"classifier, {way}")
        found |= {f"{way} {group}": find(study, f"classifier, {way}", "kind", group) for group in GROUPS}
    return found


def describe_rules(rules: pl.DataFrame) -> Row:
    """Average what becomes of the confidences of rules that match enough held-out images."""
    tried = rules.filter(pl.col("held_out_support") >= TRIED, pl.col("kind").is_in(KINDS))
    means = {key: tried[key].mean() for key in ("confidence", "held_out_confidence")}
    return {"tried": tried.height} | means


def followed(name: str, result: Result) -> Iterator[Row]:
    """List the rules that a model surely follows where they are wrong."""
    sure = result.tables["exploited"].filter(pl.col("q") <= SURE)
    for row in sure.sort("q", "rule").iter_rows(named=True):
        cues = [*row["words"], *(f"{label} V" for label in row["objects"])]
        known = {key: row[key] for key in FOLLOWED}
        yield {"table": "followed", "model": name, "rule": f"{' + '.join(cues)} → {row['answer']}"} | known


def compare(results: dict[str, Result]) -> Iterator[Row]:
    """Compare the models that see with the one that does not."""
    base = next(iter(results))
    found = eyechart.compare(results, base=base).filter(pl.col("name") == "accuracy", pl.col("delta").is_not_null())
    for row in found.iter_rows(named=True):
        delta = [row["delta"], row["delta_low"], row["delta_high"]]
        yield {
            "table": "compared",
            "model": row["model"],
            "group": row["group"] or "all",
            "delta": delta,
            "q": row["q"],
        }


# What the docs say of the study, line by line, and what the paper has.
LINES = (
    ("rules", "{rules:,}", "1.12 million"),
    (
        "of words / objects / both",
        "{words:,} / {objects:,} / {mixed:,} ({words share:.0%} / {objects share:.0%} / {mixed share:.0%})",
        "50,000 / 77,000 / 1 million (4 / 7 / 89 %)",
    ),
    ("kept by the classifier", "{kept:,}", "115,718"),
    ("easy", "{easy share:points}", "68.9"),
    ("counterexamples", "{counterexample share:points}", "29.5"),
    ("uncovered", "{uncovered share:points}", "1.6"),
    ("best rule is of words and objects, of the examples that meet a rule", "{best rule mixed:points}", "91.8"),
    ("classifier by vote, overall", "{vote:points}", "42.26"),
    ("classifier by vote, counterexamples", "{vote counterexample:points}", "0.00"),
    ("classifier by vote, easy", "{vote easy:points}", "61.13"),
    ("classifier by the best rule, overall", "{best:points}", ""),
    ("classifier by the best rule, counterexamples", "{best counterexample:points}", ""),
    ("classifier by the best rule, easy", "{best easy:points}", ""),
    (
        "confirmed / add nothing / refuted / untestable",
        "{confirmed:,} / {adds nothing:,} / {refuted:,} / {untestable:,}",
        "not tested",
    ),
    (
        "confirmed, of words / objects / both",
        "{words confirmed} / {objects confirmed} / {mixed confirmed}",
        "not tested",
    ),
    ("of objects alone, untestable", "{objects untestable}", "not tested"),
    (
        "mean confidence of rules that match 8 held-out images: in train, there",
        "{confidence:points}, {held_out_confidence:points} ({tried:,} rules)",
        "not tested",
    ),
    ("yes/no questions among the easy", "{yes/no, easy:points}", ""),
    ("yes/no questions among counterexamples", "{yes/no, counterexample:points}", ""),
)


def lay_out_study(rows: list[Row]) -> Iterator[str]:
    """Write the study beside the paper."""
    [study] = (row for row in rows if row["table"] == "study")
    found = [{"what": what, "here": CELLS.vformat(line, (), study), "paper": paper} for what, line, paper in LINES]
    return lay_out("| | here | paper |", "| {what} | {here} | {paper} |", found)


def lay_out_models(rows: list[Row]) -> Iterator[str]:
    """Write a column for each model."""
    own = [row for row in rows if row["table"] == "models"]
    names = list(dict.fromkeys(row["model"] for row in own))
    line = "| {measure} | " + " | ".join(f"{{{name}:points}}" for name in names) + " |"
    return lay_out(f"| | {' | '.join(names)} |", line, pivot(own, "measure", "model"))


def lay_out_followed(rows: list[Row]) -> Iterator[str]:
    """Write the surest rules of each model, and how many there are."""
    head = "| model (rules) | rule | train | held out | correlation | where wrong | control | q |"
    line = (
        "| {name} | {rule} | {confidence:points} | {held_out_confidence:points} | {correlation:points} "
        "| {followed} of {wrong} | {control:points} | {q:.1g} |"
    )
    own = [row for row in rows if row["table"] == "followed"]
    names = dict.fromkeys(row["model"] for row in own)
    counts = {name: sum(row["model"] == name for row in own) for name in names}
    found = [row for name in names for row in [row for row in own if row["model"] == name][:SHOWN]]
    return lay_out(head, line, (row | {"name": f"{row['model']} ({counts[row['model']]})"} for row in found))


COMPARED = table(
    "| model | examples | better than GPT-2 by | q |", "| {model} | {group} | {delta:points} | {q:.4f} |", "compared"
)
LAYOUTS: dict[str, Layout] = {
    "study": lay_out_study,
    "models": lay_out_models,
    "followed": lay_out_followed,
    "compared": COMPARED,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    add_flag(parser)
    given = parser.parse_args()
    report("rules_real", LAYOUTS, list(measure(given.folder)), kept=given.record)


if __name__ == "__main__":
    main()
