"""The settings of a training: optimizer, rate, batches, seed and device, with advice if memory runs out."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eyechart.base.errors import ModelError, SettingError
from eyechart.base.registry import unknown_choice

OPTIMIZERS = ("adam", "adamax")


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of a training; `TrainingRecipe` has those of a network's authors."""

    optimizer: str = "adamax"
    rate: float = 2e-3
    batch: int = 512
    epochs: int = 13
    warmup: int = 0  # epochs over which the rate rises to its full height
    seed: int = 0
    patience: int | None = None  # epochs without a better validation score after which training ends
    device: str = "auto"
    half: bool | None = None  # bfloat16 where safe; None: on a GPU
    tuned: bool = False  # the network is already trained, so a method's own rate applies

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise unknown_choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
        if self.seed < 0:
            raise SettingError("a seed of 0 or more", str(self.seed), "choose another seed")
        for name in ("rate", "batch", "epochs"):
            if getattr(self, name) <= 0:
                raise SettingError(f"{name} above 0", str(getattr(self, name)), f"choose another {name}")

    def torch_device(self) -> torch.device:
        """Choose the device; `auto` is a GPU if there is one."""
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            probe = torch.zeros((), device=self.device)
            probe.item()  # a device without memory fails here
        except (RuntimeError, AssertionError, NotImplementedError) as error:  # which torch raises where there is none
            reason = str(error).partition("\n")[0]
            expected = f"a device that torch can use here, not {self.device!r}"
            raise SettingError(expected, reason, "name another, such as cpu") from None
        return probe.device


def seed_all(seed: int, epoch: int = -1) -> None:
    """Seed torch's random numbers, for building a network or for an epoch."""
    torch.manual_seed(int(np.random.SeedSequence([seed, epoch + 1]).generate_state(1)[0]))


def make_optimizer(settings: TrainingSettings, weights: Iterable[Tensor], *, recorded: bool) -> torch.optim.Optimizer:
    """Build the optimizer; in recorded steps, Adam updates all weights in one kernel."""
    if settings.optimizer == "adam":
        return torch.optim.Adam(weights, lr=settings.rate, capturable=recorded, fused=recorded or None)
    return torch.optim.Adamax(weights, lr=settings.rate, capturable=recorded)


@contextmanager
def advising_on_memory(settings: TrainingSettings) -> Iterator[None]:
    """Turn errors from running out of memory into one that says what to lower."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        found = f"not enough for {settings.batch} examples at once"
        raise ModelError(
            f"memory on {settings.torch_device()}", found, "lower the batch size or the hidden size"
        ) from None
