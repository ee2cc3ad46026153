"""What is asked in each round: the examples as they are, and with each modality taken from a donor or left out.

Without a precision there is one round: every judged example as it is and with every draw. With one, the first rounds
have one draw of a growing share of the examples, because another example is more informative than another draw of the
same one (Var = (V_examples + V_draws / m) / n for m draws); once all are asked, the draws double. A later round only
adds to earlier ones: the examples of a share are chosen by a hash of their ids.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import polars as pl

from eyechart.audits.perception.donors import draw
from eyechart.audits.perception.emap import emap_probes
from eyechart.audits.perception.settings import PerceptionSettings, removals_of
from eyechart.audits.perception.study import N_PICTURES, donor_column, judged_part, make_pools
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PERMUTE, PLAIN_CONDITION, Prober, Removal, source
from eyechart.data.result import Result
from eyechart.data.several import CHOICES

FIRST = 300  # examples, about, in the first of several rounds


class Stage(NamedTuple):
    """The extent of a round: the share of the examples and the draws of each."""

    share: float
    draws: int


@dataclass(frozen=True)
class Rounds:
    """The judged examples, the possible rounds, and the seed that chooses a share."""

    rows: pl.DataFrame
    stages: tuple[Stage, ...]
    seed: int

    @classmethod
    def of(cls, settings: PerceptionSettings, study: Result) -> Self:
        """Plan the rounds of an audit."""
        return cls(study.rows, _stages(settings, study.rows.height), settings.seed)

    def asked(self, turn: int, removal: Removal | None, k: int) -> pl.Series:
        """List the examples asked with draw k by the end of a round; without a removal, as they are."""
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
        """Find the last round that has answers."""
        for turn in range(len(self.stages) - 1, 0, -1):
            for removal in removals:
                k = removal.draws(self.stages[turn].draws) - 1
                new = self.added(turn, removal, k).to_frame()
                if predictions.under(removal.condition(k)).join(new, on="id", how="semi").height:
                    return turn
        return 0


def write_probes(
    settings: PerceptionSettings, data: Dataset, study: Result, turn: int
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the probes that a round adds, condition by condition."""
    rounds, removals, prober = Rounds.of(settings, study), removals_of(settings, data), Prober(data)
    if turn >= len(rounds.stages):
        return
    pools = make_pools(settings, judged_part(data, study), removals)
    if len(ids := rounds.added(turn, None, 0)):
        yield PLAIN_CONDITION, prober.plain(ids)
    for removal in removals:
        for k in range(removal.draws(rounds.stages[turn].draws)):
            ids = rounds.added(turn, removal, k)
            if not len(ids):
                continue
            keys = _keys(settings, prober, removal, ids)
            # One hash of (seed, id, modality, k): a joint removal takes the donors of its parts, which are independent.
            for name in removal.modalities if removal.kind == PERMUTE else ():
                donors = draw(pools[name], settings.seed, k).rename({"donor": source(name)})
                keys = keys.join(donors, on="id", how="left", validate="1:1")
            yield removal.condition(k), prober.complete(keys, removal.condition(k))
    if turn == 0:
        yield from emap_probes(settings, data, study)


def _keys(settings: PerceptionSettings, prober: Prober, removal: Removal, ids: pl.Series) -> pl.DataFrame:
    if removal.kind in CHOICES:
        return prober.choose(ids, removal.kind, settings.seed)
    return removal.keys(ids) if removal.kind != PERMUTE else ids.to_frame("id")


def _stages(settings: PerceptionSettings, examples: int) -> tuple[Stage, ...]:
    if settings.precision is None:
        return (Stage(1.0, settings.draws * settings.repeats),)
    stages = [Stage(min(1.0, FIRST / examples), 1)]
    while len(stages) < settings.max_rounds:
        share, draws = stages[-1]
        stages.append(Stage(min(1.0, 2 * share), draws) if share < 1 else Stage(1.0, 2 * draws))
    return tuple(stages)


def _removable(removal: Removal, columns: list[str]) -> pl.Expr:
    """Select the examples that have the modalities, and donors or several pictures if needed."""
    if removal.kind in CHOICES:
        return pl.col(N_PICTURES).fill_null(0) > 1
    known = [pl.col(donor_column(name)) for name in removal.modalities if donor_column(name) in columns]
    enough = [each > 0 if removal.kind == PERMUTE else each.is_not_null() for each in known]
    return pl.all_horizontal(pl.lit(value=True), *(each.fill_null(value=False) for each in enough))
