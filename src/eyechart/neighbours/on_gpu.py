"""Exact nearest vectors by torch, on a GPU where there is one; needs NumPy and torch only."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 2**28  # similarities: 1 GB of them


class Found(NamedTuple):
    """The highest similarities of each row, and whose they are."""

    alike: NDArray[np.float32]
    places: NDArray[np.int64]


def torch_with_gpu() -> Any:  # noqa: ANN401 - torch is not a dependency
    """Import torch where it is installed and sees a GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def search_gpu(torch: Any, vectors: NDArray[np.float32], k: int) -> Found:  # noqa: ANN401 - as above
    """Multiply blocks of the vectors with all of them and keep the k highest of each, the row itself among them."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    all_of_them = torch.from_numpy(vectors).to(device)
    blocks = all_of_them.split(max(1, AT_ONCE // len(vectors)))
    found = [torch.topk(block @ all_of_them.T, k) for block in blocks]
    return Found(*(torch.cat(parts).cpu().numpy() for parts in zip(*found, strict=True)))
