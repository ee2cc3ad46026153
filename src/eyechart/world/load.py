"""Find an answerer by its name: what follows "world:" in the string of a model."""

from eyechart.errors import SettingError
from eyechart.protocols import Model
from eyechart.registry import unknown_name
from eyechart.world.answerers import Cheater, Deaf, DecoyCheater, Guesser, Leaner, Mixture, Seer
from eyechart.world.reader import Reader

ANSWERERS: dict[str, Model] = {
    "seer": Seer(),
    "reader": Reader(),
    "blind": Cheater("blind", ("word",)),
    "deaf": Deaf(),
    "guesser": Guesser(),
    "cheater": Cheater("cheater", ("pair", "object", "word")),
    "cheater:prior": Cheater("cheater:prior", ()),
    "cheater:word": Cheater("cheater:word", ("word",)),
    "cheater:object": Cheater("cheater:object", ("object",)),
    "cheater:pair": Cheater("cheater:pair", ("pair",)),
    "cheater:crossed": Cheater("cheater:crossed", ("crossed",)),
    "cheater:decoy": DecoyCheater("cheater:decoy"),
    **{f"leaner:{kind}": Leaner(f"leaner:{kind}", (kind,)) for kind in ("prior", "word", "object", "pair", "crossed")},
}
MIXTURE = "mix:"
_EXAMPLE = '"mix:seer=0.7,blind=0.3"'


def load_answerer(spec: str) -> Model:
    """Find an answerer by name, or mix several: `mix:seer=0.7,blind=0.3`."""
    if spec.startswith(MIXTURE):
        return _mix(spec)
    if spec not in ANSWERERS:
        raise unknown_name("answerer of the world", spec, (*ANSWERERS, f"{MIXTURE}..."))
    return ANSWERERS[spec]


def _mix(spec: str) -> Mixture:
    parts = [part.rpartition("=") for part in spec.removeprefix(MIXTURE).split(",")]
    shares = tuple(_share(text, spec) for _, _, text in parts)
    if abs(sum(shares) - 1) > 1e-9:
        raise SettingError("shares of a mixture that sum to 1", f"{sum(shares):g} in {spec!r}", f"write {_EXAMPLE}")
    return Mixture(spec, tuple(load_answerer(name) for name, _, _ in parts), shares)


def _share(text: str, spec: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingError("each share of a mixture from 0 to 1", f"{text!r} in {spec!r}", f"write {_EXAMPLE}")
    return share
