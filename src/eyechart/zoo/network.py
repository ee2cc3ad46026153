"""What every network of the zoo has: sizes, a recipe to train it by, word vectors, and one way to be called."""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from eyechart.base.errors import FileFormatError
from eyechart.zoo.arrays import Array
from eyechart.zoo.batch import Batch, Out


class NetworkSizes(NamedTuple):
    """How large a network is; all but `hidden` and `embedding` follow from the data."""

    words: int  # with the 0 of "no word"
    answers: int
    features: int
    hidden: int = 1024
    embedding: int = 300
    types: int = 1  # of questions, for the prior
    examples: int = 0  # in training, for methods that remember each


class TrainingRecipe(NamedTuple):
    """How a network's authors trained it: the defaults of a training."""

    optimizer: str = "adamax"  # or adam
    rate: float = 2e-3
    batch: int = 512
    epochs: int = 13
    hidden: int = 1024
    warmup: int = 0  # epochs over which the rate rises to its full height


class Network(nn.Module):
    """Answer batches; `q_size` is None where there is no vector of the question alone."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe()
    pretrained_on: tuple[str, ...] = ()
    needs: ClassVar[tuple[str, ...]] = ()  # fields of the batch beyond q and v
    q_size: int | None
    h_size: int

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.words, sizes.embedding, padding_idx=0)

    def forward(self, batch: Batch) -> Out:
        """Score every answer (or option) of every example."""
        raise NotImplementedError

    def words(self, batch: Batch) -> Tensor:
        """Look the words up, [B, T, E], unless their vectors are given."""
        vectors: Tensor = self.embedding(batch.q) if batch.w is None else batch.w
        return vectors

    @torch.no_grad()
    def chances(self, batch: Batch) -> Tensor:
        """Return how likely each answer is, sigma(s), [B, A]: the bias that a frozen network gives to others."""
        was_training = self.training
        logits: Tensor = self.eval()(batch).logits
        self.train(was_training)
        return logits.sigmoid()


class CachedNetwork(Network):
    """Wrap a network that has answered a batch, and return the same answer when it is shown the same again.

    So a method and the one below it share a forward pass, with one draw of dropout, as in the code of CSS's authors.
    """

    def __init__(self, model: Network, batch: Batch) -> None:
        nn.Module.__init__(self)  # it has no weights of its own
        self.model, self.batch = model, batch
        self.out: Out = model(batch)

    def forward(self, batch: Batch) -> Out:
        """Answer as the network does."""
        out: Out = self.out if batch.shows_the_same(self.batch) else self.model(batch)
        return out

    def words(self, batch: Batch) -> Tensor:
        """Look the words up as the network does."""
        return self.model.words(batch)


class StartingVectors(NamedTuple):
    """Vectors of some words of a vocabulary, from which training starts."""

    places: Array  # [n] in the vocabulary
    values: Array  # [n, E]

    def copy_into(self, module: nn.Module) -> None:
        """Start the words that have vectors from them wherever words are embedded; others keep what was drawn."""
        for part in module.modules():
            embedding = getattr(part, "embedding", None)
            if not isinstance(embedding, nn.Embedding):
                continue
            if embedding.weight.shape[1] != self.values.shape[1]:
                found = f"{self.values.shape[1]} numbers a word"
                expected = f"word vectors of {embedding.weight.shape[1]} numbers for this network"
                raise FileFormatError(expected, found, "leave --words out, or give others")
            with torch.no_grad():
                embedding.weight[torch.from_numpy(self.places)] = torch.from_numpy(self.values)
