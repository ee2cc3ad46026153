"""The study: the diagnosis of each set of options, before and after the repair, and the decoys themselves."""

from collections.abc import Iterable
from functools import reduce

import polars as pl

from eyechart.audits.decoys.audit import DecoysAudit
from eyechart.audits.decoys.cues import PRIOR_RULE
from eyechart.audits.decoys.look import Known, Look, Looking, look_at
from eyechart.audits.decoys.parts import Parts, parts_of
from eyechart.audits.decoys.recipes import Drawn, draw_decoys
from eyechart.audits.decoys.sets import ORIG, REPAIRED, damage, offer, sets_of
from eyechart.audits.decoys.shown import shown_table
from eyechart.audits.decoys.solving import (
    CHANCE,
    SCORE,
    Solved,
    hold_against_chance,
    measure_chance,
    solver_measures,
    solver_table,
)
from eyechart.audits.decoys.views import study_views
from eyechart.dataset import Dataset
from eyechart.errors import DataError
from eyechart.protocols import Engine
from eyechart.result import Key, Measure, Result, State, Verdict, measures_table
from eyechart.tables import COUNTS, empty

QUESTION = "Do the options keep the answer to themselves?"
ANSWERS_ALONE = (PRIOR_RULE, "A")  # what a verdict on the options rests on
NO_DECOYS = {"id": pl.String, "source": pl.String, "place": pl.Int64, "decoy": pl.String, "donor": pl.String}
_KEPT = ("cluster", "part", "image", "question")


def study_options(audit: DecoysAudit, data: Dataset, engine: Engine) -> Result:
    """Draw decoys, and look at every set of options."""
    parts = parts_of(data.only("split", "answers", "choices", audit.kinds))
    drawn = _draw(audit, data, parts, engine)
    looks = _look(audit, data, parts, drawn, engine)
    found = hold_against_chance(solver for look in looks.values() for solver in look.solvers)
    notes = [*parts.notes, *drawn.notes, *_missing_sets(audit, looks)]
    tables = {
        "counts": _counts(audit, parts, looks),
        "notes": pl.DataFrame({"note": notes}, schema={"note": pl.String}),
        "decoys": drawn.decoys,
        "filters": drawn.counts,
        "solvers": solver_table(found),
        "neutrality": _neutrality(looks),
        "usage": _stack({name: look.usage for name, look in looks.items()}),
        "shown": shown_table(parts.examples, drawn.decoys),
        "kinds": _stack({name: look.kinds for name, look in looks.items()}),
    }
    return Result(
        audit=audit.name,
        subject=data.name,
        settings=audit.settings(),
        measures=measures_table([*_chances(looks), *solver_measures(found)]),
        rows=_rows(parts, looks),
        tables=tables,
        views=study_views(tables),
        verdict=_decide(found, audit.margin, next(iter(looks))),
    )


def _draw(audit: DecoysAudit, data: Dataset, parts: Parts, engine: Engine) -> Drawn:
    if audit.studied == (ORIG,):
        return Drawn(pl.DataFrame(schema=NO_DECOYS | {"filler": pl.Boolean}), _no_filters(), ())
    return draw_decoys(data, parts.examples, audit.recipe, engine)


def _no_filters() -> pl.DataFrame:
    return pl.DataFrame(schema={"source": pl.String, "filter": pl.String, "n": pl.Int64})


def _look(audit: DecoysAudit, data: Dataset, parts: Parts, drawn: Drawn, engine: Engine) -> dict[str, Look]:
    """Look at each set that has any options; a set is made when it is its turn, since all of them take much room."""
    how = Looking(audit.folds, audit.most, audit.scorer, audit.kinds, audit.seed)
    known = Known(_about(audit, parts), data)
    looks = {}
    for name in (name for name in audit.studied if name in sets_of(parts.examples, drawn.decoys)):
        offers = offer(parts.examples, drawn.decoys, name, audit.seed)
        if offers.height:
            looks[name] = look_at(name, offers, known, how, engine)
        del offers  # before the next are made
    if not looks:
        found = f"{parts.examples.height} answered examples, without options and without a decoy that could be drawn"
        advice = "bring data with choices, or with several questions on an image and different answers"
        raise DataError("examples with options, or from whose answers decoys can be drawn", found, advice)
    return looks


def _about(audit: DecoysAudit, parts: Parts) -> pl.DataFrame:
    kinds = [column for column in (audit.kinds,) if column in parts.examples.columns]
    return parts.examples.select("id", *_KEPT, *kinds)


def _missing_sets(audit: DecoysAudit, looks: dict[str, Look]) -> list[str]:
    lost = [name for name in audit.sets if name not in looks]
    return [f"no options for {', '.join(lost)}: no choices in the data, or no decoy that fits"] if lost else []


def _counts(audit: DecoysAudit, parts: Parts, looks: dict[str, Look]) -> pl.DataFrame:
    rows: list[tuple[str | None, str, str | None, int]] = []
    for name, look in looks.items():
        sizes = look.sizes
        rows.append((name, "left out", "no wrong option", parts.examples.height - len(sizes)))
        if name != ORIG:
            whole = audit.k * (2 if name in (REPAIRED, "all") else 1)
            rows += [(name, "offered", None, int((sizes > whole).sum()))]
            rows += [(name, "offered", f"fewer than {whole} decoys", int((sizes <= whole).sum()))]
        else:
            rows += [(name, "offered", None, len(sizes))]
            rows += [(name, "noted", reason, n) for reason, n in damage(parts.examples).items()]
    own = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)
    return pl.concat([parts.counts, own])


def _chances(looks: dict[str, Look]) -> Iterable[Measure]:
    for name, look in looks.items():
        yield measure_chance(look.guess, name, SCORE)


def _rows(parts: Parts, looks: dict[str, Look]) -> pl.DataFrame:
    """Put the score of every solver on every example side by side: what is solvable without looking."""
    rows = parts.examples.select("id", "cluster", "part")
    columns = [look.guess.select("id", pl.col(CHANCE).alias(f"{name} {CHANCE}")) for name, look in looks.items()]
    columns += [
        one.scores.select("id", pl.col("score").alias(one.column)) for look in looks.values() for one in look.solvers
    ]
    return reduce(lambda left, right: left.join(right, on="id", how="left", validate="1:1"), columns, rows)


def _neutrality(looks: dict[str, Look]) -> pl.DataFrame:
    return pl.DataFrame([{"options": name, **look.neutrality} for name, look in looks.items()])


def _stack(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([table.select(pl.lit(name).alias("options"), pl.all()) for name, table in tables.items()])


def _decide(found: list[Solved], margin: float, options: str) -> Verdict:
    """Conclude from what the answers alone give away, on the options of the data or else on the repaired ones."""
    alone = [one for one in found if one.solver.options == options and one.solver.name in ANSWERS_ALONE]
    worst = max(alone, key=lambda one: one.over.low)
    name, over = worst.solver.name, worst.over
    said = f"{100 * over.value:.1f} [{100 * over.low:.1f}, {100 * over.high:.1f}] points over chance on {options!r}"
    state: State = "cannot tell"
    if over.low > margin:
        state, label, sentence = "no", "options give it away", f"The options give the answer away: {name} is {said}."
    elif all(one.over.high < margin for one in alone):
        state, label, sentence = "yes", "options tell little", f"The options alone tell little: {name} is {said}."
    else:
        label, sentence = "too close to tell", f"Too close to tell: {name} is {said}."
    return Verdict(state, QUESTION, label, sentence, Key(name, options), margin)
