"""A model that costs nothing, so that what is measured is everything around it."""

from collections.abc import Mapping, Sequence
from typing import Any


def say_yes(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Answer with the first option where there are options, else yes."""
    return [probe["choices"][0] if probe.get("choices") else "yes" for probe in probes]
