"""A step that is traced and compiled gives what the same step gives otherwise."""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from shutil import which

import pytest
import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import RepeatedBlock
from eyechart.zoo.methods import METHODS, make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.train import compiling
from eyechart.zoo.train.compiling import (
    Compiler,
    Traced,
    compiled_forward,
    differentiate_by_blocks,
    held_tensors,
    plain_recurrence,
    take_out_constants,
    trace,
)
from eyechart.zoo.train.step import TrainingStep, differentiate, trainable
from unit.zoo.toy import SMALL, Toy, assert_equal_in_double, in_double

ROWS = torch.arange(4)
DRAWS = 12  # steps after which every kind of a method has come up
LEARNING = [name for name in SMALL if name not in {"prior", "majority"}]  # these count, and are not differentiated
needs_compiler = pytest.mark.skipif(which("g++") is None, reason="torch compiles for a CPU by g++, which is not here")


def of_torch(test: Callable[..., None]) -> Callable[..., None]:
    """Pass over what torch's compiler does in spite of its own warnings."""
    for warning in ("`torch.jit:DeprecationWarning", "The .grad attribute of a Tensor:UserWarning"):
        test = pytest.mark.filterwarnings(f"ignore:{warning}")(test)
    return test


class Always:
    """Stand for a loader: give the same examples, in the order of their numbers."""

    def __init__(self, batch: Batch) -> None:
        self.held = batch

    def batch(self, rows: Tensor) -> Batch:
        return self.held.to(v=self.held.v[rows])


@pytest.fixture
def double(batch: Batch) -> Batch:
    """Give the batch in double: what is compiled may add up in another order."""
    return in_double(batch)


def step_of(model: nn.Module, method: str, batch: Batch) -> TrainingStep:
    """Let a method teach a model, in the precision of the batch."""
    step = TrainingStep(model, make_method(method, model), None, Always(batch), nullcontext)
    return step.to(batch.v.dtype).train()


def assert_traced_as_taken(step: TrainingStep) -> None:
    """Compare losses, gradients and what the step changes, to the last bit, where both draw the same numbers."""
    traced, copies = trace(step, ROWS), [each.clone() for each in held_tensors(step)]
    torch.manual_seed(3)
    loss, *gradients = traced(ROWS, *copies)
    torch.manual_seed(3)

    with plain_recurrence():
        assert torch.equal(loss, differentiate(step, ROWS))
    for weight, gradient in zip(trainable(step), gradients, strict=True):
        assert (weight.grad is None) == (gradient is None)
        assert gradient is None or torch.equal(weight.grad, gradient)
    assert all(torch.equal(*pair) for pair in zip(copies, held_tensors(step), strict=True))


@pytest.mark.parametrize("method", [*METHODS.names(), "lmh+css", "lmh+rmfe", "plain@1,hint"])
def test_every_kind_of_step_is_traced_as_it_is_taken(method: str, sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    step = step_of(Toy(sizes), method, batch)
    step.debias.begin_epoch(0)
    kinds = set()
    for _ in range(DRAWS):
        kind = step.debias.begin_step()
        if kind not in kinds:
            assert_traced_as_taken(step)
        kinds.add(kind)

    assert len(kinds) == (2 if "css" in method else 1)


@pytest.mark.parametrize("model", LEARNING)
def test_second_derivatives_of_every_network_are_traced(model: str, sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    step = step_of(make_network(model, sizes), "hint", batch)
    step.debias.begin_step()

    assert_traced_as_taken(step)


def test_tracing_changes_nothing(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    step = step_of(make_network("updn2", sizes), "lff", batch)
    before = [each.clone() for each in held_tensors(step)]
    trace(step, ROWS)

    assert all(torch.equal(*pair) for pair in zip(before, held_tensors(step), strict=True))
    assert all(weight.grad is None for weight in trainable(step))


@of_torch
@needs_compiler
def test_compiled_gradients_are_those_of_the_step_and_serve_other_weights(sizes: NetworkSizes, double: Batch) -> None:
    compiler = Compiler()
    for seed in (0, 1):
        torch.manual_seed(seed)
        step = step_of(Toy(sizes), "hint", double)
        loss = compiler.differentiate(step, ROWS, None)
        compiled = [weight.grad.clone() for weight in trainable(step)]

        assert_equal_in_double(loss, differentiate(step, ROWS))
        for weight, gradient in zip(trainable(step), compiled, strict=True):
            assert_equal_in_double(weight.grad, gradient)
    assert [type(run) for run in compiler._by_kind.values()] == [Traced]


def test_a_trace_holds_no_features(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    step = step_of(Toy(sizes), "hint", batch)
    traced = trace(step, ROWS)
    constants = take_out_constants(traced)

    assert any(each is batch.v for each in constants)
    assert all(node.op != "get_attr" for node in traced.graph.nodes)
    loss, *_ = traced(ROWS, *held_tensors(step), *constants)
    assert torch.equal(loss, differentiate(step, ROWS))


@of_torch
@needs_compiler
def test_a_step_that_was_compiled_before_is_found_again(sizes: NetworkSizes, double: Batch) -> None:
    from torch._dynamo.utils import counters

    for seed in (0, 1):
        counters.clear()
        torch.manual_seed(seed)
        step = step_of(Toy(sizes), "hint", double)
        loss = Compiler().differentiate(step, ROWS, None)
    assert counters["inductor"]["fxgraph_cache_hit"] == 1
    assert not counters["inductor"]["fxgraph_cache_bypass"]
    assert_equal_in_double(loss, differentiate(step, ROWS))


class Recurrent(Network):
    """Read the first two words one after the other."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.read, self.head = nn.LSTM(sizes.embedding, 3, batch_first=True), nn.Linear(3, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        return Out(self.head(self.read(self.words(batch)[:, :2])[0][:, -1]))


@of_torch
@needs_compiler
def test_recurrent_layers_are_compiled_in_whole_steps(sizes: NetworkSizes, double: Batch) -> None:
    torch.manual_seed(0)
    compiler, step = Compiler(), step_of(Recurrent(sizes), "plain", double)
    loss = compiler.differentiate(step, ROWS, None)
    compiled = [weight.grad.clone() for weight in trainable(step)]

    assert_equal_in_double(loss, differentiate(step, ROWS))
    for weight, gradient in zip(trainable(step), compiled, strict=True):
        assert_equal_in_double(weight.grad, gradient)
    assert isinstance(compiler._by_kind[None], Traced)


class Gated(Network):
    """Read a word by the kernel of a GRU that only GPUs have: run as it is, it fails here."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.read, self.head = nn.Linear(sizes.embedding, 9), nn.Linear(3, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        gates = self.read(self.words(batch)[:, 0])
        return Out(self.head(torch.ops.aten._thnn_fused_gru_cell(gates, gates, batch.v.sum(1)[:, :3])[0]))


@pytest.mark.parametrize("method", ["plain", "rmfe"])
def test_kernels_that_the_compiler_does_not_know_are_traced_as_plain_operations(
    method: str, sizes: NetworkSizes, batch: Batch
) -> None:
    torch.manual_seed(0)
    step = step_of(Gated(sizes), method, batch)
    step.debias.begin_step()

    assert not any("gru" in str(node.target) for node in trace(step, ROWS).graph.nodes)


@of_torch
@needs_compiler
def test_steps_that_swap_pictures_are_compiled(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    compiler, step = Compiler(), step_of(Toy(sizes), "ssl", batch)
    losses = [compiler.differentiate(step, ROWS, None) for _ in range(2)]
    torch.manual_seed(1)
    again = [Compiler().differentiate(step, ROWS, None)]
    torch.manual_seed(1)
    again.append(compiler.differentiate(step, ROWS, None))

    assert isinstance(compiler._by_kind[None], Traced)
    assert losses[0] != losses[1]  # the order is drawn anew
    assert again[0] == again[1]  # and by the same numbers, compiled before or not


class Halved(Network):
    """Hold a matrix as the sum of two, which have the same gradient."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.one, self.other = (nn.Parameter(torch.randn(sizes.answers, sizes.embedding)) for _ in range(2))

    def forward(self, batch: Batch) -> Out:
        return Out(self.words(batch).sum(1) @ (self.one + self.other).T)


@of_torch
@needs_compiler
def test_equal_gradients_are_clipped_once(sizes: NetworkSizes, double: Batch) -> None:
    torch.manual_seed(0)
    step = step_of(Halved(sizes), "plain", double)
    Compiler().differentiate(step, ROWS, None)
    nn.utils.clip_grad_norm_(trainable(step), 0.25)
    compiled = [weight.grad.clone() for weight in trainable(step)]
    differentiate(step, ROWS)
    nn.utils.clip_grad_norm_(trainable(step), 0.25)

    assert torch.equal(step.model.one.grad, step.model.other.grad)
    for weight, gradient in zip(trainable(step), compiled, strict=True):
        assert_equal_in_double(weight.grad, gradient)


class Twofold(RepeatedBlock):
    """Change words, and tell how."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.widen, self.narrow, self.norm = nn.Linear(size, 2 * size), nn.Linear(2 * size, size), nn.LayerNorm(size)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        change = self.narrow(self.widen(x).relu())
        return self.norm(x + change), change


class Stacked(Network):
    """Run two blocks one after the other, over words and regions."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.one, self.other = (Twofold(sizes.embedding) for _ in range(2))
        self.see, self.head = nn.Linear(sizes.features, sizes.embedding), nn.Linear(sizes.embedding, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        seen = self.see(batch.v).sum(1, keepdim=True)
        changed, change = self.other(self.one(self.words(batch) + seen)[0])
        return Out(self.head((changed + change).sum(1)))


@of_torch
@needs_compiler
@pytest.mark.parametrize("method", ["lff", "css"])  # the one has a network of its own, the other goes back twice
def test_a_network_of_blocks_has_them_compiled(method: str, sizes: NetworkSizes, double: Batch) -> None:
    compiler = Compiler()
    for seed in (0, 1):
        torch.manual_seed(seed)
        step = step_of(Stacked(sizes), method, double)
        loss = compiler.differentiate(step, ROWS, None)
        compiled = [weight.grad.clone() for weight in trainable(step)]

        assert not any("forward" in vars(module) for module in step.modules())
        torch.manual_seed(seed)
        assert_equal_in_double(loss, differentiate(step_of(Stacked(sizes), method, double), ROWS))
        differentiate(step, ROWS)
        for weight, gradient in zip(trainable(step), compiled, strict=True):
            assert_equal_in_double(weight.grad, gradient)
    assert compiler._by_kind == {None: differentiate_by_blocks}


@of_torch
@needs_compiler
def test_steps_that_differentiate_blocks_twice_are_traced(sizes: NetworkSizes, double: Batch) -> None:
    torch.manual_seed(0)
    compiler, step = Compiler(), step_of(Stacked(sizes), "plain@1,hint", double)
    for epoch in (0, 1):
        step.debias.begin_epoch(epoch)
        loss = compiler.differentiate(step, ROWS, step.debias.begin_step())

        assert_equal_in_double(loss, differentiate(step, ROWS))
    by_blocks, traced = compiler._by_kind.values()
    assert by_blocks is differentiate_by_blocks
    assert isinstance(traced, Traced)


@of_torch
@pytest.mark.parametrize("model", ["mcan", "ban", "mac"])
def test_blocks_of_networks_are_compiled_whole(
    model: str, sizes: NetworkSizes, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def captured(kind: type[RepeatedBlock]) -> object:
        kinds.append(kind)
        return torch.compile(kind.forward, backend="eager", fullgraph=True)  # which fails where it is cut

    kinds: list[type[RepeatedBlock]] = []
    monkeypatch.setattr(compiling, compiled_forward.__name__, captured)
    torch.manual_seed(0)
    step = step_of(make_network(model, sizes), "plain", batch)
    torch.manual_seed(1)
    loss = differentiate_by_blocks(step, ROWS)
    torch.manual_seed(1)

    assert torch.equal(loss, differentiate(step, ROWS))
    assert kinds


@pytest.mark.parametrize("method", [*METHODS.names(), "lmh+css", "lmh+rmfe", "rmfe+css", "plain@1,hint"])
def test_methods_say_whether_they_differentiate_twice(
    method: str, sizes: NetworkSizes, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watched(*given: object, create_graph: bool = False, **named: object) -> object:
        seen.append(create_graph)
        return original(*given, create_graph=create_graph, **named)

    seen: list[bool] = []
    original = torch.autograd.grad
    monkeypatch.setattr(torch.autograd, "grad", watched)
    torch.manual_seed(0)
    step = step_of(Toy(sizes), method, batch)
    for epoch in (0, 1):
        seen.clear()
        step.debias.begin_epoch(epoch)
        step.debias.begin_step()
        differentiate(step, ROWS)

        assert step.debias.twice == any(seen)


@pytest.mark.parametrize("place", ["trace", "_store"])  # it fails to be traced, or to run once it is compiled
@of_torch
@needs_compiler
def test_a_step_that_cannot_be_compiled_is_taken_as_it_is(
    place: str, sizes: NetworkSizes, batch: Batch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such operation")

    torch.manual_seed(0)
    step = step_of(Toy(sizes), "plain", batch)
    wanted = differentiate(step, ROWS)
    monkeypatch.setattr(compiling, place, fail)
    compiler = Compiler()
    with caplog.at_level(logging.WARNING, "eyechart.zoo"):
        losses = [compiler.differentiate(step, ROWS, None) for _ in range(2)]

    assert losses == [wanted, wanted]
    assert caplog.text.count("no such operation") == 1
