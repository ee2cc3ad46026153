"""What the model is shown: the examples as they are, and with each modality taken from a donor or left out."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.emap import emap_probes
from eyechart.audits.perception.plan import make_plan
from eyechart.audits.perception.removals import PERMUTE
from eyechart.audits.perception.study import judged_part, make_pools, removals_of
from eyechart.dataset import Dataset
from eyechart.encode.donors import draw
from eyechart.probes import OWN, Prober, source
from eyechart.result import Result


def write_probes(audit: PerceptionAudit, data: Dataset, study: Result, turn: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the probes that a round adds, condition by condition."""
    plan, removals, prober = make_plan(audit, study), removals_of(audit, data), Prober(data)
    if turn >= len(plan.stages):
        return
    pools = make_pools(audit, judged_part(data, study), removals)
    if len(ids := plan.added(turn, None, 0)):
        yield OWN, prober.plain(ids)
    for removal in removals:
        for k in range(removal.draws(plan.stages[turn].draws)):
            ids = plan.added(turn, removal, k)
            if not len(ids):
                continue
            keys = removal.keys(ids) if removal.kind != PERMUTE else ids.to_frame("id")
            # One hash of (seed, id, modality, k): a joint removal takes the donors of its parts, which are independent.
            for name in removal.modalities if removal.kind == PERMUTE else ():
                donors = draw(pools[name], audit.seed, k).rename({"donor": source(name)})
                keys = keys.join(donors, on="id", how="left", validate="1:1")
            yield removal.condition(k), prober.complete(keys, removal.condition(k))
    if turn == 0:
        yield from emap_probes(audit, data, study)
