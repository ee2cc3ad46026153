"""The files of the authors of VQA-CE: compare a study with published lists of ids, and write one as such lists.

counterexamples.json, easy.json, hard.json   flat lists of ids, numbers where all ids of the study are numbers
rules.json                                   one object per rule: words, objects, answer, kind and all figures
prior.json                                   the same for the most frequent answer, which is listed with the rules
"""

import json
from pathlib import Path

import polars as pl

from eyechart.audits.rules.settings import COUNTEREXAMPLE, EASY, EXAMPLE_KINDS, PRIOR, PUBLISHED, UNCOVERED
from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.files import replacing
from eyechart.data.result import Result
from eyechart.data.store import Store

FILES = {EASY: "easy.json", COUNTEREXAMPLE: "counterexamples.json", UNCOVERED: "hard.json"}
RULES_FILE, PRIOR_FILE = "rules.json", "prior.json"
_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # ids that are the same after conversion to numbers and back


def read_ids(file: Path) -> pl.Series:
    """Read a JSON list of ids, numbers or text."""
    try:
        ids = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"a JSON list of ids in {file}", str(error), "give the path of such a list") from None
    if not isinstance(ids, list) or not all(isinstance(one, int | str) for one in ids):
        raise FileFormatError(f"a JSON list of ids in {file}", type(ids).__name__, "give a flat list")
    return pl.Series("id", [str(one) for one in ids], dtype=pl.String)


def label_by_ids(judged: pl.DataFrame, file: Path) -> pl.Series:
    """Label the judged examples by a list of counterexamples, and by other lists in its folder if there are any.

    An example in none of the lists is easy, as in the authors' release, which lists counterexamples and `hard` ones;
    if the folder also has a list of easy ones, it is uncovered.
    """
    optional = {kind: file.with_name(FILES[kind]) for kind in (EASY, UNCOVERED)}
    lists = {kind: path for kind, path in optional.items() if path.is_file() and path != file}
    listed = {kind: read_ids(path) for kind, path in {**lists, COUNTEREXAMPLE: file}.items()}
    rest = UNCOVERED if EASY in listed else EASY
    label = pl.lit(rest)
    for name, ids in listed.items():
        label = pl.when(pl.col("id").is_in(ids.implode())).then(pl.lit(name)).otherwise(label)
    kinds = judged.select(label.alias("kind")).to_series()
    if not (kinds == COUNTEREXAMPLE).any():
        found = f"none of its {len(listed[COUNTEREXAMPLE])} ids among them"
        raise DataError(f"counterexamples of {file} among the judged examples", found, "use the data of that list")
    return kinds


def overlap_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Count how far the mined and the published subsets are the same examples."""
    lines = []
    for kind in EXAMPLE_KINDS:
        mined, listed = rows["kind"] == kind, rows[PUBLISHED] == kind
        both, either = int((mined & listed).sum()), int((mined | listed).sum())
        only = (int(mined.sum()) - both, int(listed.sum()) - both)
        lines.append((kind, both, *only, rows.height, both / either if either else None))
    counts = dict.fromkeys(("both", "only mined", "only published", "of"), pl.Int64)
    return pl.DataFrame(lines, schema={"kind": pl.String, **counts, "overlap": pl.Float64}, orient="row")


def describe_overlap(overlap: pl.DataFrame) -> str:
    """Say how many counterexamples are mined, published, and both."""
    row = overlap.row(by_predicate=pl.col("kind") == COUNTEREXAMPLE, named=True)
    mined, listed = (row["both"] + row[name] for name in ("only mined", "only published"))
    return f"{row['both']:,} of the {mined:,} counterexamples are among the {listed:,} published ones"


def export_rules(store: Store, folder: Path) -> dict[str, int]:
    """Write easy, counterexample and hard ids and the rules in words, from the study of audit `rules` in a run."""
    studies = store.studies()
    if "rules" not in studies:
        found = f"studies of {', '.join(studies) or 'none'}"
        raise DataError(f"a study of the audit 'rules' in {store.folder}", found, "run `eyechart study -a rules`")
    return write_rules(studies["rules"], folder)


def write_rules(study: Result, folder: Path) -> dict[str, int]:
    """Write the lists of ids and the rules, and count the entries of each file."""
    if study.audit != "rules" or "kind" not in study.rows.columns:
        raise DataError("a study of the audit 'rules'", f"one of {study.audit!r}", "export the study of that audit")
    folder.mkdir(parents=True, exist_ok=True)
    numbers = bool(study.rows["id"].str.contains(_NUMBER).all())
    written = {}
    for kind, name in FILES.items():
        ids = study.rows.filter(pl.col("kind") == kind)["id"]
        with replacing(folder / name) as draft:
            draft.write_text(json.dumps(ids.cast(pl.Int64).to_list() if numbers else ids.to_list()), encoding="utf-8")
        written[name] = len(ids)
    rules, is_prior = study.tables["rules"], pl.col("kind") == PRIOR
    tables = {RULES_FILE: rules.filter(~is_prior), PRIOR_FILE: rules.filter(is_prior)}
    for name, table in tables.items():
        with replacing(folder / name) as draft:
            table.write_json(draft)
        written[name] = table.height
    return written
