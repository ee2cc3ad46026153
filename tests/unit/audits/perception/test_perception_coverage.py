"""The 95 % intervals of the audit hold the truth of a world that is known in closed form."""

import numpy as np

from eyechart.audits.perception import PerceptionAudit
from eyechart.runs.verbs import audit
from unit.audits.perception.moods import GOOD, Reader, moody

TRUTH = 0.9 - (GOOD * (0.9 * GOOD + 0.1 * (1 - GOOD)) + (1 - GOOD) * (0.1 * GOOD + 0.9 * (1 - GOOD)))


def test_a_reader_of_skewed_moods_is_covered() -> None:
    """With the donors taken as given, these 95 % intervals hold the truth in about 79 % of worlds."""
    rng, held = np.random.default_rng(7), {"perception": 0, "perception / model": 0}
    truth = {"perception": TRUTH, "perception / model": TRUTH / 0.9}
    for seed in range(40):
        chosen = PerceptionAudit(seed=seed, modalities=("image",))
        result = audit(moody(rng, 150, 2), Reader(), [chosen])["perception"]
        for name, true in truth.items():
            found = result.measure(name, "image")
            held[name] += found.low <= true <= found.high

    assert min(held.values()) >= 37
