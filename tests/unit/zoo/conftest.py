"""A small batch with every field, for networks of small sizes; without torch nothing here is collected."""

import os
from importlib.util import find_spec

import pytest

# Torch compiles here to see what comes out, not how fast: without vectors, and processes to share it, that takes less.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]

if HAS_TORCH:
    import torch

    from eyechart.zoo.batch import Batch
    from eyechart.zoo.network import NetworkSizes
    from unit.zoo.toy import Case, Toy, case_of, in_double

    torch.set_num_threads(1)  # the tensors of these tests are too small to share out


@pytest.fixture
def sizes() -> "NetworkSizes":
    return NetworkSizes(words=20, answers=7, features=5, hidden=16, embedding=6, types=3, examples=8)


@pytest.fixture
def batch(sizes: "NetworkSizes") -> "Batch":
    """Four examples of six words and five regions, some of each out of sight, and as many options as answers."""
    draw = torch.Generator().manual_seed(7)
    q = torch.randint(1, sizes.words, (4, 6), generator=draw)
    q[0, 4:] = 0
    v_mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 1, 1, 1, 0], [1, 1, 0, 1, 1]]).bool()
    a = torch.rand(4, sizes.answers, generator=draw).round(decimals=1) * (torch.arange(sizes.answers) % 2)
    return Batch(
        q=q,
        v=torch.randn(4, 5, sizes.features, generator=draw),
        boxes=torch.rand(4, 5, 4, generator=draw),
        v_mask=v_mask,
        a=a.clamp(0, 1),
        cand=torch.randint(1, sizes.words, (4, sizes.answers, 3), generator=draw),
        bias=torch.rand(4, sizes.answers, generator=draw),
        hints=torch.rand(4, 5, generator=draw),
        qmask=(q != 0) & (torch.arange(6) > 1),
        index=torch.tensor([5, 0, 3, 7]),
        qtype=torch.tensor([0, 2, 2, 1]),
        program=torch.tensor([[0, 3, 0], [1, 4, 0], [4, 5, 6], [5, 7, 8]]),
    )


@pytest.fixture
def case(sizes: "NetworkSizes", batch: "Batch") -> "Case":
    """Give a network whose values are known, and the batch, in double."""
    torch.manual_seed(0)
    return case_of(Toy(sizes).double(), in_double(batch))
