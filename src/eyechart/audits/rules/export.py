"""Write a study of `rules` as the authors of VQA-CE released theirs, and its rules in words.

counterexamples.json, easy.json, hard.json   flat lists of ids, numbers where all ids of the study are numbers
rules.json                                   one object a rule: words, objects, answer, kind and all figures
prior.json                                   the same of the most frequent answer, which is listed beside the rules
"""

import json
from pathlib import Path

import polars as pl

from eyechart.audits.rules.mined import PRIOR, without_prior
from eyechart.audits.rules.published import FILES
from eyechart.errors import DataError
from eyechart.files import replacing
from eyechart.result import Result
from eyechart.store import Store

RULES_FILE, PRIOR_FILE = "rules.json", "prior.json"
_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # what comes back the same from a number


def export_rules(store: Store, folder: Path) -> dict[str, int]:
    """Write easy, counterexample and hard ids and the rules in words, from the study of audit `rules` in a run."""
    studies = store.studies()
    if "rules" not in studies:
        found = f"studies of {', '.join(studies) or 'none'}"
        raise DataError(f"a study of the audit 'rules' in {store.folder}", found, "run `eyechart study -a rules`")
    return write_rules(studies["rules"], folder)


def write_rules(study: Result, folder: Path) -> dict[str, int]:
    """Write the lists of ids and the rules, and count what each file holds."""
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
    listed = study.tables["rules"]
    tables = {RULES_FILE: without_prior(listed), PRIOR_FILE: listed.filter(pl.col("kind") == PRIOR)}
    for name, table in tables.items():
        with replacing(folder / name) as draft:
            table.write_json(draft)
        written[name] = table.height
    return written
