"""What a model had learned from before it was asked, and what of that a reader of its results must know."""

from collections.abc import Mapping
from typing import Any

from eyechart.reporting.contents import Caution, Learned
from eyechart.store import Store


def read_learned(store: Store, model: str) -> Learned | None:
    """Read what a run wrote down of a model; None where it says nothing of what it learned from."""
    told = store.identity(model)
    found = Learned(model, _names(told, "pretrained_on"), _names(told, "trained_on_the_metric"))
    return found if found.pretrained_on or found.trained_on_the_metric else None


def cautions_of(learned: Learned | None, audit: str) -> tuple[Caution, ...]:
    """Say what is to be kept in mind when an audit's result of a model is read."""
    if learned is None:
        return ()
    found = []
    if audit in learned.trained_on_the_metric:
        sentence = (
            "It was trained with the very change that this audit makes. A good value shows that it has learned to"
            " answer this change, not that it looks: do not set it beside models that were not trained so."
        )
        found.append(Caution("trained on what this audit measures", sentence))
    if learned.pretrained_on:
        names = "; ".join(learned.pretrained_on)
        sentence = f"It was pretrained on {names}. Where the judged examples come from there, it may have seen them."
        found.append(Caution("pretrained", sentence))
    return tuple(found)


def _names(told: Mapping[str, Any], key: str) -> tuple[str, ...]:
    # What any model says of itself; only a list of words is taken at its word.
    value = told.get(key)
    return tuple(map(str, value)) if isinstance(value, list) else ()
