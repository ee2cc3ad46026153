"""What is asked in which round.

Without a precision there is one round: every judged example as it is and with every draw. With one, the first rounds
have one draw of a growing share of the examples, because a further example teaches more than a further draw of the
same one (Var = (V_examples + V_draws / m) / n for m draws); when all are asked, the draws double. A later round only
adds to earlier ones: the examples of a share are chosen by a hash of their ids.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.removals import PERMUTE, Removal
from eyechart.audits.perception.study import donor_column
from eyechart.hashing import combine, hash_text, uniform
from eyechart.predictions import Predictions
from eyechart.result import Result

FIRST = 300  # examples, about, in the first of several rounds


class Stage(NamedTuple):
    """How far a round goes: the share of the examples and the draws of each."""

    share: float
    draws: int


@dataclass(frozen=True)
class Plan:
    """The judged examples, the rounds there can be, and the seed that chooses a share."""

    rows: pl.DataFrame
    stages: tuple[Stage, ...]
    seed: int

    def asked(self, turn: int, removal: Removal | None, k: int) -> pl.Series:
        """List the examples that are asked with draw k by the end of a round; no removal means as they are."""
        stage, rows = self.stages[turn], self.rows
        if removal is not None:
            if k >= removal.draws(stage.draws):
                return rows["id"].clear()
            rows = rows.filter(_removable(removal, rows.columns))
        if stage.share >= 1:
            return rows["id"]
        chance = uniform(combine(hash_text(rows["id"], self.seed), hash_text(pl.Series(["share"]))))
        return rows.filter(pl.Series(chance < stage.share))["id"]

    def added(self, turn: int, removal: Removal | None, k: int) -> pl.Series:
        """List the examples that a round asks and no earlier one did."""
        now = self.asked(turn, removal, k)
        if turn == 0:
            return now
        before = self.asked(turn - 1, removal, k)
        return now.to_frame().join(before.to_frame(), on="id", how="anti", maintain_order="left")["id"]

    def reached(self, removals: Iterable[Removal], predictions: Predictions) -> int:
        """Find the last round of which there are answers."""
        for turn in range(len(self.stages) - 1, 0, -1):
            for removal in removals:
                k = removal.draws(self.stages[turn].draws) - 1
                new = self.added(turn, removal, k).to_frame()
                if predictions.under(removal.condition(k)).join(new, on="id", how="semi").height:
                    return turn
        return 0


def make_plan(audit: PerceptionAudit, study: Result) -> Plan:
    """Lay out the rounds of an audit."""
    return Plan(study.rows, _stages(audit, study.rows.height), audit.seed)


def _stages(audit: PerceptionAudit, examples: int) -> tuple[Stage, ...]:
    if audit.precision is None:
        return (Stage(1.0, audit.draws * audit.repeats),)
    found = [Stage(min(1.0, FIRST / examples), 1)]
    while len(found) < audit.max_rounds:
        share, draws = found[-1]
        found.append(Stage(min(1.0, 2 * share), draws) if share < 1 else Stage(1.0, 2 * draws))
    return tuple(found)


def _removable(removal: Removal, columns: list[str]) -> pl.Expr:
    """Tell which examples have the modalities, and donors where these are needed."""
    known = [pl.col(donor_column(name)) for name in removal.modalities if donor_column(name) in columns]
    enough = [each > 0 if removal.kind == PERMUTE else each.is_not_null() for each in known]
    return pl.all_horizontal(pl.lit(value=True), *(each.fill_null(value=False) for each in enough))
