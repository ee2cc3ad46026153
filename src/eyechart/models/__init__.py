"""Open models: anything that answers probes, named by a kind, a colon and the arguments of that kind."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from eyechart.base.errors import ModelError, SettingError
from eyechart.base.registry import Registry, unknown_name
from eyechart.data.protocols import Model

MODELS: Registry[Callable[[str], Model]] = Registry(
    "model",
    {
        "hf": "eyechart.models.huggingface:open_huggingface",
        "openai": "eyechart.models.endpoint:open_endpoint",
        "predictions": "eyechart.models.file:open_predictions",
        "python": "eyechart.models.function:open_function",
        "world": "eyechart.world:load_answerer",
        "zoo": "eyechart.zoo.train:open_zoo",
    },
)


_SHARED = ("draws", "temperature", "cache", "fresh")
TAKES = {"hf": _SHARED, "openai": ("base_url", *_SHARED)}  # settings that can be given for several models at once


def load_all(specs: Sequence[str], settings: Mapping[str, object], *, fresh: bool = False) -> list[Model]:
    """Open models, each with the settings that its kind takes; raise an error for a setting that none takes.

    `fresh` ignores responses cached before this call; it affects only models that have a cache.
    """
    kinds = {spec: spec.partition(":")[0] for spec in specs}
    for name in settings:
        if not any(name in TAKES.get(kind, ()) for kind in kinds.values()):
            takers = ", ".join(f"{kind}:" for kind, names in TAKES.items() if name in names)
            raise SettingError(f"a model that takes {name} ({takers})", ", ".join(specs), "leave this option out")
    given = {**settings, "fresh": True} if fresh else settings
    chosen = {
        spec: [f",{name}={value}" for name, value in given.items() if name in TAKES.get(kind, ())]
        for spec, kind in kinds.items()
    }
    models = [load(spec + "".join(chosen[spec])) for spec in specs]
    for name, n in Counter(model.name for model in models).items():
        if n > 1:  # one would overwrite the other's answers
            advice = "rename a file's model with `,name=...`, or rename the folder or function"
            raise SettingError("models with different names", f"{n} called {name!r}", advice)
    return models


def load(spec: str) -> Model:
    """Open the model a string names: `hf:org/name`, `openai:name,base_url=URL`, `predictions:a.json`, `world:seer`.

    Settings follow after commas; `eyechart ls models` lists the kinds. The path of an existing file is read as
    predictions.
    """
    kind, _, rest = spec.partition(":")
    if kind not in MODELS.names() and (Path(spec).exists() or Path(spec.partition(",")[0]).is_file()):
        kind, rest = "predictions", spec
    if kind not in MODELS.names():
        raise unknown_name("model", kind, MODELS.names())
    if not rest:
        raise ModelError(f"something after '{kind}:'", "nothing", "`eyechart ls models` shows what each kind takes")
    return MODELS.get(kind)(rest)
