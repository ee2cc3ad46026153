"""Time epochs over as many examples as VQA v2 has, with features resident on the device; torch and NumPy alone.

    python benchmarks/zoo_speed.py [--network updn] [--batch 512] [--epochs 2] [--examples 443757] [--compile]

Questions, answers and features (82,783 images of 36 regions with 2,048 numbers, half precision) are random and made on
the device. An epoch is every step of training: batches, loss, gradients, clipping, optimizer.
"""

import argparse
import time

import numpy as np
import torch  # noqa: TID253 - this runs where torch is

from eyechart.zoo.arrays import QuestionArrays, Regions, TrainingArrays
from eyechart.zoo.loader import DeviceRegions, QuestionLoader
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import NETWORKS, make_network
from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.loop import Training
from eyechart.zoo.train.settings import TrainingSettings, seed_all

IMAGES, REGIONS, FEATURES = 82_783, 36, 2048
WORDS, ANSWERS, LENGTH, SCORED = 20_000, 3129, 14, 3


def make_questions(examples: int, images: int) -> QuestionArrays:
    """Draw questions of 6 to 14 words with three scored answers each."""
    rng = np.random.default_rng(0)
    q = rng.integers(1, WORDS, (examples, LENGTH), dtype=np.int32)
    q[np.arange(LENGTH) >= rng.integers(6, LENGTH + 1, examples)[:, None]] = 0
    answers = rng.integers(0, ANSWERS, (examples, SCORED), dtype=np.int32)
    return QuestionArrays(q, rng.integers(0, images, examples), answers, rng.random((examples, SCORED), np.float32))


class Timed(Training):
    """Train on features that are on the device already."""

    def __post_init__(self) -> None:
        self.held = self.settings.torch_device()
        super().__post_init__()

    def loader(self, split: str) -> QuestionLoader:
        """Show the features made on the device instead of those in the arrays."""
        if not hasattr(self, "made"):
            v = torch.empty(IMAGES, REGIONS, FEATURES, dtype=torch.float16, device=self.held)
            for part in torch.split(v, 4096):
                part.normal_()
            self.made = DeviceRegions.of(v, torch.rand(IMAGES, REGIONS, 4, device=self.held))
        return QuestionLoader(self.arrays.splits[split], self.made, self.arrays.answers)


def main() -> None:
    """Print seconds an epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=NETWORKS.names(), default="updn")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--examples", type=int, default=443_757)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    nothing = Regions(np.zeros((0, FEATURES), np.float16), np.zeros(2, np.int64))
    splits = {"train": make_questions(given.examples, IMAGES), "val": make_questions(2048, IMAGES)}
    arrays = TrainingArrays(nothing, splits, WORDS, ANSWERS)
    seed_all(0)
    kind = NETWORKS.get(given.network)
    network = make_network(given.network, NetworkSizes(WORDS, ANSWERS, FEATURES, kind.recipe.hidden))
    course = TrainingSettings(kind.recipe.optimizer, 1e-4, given.batch, given.epochs, device=given.device)
    began = time.perf_counter()
    compiler = Compiler() if given.compile else None
    training = Timed(network, make_method("plain", network), arrays, course, compiler)
    made = time.perf_counter() - began
    training.run(lambda epoch, _: print(f"{given.network}: epoch {epoch.number}, {epoch.seconds:.1f} s", flush=True))
    print(f"features made in {made:.1f} s; batch {given.batch}; device {training.device}")


if __name__ == "__main__":
    main()
