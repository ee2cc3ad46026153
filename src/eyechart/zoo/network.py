"""The interface of the zoo's networks: sizes, a training recipe, word vectors, and one way to call them."""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from eyechart.base.errors import FileFormatError
from eyechart.zoo.arrays import Array
from eyechart.zoo.batch import Batch, Out


class NetworkSizes(NamedTuple):
    """The sizes of a network; all but `hidden` and `embedding` follow from the data."""

    words: int  # including 0 for "no word"
    answers: int
    features: int
    hidden: int = 1024
    embedding: int = 300
    types: int = 1  # of questions, for the prior
    examples: int = 0  # in training, for methods that remember each example


class TrainingRecipe(NamedTuple):
    """The authors' way of training a network, used as the defaults of a training."""

    optimizer: str = "adamax"  # or adam
    rate: float = 2e-3
    batch: int = 512
    epochs: int = 13
    hidden: int = 1024
    warmup: int = 0  # epochs over which the rate rises to its full height


class Network(nn.Module):
    """Answer batches; `q_size` is None if there is no vector of the question alone."""

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
        """Look up the word vectors, [B, T, E], unless they are given."""
        vectors: Tensor = self.embedding(batch.q) if batch.w is None else batch.w
        return vectors

    @torch.no_grad()
    def chances(self, batch: Batch) -> Tensor:
        """Return the probability of each answer, sigma(s), [B, A]: the bias that a frozen network provides."""
        was_training = self.training
        logits: Tensor = self.eval()(batch).logits
        self.train(was_training)
        return logits.sigmoid()


class CachedNetwork(Network):
    """Wrap a network that has answered a batch, and return the cached output when it sees the same batch again.

    This way a method and its base method share a forward pass, with one draw of dropout, as in the CSS authors' code.
    """

    def __init__(self, model: Network, batch: Batch) -> None:
        nn.Module.__init__(self)  # it has no own weights
        self.model, self.batch = model, batch
        self.out: Out = model(batch)

    def forward(self, batch: Batch) -> Out:
        """Answer as the network does."""
        out: Out = self.out if batch.shows_the_same(self.batch) else self.model(batch)
        return out

    def words(self, batch: Batch) -> Tensor:
        """Look up the word vectors as the network does."""
        return self.model.words(batch)


class StartingVectors(NamedTuple):
    """Vectors of some words of a vocabulary, from which training starts."""

    places: Array  # [n] indices into the vocabulary
    values: Array  # [n, E]

    def copy_into(self, module: nn.Module) -> None:
        """Initialise every word embedding with the vectors; words without one keep their random vectors."""
        for part in module.modules():
            embedding = getattr(part, "embedding", None)
            if not isinstance(embedding, nn.Embedding):
                continue
            if embedding.weight.shape[1] != self.values.shape[1]:
                found = f"{self.values.shape[1]} numbers per word"
                expected = f"word vectors of {embedding.weight.shape[1]} numbers for this network"
                raise FileFormatError(expected, found, "leave --words out, or give others")
            with torch.no_grad():
                embedding.weight[torch.from_numpy(self.places)] = torch.from_numpy(self.values)
