"""The rows of the study: which network is trained by which method, and how, in the order of their importance."""

from typing import NamedTuple

from eyechart.zoo.train.settings import TrainingSettings

EPOCHS, FIRST_STAGE = 30, 15
BATCH, HIDDEN, EMBEDDING = 256, 256, 64
SEEDS = (0, 1, 2)
BY_OPTION = ("answer-only", "mlp-qa", "mlp-ia", "mlp-iqa")  # they choose among the options, all others answer openly

_THEN = f"plain@{FIRST_STAGE},"
MAIN = 11  # of the methods
METHODS = (
    *("plain", "plain-ce", "lmh", "lpf", "lpf-5", f"{_THEN}ssl", "randimg", "visfis", f"{_THEN}hint", "rubi", "lff"),
    *("reweight", "bias-product", "lm", "lmh-l", "lmh-v", "cf-vqa", "css", "css-labels", "lmh+css", "lmh+css-labels"),
    *(f"{_THEN}hint-random", f"{_THEN}scr", f"{_THEN}esr", "lmh+rmfe", "lmh+rmfe-log"),
)
ALONE = ("majority", "prior", "question-only", "image-only", *BY_OPTION)
NETWORKS = ("san", "s-mrl", "block", "updn2", "symbolic", "mac", "ban", "mcan")  # from the cheapest on
WIDTHS = {**dict.fromkeys(BY_OPTION, 512), "mcan": 128}
# The recipes of the networks' authors are for a hundred times as many examples; these were chosen for a small world.
RATE = 5e-3
RATES = {"mcan": 2e-4, "symbolic": 3e-2, "mac": 1e-3, "ban": 1e-3, "s-mrl": 1e-3, "block": 1e-3, "san": 1e-3}
WARMUP = {"mcan": 3}
SHORT = {"majority": 1, "prior": 1}


class Row(NamedTuple):
    """One training."""

    model: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """Name it in files and tables."""
        return f"{self.pair} {self.seed}"

    @property
    def pair(self) -> str:
        """Name it without its seed."""
        return f"{self.model} {self.method}"

    def course(self, device: str, epochs: int | None) -> TrainingSettings:
        """Say how it is trained."""
        length = SHORT.get(self.model, epochs or EPOCHS)
        rate, warmup = RATES.get(self.model, RATE), WARMUP.get(self.model, 0)
        return TrainingSettings("adam", rate, BATCH, length, warmup, self.seed, device=device, half=False)


def all_rows(seeds: tuple[int, ...] = SEEDS) -> list[Row]:
    """List every row: UpDn by the main methods, each network plainly, UpDn by the others, other pairs."""
    pairs = [("updn", method) for method in METHODS[:MAIN]] + [(name, "plain") for name in (*ALONE, *NETWORKS)]
    pairs += [("updn", method) for method in METHODS[MAIN:]]
    pairs += [(name, method) for name in NETWORKS for method in METHODS[1:]]
    return [Row(*pair, seed) for pair in pairs for seed in seeds]
