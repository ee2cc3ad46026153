"""The bias-reduction methods by name, each imported on demand.

Names can be combined: `lmh+css` wraps a base method in decorators (`css` alone wraps `plain`), and `plain@8,hint` gives
eight epochs to the first method and the rest to the second. `file.py:Class` can be used in place of any name.
"""

import re
from pathlib import Path

from eyechart.base.errors import SettingError
from eyechart.base.registry import Registry, class_over
from eyechart.zoo.debias import Debias, Decorator, Then
from eyechart.zoo.network import Network

_HERE = "eyechart.zoo.methods"
METHODS: Registry[type[Debias]] = Registry(
    "debias method",
    {
        "plain": "eyechart.zoo.debias:Plain",
        "plain-ce": "eyechart.zoo.debias:PlainCE",
        "sampled": "eyechart.zoo.debias:Sampled",
        "reweight": f"{_HERE}.lmh:Reweight",
        "bias-product": f"{_HERE}.lmh:BiasProduct",
        "lm": f"{_HERE}.lmh:LM",
        "lmh": f"{_HERE}.lmh:LMH",
        "lmh-l": f"{_HERE}.lmh:LMHL",
        "lmh-v": f"{_HERE}.lmh:LMHV",
        "rubi": f"{_HERE}.rubi:RUBi",
        "lpf": f"{_HERE}.lpf:LPF",
        "lpf-5": f"{_HERE}.lpf:LPF5",
        "cf-vqa": f"{_HERE}.cfvqa:CFVQA",
        "lff": f"{_HERE}.lff:LfF",
        "ssl": f"{_HERE}.ssl:SSL",
        "randimg": f"{_HERE}.ssl:RandImg",
        "css": f"{_HERE}.css:CSS",
        "css-labels": f"{_HERE}.css:CSSLabels",
        "hint": f"{_HERE}.hint:HINT",
        "hint-random": f"{_HERE}.hint:HINTRandom",
        "hint-inverse": f"{_HERE}.hint:HINTInverse",
        "scr": f"{_HERE}.scr:SCR",
        "visfis": f"{_HERE}.visfis:VisFIS",
        "rmfe": f"{_HERE}.rmfe:RMFE",
        "rmfe-log": f"{_HERE}.rmfe:RMFELog",
        "esr": f"{_HERE}.hint:ESR",
    },
    class_over(Debias),
)


def make_method(name: str, model: Network) -> Debias:
    """Build a method for a network from its name, or from a combination of names."""
    stage, comma, rest = name.partition(",")
    if not comma:
        return _layers(stage, model)
    first, _, epochs = stage.partition("@")
    if not epochs.isdecimal():
        raise SettingError("epochs after the first method, as in 'plain@8,hint'", repr(name), "add how many")
    return Then(model, _layers(first, model), int(epochs), make_method(rest, model))


def _layers(name: str, model: Network) -> Debias:
    """Build `base+decorator+decorator` from the inside out."""
    lowest, *others = name.split("+")
    method = METHODS.get(lowest)(model)
    for other in others:
        kind = METHODS.get(other)
        if not issubclass(kind, Decorator):
            raise SettingError("a method that wraps another after '+'", repr(other), "put it first")
        method = kind(model, method)
    return method


def with_whole_paths(name: str) -> str:
    """Make the file paths in a name of a method or network absolute."""
    return re.sub(r"[^+,]+\.py(?=:)", lambda match: str(Path(match[0]).resolve()), name)


def code_in(name: str) -> list[str]:
    """List the parts of a name that refer to code by its location, which is not ours nor an installed package's."""
    return [part for part in re.split(r"[+,]|@\d+", name) if ":" in part]
