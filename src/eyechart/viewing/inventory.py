"""What a run holds, in the order the explorer lists it."""

from collections.abc import Iterable

from eyechart.probes import OWN
from eyechart.store import Store
from eyechart.stored import Stamped, stamped


def models(store: Store) -> list[str]:
    """Name the models that answered or were judged."""
    return sorted({*store.models(), *store.results()})


def conditions(store: Store) -> list[str]:
    """Name the conditions, the unchanged one first."""
    return _unchanged_first(store.conditions())


def conditions_of(store: Store, model: str) -> list[str]:
    """Name the conditions a model answered under, the unchanged one first."""
    return _unchanged_first(store.answered(model))


def has_pictures(store: Store) -> bool:
    """Tell whether the images name files of pictures."""
    return "path" in store.images.scan().collect_schema()


def plans(store: Store) -> tuple[Stamped, ...]:
    """Look at the plans of all studies: while they stay the same, so does what audits bring."""
    return _look_at(store, "studies/*.json", "studies/*/settings.json")


def verdicts(store: Store) -> tuple[Stamped, ...]:
    """Look at the file that is written last in every study and result."""
    return _look_at(store, "studies/*/settings.json", "results/*/*/settings.json")


def _look_at(store: Store, *patterns: str) -> tuple[Stamped, ...]:
    return tuple(stamped(path) for pattern in patterns for path in sorted(store.folder.glob(pattern)))


def _unchanged_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name != OWN, name))
