"""Each loss is its equation, written out in NumPy."""

import numpy as np
import pytest
import torch
from torch import nn

from eyechart.base.errors import SettingError
from eyechart.zoo.batch import Batch, Out, sample_answers, swap_pictures
from eyechart.zoo.methods import make_method
from eyechart.zoo.methods.css import CSS, critical_regions, hide_words
from eyechart.zoo.methods.hint import violations
from eyechart.zoo.network import NetworkSizes
from unit.zoo.toy import Case, Toy, case_of, ce_each, known, sigma, softmax, with_many_regions


def bce_each(s: np.ndarray, a: np.ndarray) -> np.ndarray:
    return -(a * np.log(sigma(s)) + (1 - a) * np.log(1 - sigma(s)))


def bce(s: np.ndarray, a: np.ndarray) -> float:
    return float(bce_each(s, a).sum(1).mean())


def linear(layer: torch.nn.Linear, x: np.ndarray) -> np.ndarray:
    return x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()


def perceptron(layers: torch.nn.Sequential, x: np.ndarray) -> np.ndarray:
    for place in (0, 2):
        x = np.maximum(linear(layers[place], x), 0)
    return linear(layers[4], x)


def test_plain_losses(case: Case) -> None:
    at = case.arrays

    assert case.loss("plain")[0] == pytest.approx(bce(at.s, at.a))
    assert case.loss("plain-ce")[0] == pytest.approx(ce_each(at.s, at.y).mean())


def test_reweight(case: Case) -> None:
    at = case.arrays
    expected = ((1 - at.bias) * bce_each(at.s, at.a)).sum() / (1 - at.bias).sum()

    assert case.loss("reweight")[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "weight", "gated"),
    [("bias-product", 0, False), ("lm", 0, True), ("lmh", 0.36, True), ("lmh-v", 0.36, True)],
)
def test_lmh_and_its_family(case: Case, name: str, weight: float, *, gated: bool) -> None:
    loss, method = case.loss(name)
    at, kappa = case.arrays, sigma(-1.0)
    h = (at.v * at.seen[..., None]).sum(1)
    g = np.log1p(np.exp(linear(method.gate, h))) if gated else 1.0
    d = g * (np.log(at.bias + kappa) - np.log(1 - at.bias + kappa))
    p = sigma(d)
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()

    assert loss == pytest.approx(bce(at.s + d, at.a) + weight * entropy)


def test_rubi(case: Case) -> None:
    loss, method = case.loss("rubi")
    at = case.arrays
    z = perceptron(method.mask.classify, at.w.sum(1))
    expected = ce_each(at.s * sigma(z), at.y) + ce_each(linear(method.classify, z), at.y)

    assert loss == pytest.approx(expected.mean())


@pytest.mark.parametrize(("name", "gamma"), [("lpf", 1), ("lpf-5", 5)])
def test_lpf(case: Case, name: str, gamma: int) -> None:
    loss, method = case.loss(name)
    at = case.arrays
    z = perceptron(method.branch.classify, at.w.sum(1))
    p = softmax(z)[np.arange(4), at.y]

    assert loss == pytest.approx(((1 - p) ** gamma * ce_each(at.s, at.y) + ce_each(z, at.y)).mean())


def test_cfvqa(case: Case) -> None:
    _, method = case.loss("cf-vqa")
    method.constant.data.fill_(0.3)
    at = case.arrays
    z_q = perceptron(method.of_question.classify, at.w.sum(1))
    z_v = perceptron(method.of_image, (at.v * at.seen[..., None]).sum(1) / at.seen.sum(1, keepdims=True))
    total, direct = np.log(sigma(at.s + z_q + z_v)), np.log(sigma(0.3 + z_q + 0.3))
    branches = ce_each(linear(method.question_head, z_q), at.y) + ce_each(linear(method.image_head, z_v), at.y)
    matching = -(softmax(total) * np.log(softmax(direct))).sum(1)
    loss = method(case.toy, case.batch)
    loss.backward()

    assert float(loss.detach()) == pytest.approx((ce_each(total, at.y) + branches + matching).mean())
    np.testing.assert_allclose(method.predict(case.toy, case.batch).detach(), total - direct)
    slope = (softmax(direct) - softmax(total)) * 2 * (1 - sigma(z_q + 0.6))  # of the last term, at c
    assert float(method.constant.grad) == pytest.approx(slope.sum(1).mean())


def test_lff_over_several_steps(case: Case) -> None:
    method = make_method("lff", case.toy).double()
    twin, at = known(method.twin), case.arrays
    memory = {"twin": np.zeros(8), "model": np.zeros(8)}
    classes, visited = np.zeros(8, dtype=int), set()
    biased = twin.s(at.v, at.seen, twin.vectors[at.q])
    for index in ([5, 0, 3, 7], [7, 5, 1, 3], [3, 7, 5, 2]):  # so that some are there for the first time and others not
        losses = {"twin": ce_each(biased, at.y), "model": ce_each(at.s, at.y)}
        ratios = {}
        classes[index] = at.y
        for who, remembered in memory.items():
            again = np.array([i in visited for i in index])
            remembered[index] = np.where(again, 0.7 * remembered[index] + 0.3 * losses[who], losses[who])
            largest = [max(remembered[i] for i in {*visited, *index} if classes[i] == y) for y in at.y]
            ratios[who] = remembered[index] / largest
        visited |= set(index)
        weight = ratios["twin"] / (ratios["twin"] + ratios["model"])
        p = softmax(biased)[np.arange(4), at.y]
        expected = (0.7 * p**0.7 * losses["twin"] + weight * losses["model"]).mean()
        loss = method(case.toy, case.batch.to(index=torch.tensor(index)))

        assert float(loss.detach()) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["plain-ce", "rubi", "lpf", "lff", "cf-vqa", "scr", "plain-ce+css-labels"])
def test_an_example_without_an_answer_teaches_no_answer(case: Case, name: str) -> None:
    def weight_of(a: torch.Tensor, answer: int) -> float:
        """Say how much the loss asks for an answer to the first example, by the slope of a network's own logits."""
        free = torch.zeros(len(a), a.shape[1], dtype=a.dtype, requires_grad=True)

        class Said(Toy):
            def forward(self, batch: Batch) -> Out:
                out = super().forward(batch)
                return out._replace(logits=out.logits + free)

        torch.manual_seed(1)
        toy = Said(case.toy.sizes).double()
        method = make_method(name, toy).double()
        method.begin_step()
        method(toy, case.batch.to(a=a)).backward()
        assert free.grad is not None
        return -float(free.grad[0, answer])

    nothing, first = case.batch.a.clone(), case.batch.a.clone()
    nothing[0], first[0] = 0, 0
    first[0, 0] = 1  # answer 0, the most frequent one

    assert weight_of(first, 0) > 0
    assert weight_of(nothing, 0) <= 0


def test_lff_asks_how_many_examples_there_are(sizes: NetworkSizes) -> None:
    with pytest.raises(SettingError, match="number of training examples"):
        make_method("lff", Toy(sizes._replace(examples=0)))


def elsewhere(case: Case) -> np.ndarray:
    """Score the pictures as the method swapped them."""
    torch.manual_seed(2)
    swapped = swap_pictures(case.batch)
    return case.known.s(swapped.v.numpy(), swapped.v_mask.numpy().astype(float), case.arrays.w)


def test_ssl(case: Case) -> None:
    at = case.arrays
    expected = bce(at.s, at.a) + 3 * softmax(elsewhere(case))[np.arange(4), at.y].mean()

    assert case.loss("ssl")[0] == pytest.approx(expected)


def test_randimg(case: Case) -> None:
    at = case.arrays
    pushed = (np.log1p(np.exp(elsewhere(case))) * (at.a > 0)).sum(1).mean()

    assert case.loss("randimg")[0] == pytest.approx(bce(at.s, at.a) + pushed)


def without_top_answers(s: np.ndarray, a: np.ndarray) -> np.ndarray:
    labels = a.copy()
    for row, scores in enumerate(s):
        labels[row, np.argsort(-scores)[:5]] = 0
    return labels


@pytest.mark.parametrize(("name", "edits"), [("css", True), ("css-labels", False)])
def test_css_with_words(case: Case, name: str, *, edits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.zoo.methods.css.WORDS_SHARE", 1.0)
    at, vectors = case.arrays, case.known.vectors
    critical = at.qmask & (at.qmask.cumsum(1) == 1)  # the first that may be: the gradient is equal at all words
    alone = np.where(at.qmask & ~critical, 0, at.q)
    labels = without_top_answers(case.known.s(at.v, at.seen, vectors[alone]), at.a)
    shown = vectors[np.where(critical, 0, at.q)] if edits else at.w
    expected = bce(at.s, at.a) + bce(case.known.s(at.v, at.seen, shown), labels)

    assert case.loss(name)[0] == pytest.approx(expected)


def test_the_critical_word_is_the_one_of_highest_gradient(case: Case) -> None:
    g, may_be, q = np.random.default_rng(0).standard_normal((4, 6)), case.arrays.qmask, case.arrays.q
    critical = np.zeros((4, 6), dtype=bool)
    for row in range(4):
        critical[row, max(np.flatnonzero(may_be[row]), key=lambda place: g[row, place])] = True
    alone, without = hide_words(torch.tensor(g), case.batch)

    assert (g.argmax(1) != critical.argmax(1)).any()  # in some question the highest of all may not be critical
    np.testing.assert_array_equal(alone.q, np.where(may_be & ~critical, 0, q))
    np.testing.assert_array_equal(without.q, np.where(critical, 0, q))


def test_words_are_hidden_in_about_half_of_the_steps(case: Case) -> None:
    method, hidden = case.method("css"), 0
    for _ in range(1000):
        method.begin_step()
        hidden += method.hides_words

    assert hidden == pytest.approx(500, abs=50)


def critical_by_hand(g: np.ndarray, hints: np.ndarray, seen: np.ndarray, *, as_in_code: bool) -> np.ndarray:
    kept = np.zeros(g.shape, dtype=bool)
    for row in range(len(g)):
        sight = np.flatnonzero(seen[row])
        by_hint = sight[np.argsort(-hints[row, sight])][:9]
        by_gradient = by_hint[np.argsort(-g[row, by_hint])]
        powers = np.exp(10 * (g[row, by_gradient] - g[row, by_gradient].max()))
        mass = np.cumsum(powers / powers.sum())
        many = max(1, int((mass <= 0.65).sum()))
        kept[row, (by_hint if as_in_code else by_gradient)[:many]] = True
    return kept


@pytest.mark.parametrize("as_in_code", [False, True])
@pytest.mark.parametrize(("name", "edits"), [("css", True), ("css-labels", False)])
def test_css_with_regions(
    case: Case, name: str, *, edits: bool, as_in_code: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eyechart.zoo.methods.css.WORDS_SHARE", 0.0)
    monkeypatch.setattr(CSS, "as_in_code", as_in_code)
    at = case.arrays
    critical = critical_by_hand(at.g, at.hints, at.seen, as_in_code=as_in_code)
    labels = without_top_answers(case.known.s(at.v, critical.astype(float), at.w), at.a)
    shown = at.seen * ~critical if edits else at.seen
    expected = bce(at.s, at.a) + bce(case.known.s(at.v, shown, at.w), labels)

    assert case.loss(name)[0] == pytest.approx(expected)


@pytest.mark.parametrize("as_in_code", [False, True])
def test_critical_regions_among_many(case: Case, *, as_in_code: bool) -> None:
    case = with_many_regions(case)
    g = np.random.default_rng(0).normal(0, 0.1, (4, 12))  # so that no region has most of the mass
    chosen = critical_regions(torch.tensor(g), case.batch, as_in_code=as_in_code)
    expected = critical_by_hand(g, case.arrays.hints, case.arrays.seen, as_in_code=as_in_code)

    assert expected.sum(1).min() > 1
    np.testing.assert_array_equal(chosen, expected)


def test_critical_regions_may_be_several(case: Case) -> None:
    level = torch.full((4, 5), 0.2).double()
    chosen = critical_regions(level, case.batch, as_in_code=False)

    assert chosen.sum(1).tolist() == [3, 1, 1, 2]  # of 5, 3, 3 and 4 in sight, up to 0.65
    assert not (chosen & ~case.batch.v_mask).any()


def test_a_question_of_type_words_alone_has_no_critical_word(case: Case) -> None:
    alone, without = hide_words(torch.ones(4, 6), case.batch.to(qmask=torch.zeros_like(case.batch.qmask)))

    assert torch.equal(alone.q, case.batch.q)
    assert torch.equal(without.q, case.batch.q)


def violation(case: Case, row: int, i: int, j: int, h: np.ndarray) -> float:
    """Say by how much region j exceeds the more important i."""
    at = case.arrays
    counts = at.seen[row, i] and at.seen[row, j] and h[row, i] > h[row, j]
    return max(0.0, at.g[row, j] - at.g[row, i]) if counts else 0.0


@pytest.mark.parametrize("name", ["hint", "hint-inverse", "hint-random"])
def test_hint(case: Case, name: str) -> None:
    at = case.arrays
    torch.manual_seed(2)
    by_lot = torch.rand_like(case.batch.hints).numpy()
    h = {"hint": at.hints, "hint-inverse": 1 - at.hints, "hint-random": by_lot}[name]
    columns = [sum(violation(case, row, i, j, h) for i in range(5)) for row in range(4) for j in range(5)]

    assert case.loss(name)[0] == pytest.approx(bce(at.s, at.a) + 2 * np.mean(columns))


@pytest.mark.parametrize("marked", ["all", "few", "many"])
def test_scr(case: Case, marked: str) -> None:
    if marked == "few":  # in one example nobody marked any region, in another one alone
        hints = case.batch.hints.clone()
        hints[0], hints[1, 1:] = 0, 0
        case = case_of(case.toy, case.batch.to(hints=hints))
    if marked == "many":
        case = with_many_regions(case)
    at, slopes = case.arrays, case.known.slopes(case.arrays.v, case.arrays.seen)
    wrong, compared = [], []
    for row in range(4):
        ranked = [n for n in np.argsort(-at.hints[row]) if at.seen[row, n] and at.hints[row, n] > 0][:5]
        if not ranked:
            wrong.append(0.0)
            compared += [0.0] * 4
            continue
        sums = {n: sum(violation(case, row, n, j, at.hints) for j in range(at.v.shape[1])) for n in ranked}
        best = min(sums, key=sums.__getitem__)
        wrong.append(sums[best])
        p_right = sigma(at.s[row, at.y[row]])
        for rival in np.argsort(-at.s[row])[:4]:
            more = max(0.0, sigma(at.s[row, rival]) - p_right)
            compared.append(more * (slopes[row, best, rival] - at.g[row, best]))
    expected = bce(at.s, at.a) + 3 * np.mean(wrong) + 1000 * np.mean(compared)

    assert case.loss("scr")[0] == pytest.approx(expected)


def test_scr_is_differentiated_as_if_each_rival_had_its_own_gradient(case: Case) -> None:
    def one_by_one() -> torch.Tensor:
        v, a = case.batch.v.detach().requires_grad_(), case.batch.a
        s = case.toy(case.batch.to(v=v)).logits
        of_right = slope((s * (a > 0)).sum(), v)
        ordered = violations(of_right, case.batch.hints, case.batch.v_mask).sum(2)
        order = np.argsort(-np.where(at.seen, at.hints, -1))  # of equal ones the first is the least
        least = np.where(at.seen, ordered.detach().numpy(), np.inf)[np.arange(4)[:, None], order].argmin(1)
        best = order[range(4), least]
        p = s.sigmoid()
        p_right = p[range(4), at.y]
        terms = []
        for rival in s.topk(4, 1).indices.T:
            more = (p[range(4), rival] - p_right).relu()
            terms.append(more * (slope(s[range(4), rival].sum(), v) - of_right)[range(4), best])
        loss = nn.functional.binary_cross_entropy_with_logits(s, a, reduction="sum") / 4
        return loss + 3 * ordered[range(4), best].mean() + 1000 * torch.stack(terms).mean()

    def slope(score: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(score, v, create_graph=True)[0].sum(-1)

    at, weights = case.arrays, (case.toy.of_regions, case.toy.of_words)
    method = make_method("scr", case.toy).double()
    found = torch.autograd.grad(method(case.toy, case.batch), weights)
    for gradient, expected in zip(found, torch.autograd.grad(one_by_one(), weights), strict=True):
        torch.testing.assert_close(gradient, expected)


PASSES = {"hint": 1, "scr": 1, "visfis": 3, "css": 3, "css-labels": 2, "rmfe": 2, "lmh+css": 3, "lmh+rmfe": 2}


@pytest.mark.parametrize("name", PASSES)
def test_a_method_and_its_base_share_passes(case: Case, name: str) -> None:
    shown: list[None] = []
    case.toy.register_forward_hook(lambda *_: shown.append(None))
    case.loss(name)

    assert len(shown) == PASSES[name]


def test_visfis(case: Case) -> None:
    hints = case.batch.hints.clone()
    hints[0, :2] = torch.tensor([0.305, 0.295])  # the first is important, the second is not
    case = case_of(case.toy, case.batch.to(hints=hints))
    at = case.arrays
    important = (at.hints > 0.3) & (at.seen > 0)
    total = 0.0
    shown = np.where(important[..., None], at.v, -1.0)
    others = np.where(important[..., None], -1.0, at.v)
    s_imp, s_non = (case.known.s(v, at.seen, at.w) for v in (shown, others))
    for row in range(4):
        g, h = at.g[row], at.hints[row] * at.seen[row]
        uniform = 1 / 7
        total += ce_each(s_imp, at.y)[row]
        total += sum(uniform * (np.log(uniform) - np.log(p)) for p in softmax(s_non)[row]) / 7
        stray = [abs(g[n]) / np.linalg.norm(g) for n in range(5) if at.seen[row, n] and not important[row, n]]
        total += sum(stray) / 5
        total += 1 - g @ h / np.linalg.norm(g) / np.linalg.norm(h)

    assert important.any(1).all()
    assert case.loss("visfis")[0] == pytest.approx(ce_each(at.s, at.y).mean() + total / 4)


def test_visfis_without_hints_is_its_base(case: Case) -> None:
    none = case._replace(batch=case.batch.to(hints=torch.zeros_like(case.batch.hints)))

    assert none.loss("visfis")[0] == pytest.approx(none.loss("plain-ce")[0])
    assert none.loss("plain+visfis")[0] == pytest.approx(none.loss("plain")[0])


@pytest.mark.parametrize(("name", "weight"), [("rmfe", 1e-10), ("rmfe-log", 0.01)])
def test_rmfe(case: Case, name: str, weight: float) -> None:
    at, truth = case.arrays, case.known
    v, w, seen = (np.concatenate([x] * 3) for x in (at.v, at.w, at.seen))
    torch.manual_seed(2)
    v, w = (x + torch.randn(x.shape, dtype=torch.double).numpy() * x.std(0) for x in (v, w))
    s, target = truth.s(v, seen, w), np.concatenate([softmax(at.s)] * 3)
    f = bce_each(s, target).mean()
    slope = (sigma(s) - target) / s.size
    at_regions = truth.slopes_by_number(v, seen, slope)
    at_words = np.repeat((slope @ truth.words)[:, None], 6, axis=1)
    information = [(grad**2).sum(1).mean() / f for grad in (at_regions, at_words)]
    norm = np.linalg.norm(1 / np.array(information))
    expected = bce(at.s, at.a) + weight * (norm if name == "rmfe" else np.log(norm))

    assert case.loss(name)[0] == pytest.approx(expected)


def test_esr(case: Case) -> None:
    at = case.arrays

    assert case.loss("esr")[0] == pytest.approx(bce(at.s, at.a) + 2 * bce(at.s, np.zeros_like(at.a)))


def test_sampled_answers_take_the_place_of_the_highest(case: Case) -> None:
    even = case._replace(batch=case.batch.to(a=(case.batch.a > 0).double()))
    torch.manual_seed(2)
    drawn = sample_answers(even.batch).a.argmax(1).numpy()

    assert (drawn != even.batch.a.argmax(1).numpy()).any()
    assert even.loss("plain-ce+sampled")[0] == pytest.approx(ce_each(case.arrays.s, drawn).mean())
