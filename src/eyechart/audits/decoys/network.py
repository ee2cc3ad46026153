"""The scorer of the paper, a network with one hidden layer, for those who have torch.

    f(c, i) = sigmoid(U max(0, W g(c, i)) + b)                                                            (Eq. 1)

learned by the binary logistic loss. Here g are the same sparse features as those of the logistic regression, and the
hidden layer is small; in the paper g are means of word vectors and ResNet features, and it has 8,192 units.
"""

import numpy as np

from eyechart.audits.decoys.features import Matrix
from eyechart.audits.decoys.lessons import Flags, Floats
from eyechart.errors import MissingExtraError

HIDDEN = 64
EPOCHS = 8
BATCH = 256
RATE = 3e-3


def mlp(known: Matrix, target: Flags, asked: Matrix) -> Floats:
    """Learn the network of Eq. 1 and give the log-odds of what is asked."""
    try:
        import torch
    except ModuleNotFoundError:
        advice = "pip install 'eyechart[torch]', or take the scorer 'logistic'"
        raise MissingExtraError("torch for the scorer 'mlp'", "none", advice) from None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first = torch.nn.EmbeddingBag(known.shape[1], HIDDEN, mode="sum")  # W g for sparse g
        last = torch.nn.Linear(HIDDEN, 1)  # U and b
        torch.nn.init.normal_(first.weight, std=0.05)
        wanted = torch.from_numpy(target.astype(np.float32))
        learner = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=RATE)
        for _ in range(EPOCHS):
            order = torch.randperm(known.shape[0])
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                odds = last(torch.relu(first(*_bags(known[rows.numpy()])))).squeeze(1)  # Eq. 1
                loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, wanted[rows])
                learner.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                learner.step()
        with torch.no_grad():
            odds = last(torch.relu(first(*_bags(asked)))).squeeze(1)
        return np.asarray(odds.numpy(), dtype=np.float64)


def _bags(rows: Matrix) -> tuple[object, object, object]:
    """Hand over the columns, where each row begins, and the weights."""
    import torch

    columns, starts = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indices, rows.indptr[:-1]))
    return columns, starts, torch.from_numpy(rows.data.astype(np.float32))
