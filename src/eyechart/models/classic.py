"""Classic VQA models, which choose one of the few thousand answers they were trained on."""

from collections.abc import Sequence

from eyechart.errors import ModelError
from eyechart.models.shown import Said, Shown
from eyechart.models.weights import Opened

_TOP = 5  # answers whose score is kept where there are no options
_Scores = list[tuple[str, float]]


def classify(opened: Opened, shown: Shown, decide: str) -> list[Said]:
    """Answer with the likeliest of all known answers, or with `decide="scores"` of those among the options.

    Scores are log-probabilities over all known answers: of the options that are known, else of the best few.
    """
    if opened.model.can_generate():
        found = type(opened.model).__name__
        raise ModelError("a classic model that chooses among known answers", found, "ask a chat model instead")
    reasons = _find_unfit(opened, shown)
    places = [at for at, reason in enumerate(reasons) if reason is None]
    scores = dict(zip(places, _classify(opened, shown.take(places)), strict=True)) if places else {}
    return [
        Said(None, failed=reason) if reason else _say(scores[at], shown.choices[at], decide)
        for at, reason in enumerate(reasons)
    ]


def _find_unfit(opened: Opened, shown: Shown) -> list[str | None]:
    """Say of each prompt why this model cannot answer it; None where it can."""
    room = opened.model.config.max_position_embeddings
    tokens = [len(each) for each in opened.tokenizer(shown.prompts)["input_ids"]]
    found: list[str | None] = []
    for pictures, n in zip(shown.all_pictures(), tokens, strict=True):
        too_long = f"{n} tokens where the model takes {room}" if n > room else None
        found.append(too_long if len(pictures) == 1 else f"{len(pictures)} pictures where the model takes one")
    return found


def _classify(opened: Opened, shown: Shown) -> list[_Scores]:
    """List all answers the model knows with their log-probabilities, the best first."""
    import torch

    images = [each.pixels for each in shown.pictures if each is not None]
    inputs = opened.processor(images=images, text=shown.prompts, padding=True, return_tensors="pt").to(opened.device)
    inputs["pixel_values"] = inputs["pixel_values"].to(opened.model.dtype)
    with torch.inference_mode():
        logits = opened.model(**inputs).logits
    values, places = logits.float().log_softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    names = opened.model.config.id2label
    rows = zip(places.tolist(), values.tolist(), strict=True)
    return [[(str(names[at]), value) for at, value in zip(*row, strict=True)] for row in rows]


def _say(scores: _Scores, choices: Sequence[str] | None, decide: str) -> Said:
    known = [pair for pair in scores if pair[0] in choices] if choices else []
    best = known[0] if known and decide == "scores" else scores[0]
    return Said(best[0], known or (None if choices else scores[:_TOP]))
