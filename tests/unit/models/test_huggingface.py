"""Models of transformers, against the same models used by hand, one prompt and one token at a time."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import ModelError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.pictures import Picture
from eyechart.data.probes import Prober, fill
from eyechart.language.prompts import PromptBatch, choose_template
from eyechart.models import load
from eyechart.models.backend import Response
from eyechart.models.huggingface import HuggingFace
from eyechart.models.prompted import read_responses
from eyechart.models.weights import find_kind, find_revision

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROMPTS = ["what color is it?", "is it big? " * 5, "how many in <image 2>?\nA. one\nB. two"]


def picture(seed: int) -> Picture:
    return Picture.of(np.random.default_rng(seed).integers(0, 256, (40 + seed, 70, 3), np.uint8))


@pytest.fixture(scope="module")
def shown() -> PromptBatch:
    """Prompts of unequal length, one without a picture and one with three."""
    further = [(), (), (picture(3), picture(4))]
    return PromptBatch(PROMPTS, [picture(0), None, picture(2)], [["red", "dark blue"], None, ["A", "B"]], further)


class ByHand:
    """A saved model, asked without batches, padding, caches or anything of ours."""

    def __init__(self, folder: Path, kind: str) -> None:
        opens = {"llava": transformers.AutoModelForImageTextToText, "llama": transformers.AutoModelForCausalLM}
        prepares = {"llava": transformers.AutoProcessor, "llama": transformers.AutoTokenizer}
        self.sees = kind == "llava"
        self.model = opens[kind].from_pretrained(folder).eval()
        self.processor = prepares[kind].from_pretrained(folder)
        self.tokenizer = getattr(self.processor, "tokenizer", self.processor)

    def begin(self, prompt: str, pictures: Sequence[Picture]) -> dict[str, Any]:
        images = [{"type": "image", "image": Image.fromarray(each.pixels)} for each in pictures]
        texts = [{"type": "text", "text": text} for text in prompt.split("<image 2>")]
        named = [texts[0], images.pop(1), texts[1]] if len(texts) > 1 and images else [{"type": "text", "text": prompt}]
        content = [*images, *named] if self.sees else prompt
        made = self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        made.pop("token_type_ids", None)
        return dict(made)

    def next_token(self, inputs: dict[str, Any]) -> Any:  # noqa: ANN401 - a tensor
        with torch.no_grad():
            return self.model(**inputs).logits[0, -1].double().log_softmax(-1)

    def write(self, inputs: dict[str, Any], n: int) -> str:
        said: list[int] = []
        for _ in range(n):
            said.append(int(self.next_token(inputs).argmax()))
            if said[-1] == self.tokenizer.eos_token_id:
                break
            inputs = self.extend(inputs, said[-1])
        return str(self.tokenizer.decode(said, skip_special_tokens=True))

    def score(self, inputs: dict[str, Any], option: str) -> list[float]:
        """List the log-probability of each token of an option after the prompt."""
        found = []
        for token in self.tokenizer(option, add_special_tokens=False)["input_ids"]:
            found.append(float(self.next_token(inputs)[token]))
            inputs = self.extend(inputs, token)
        return found

    def extend(self, inputs: dict[str, Any], token: int) -> dict[str, Any]:
        longer = {"input_ids": token, "attention_mask": 1}
        return inputs | {name: torch.cat([inputs[name], torch.tensor([[new]])], 1) for name, new in longer.items()}


@pytest.fixture(params=["llava", "llama"])
def both(request: pytest.FixtureRequest) -> tuple[Path, ByHand]:
    folder = request.getfixturevalue(f"tiny_{request.param}")
    return folder, ByHand(folder, request.param)


def ask(folder: Path, shown: PromptBatch, **settings: Any) -> list[Response]:  # noqa: ANN401
    return HuggingFace(str(folder), **settings).respond(shown)


def test_greedy_answers_are_those_of_a_loop_without_padding(both: tuple[Path, ByHand], shown: PromptBatch) -> None:
    folder, hand = both
    pictures = shown.all_pictures()
    expected = [hand.write(hand.begin(*pair), 6) for pair in zip(PROMPTS, pictures, strict=True)]

    assert [one.raw for one in ask(folder, shown, max_new_tokens=6)] == expected
    assert [one.raw for one in ask(folder, shown, max_new_tokens=6, batch=1)] == expected


@pytest.mark.parametrize("normalise", ["mean", "sum"])
def test_option_scores_are_log_probabilities_added_by_hand(
    both: tuple[Path, ByHand], shown: PromptBatch, normalise: str
) -> None:
    """Token by token after the prompt; negative, and divided by the number of tokens for the mean."""
    folder, hand = both
    found = ask(folder, shown, max_new_tokens=1, scores=True, normalise=normalise)

    assert found[1].scores is None
    for at in (0, 2):
        inputs = hand.begin(PROMPTS[at], shown.all_pictures()[at])
        for option, score in found[at].scores or []:
            parts = hand.score(inputs, option)
            assert score == pytest.approx(sum(parts) / (len(parts) if normalise == "mean" else 1), abs=1e-4)
            assert score < 0
        assert [option for option, _ in found[at].scores or []] == shown.choices[at]
    assert len(hand.tokenizer("dark blue")["input_ids"]) > 1


def test_the_likeliest_option_can_be_the_answer(tiny_llava: Path, shown: PromptBatch) -> None:
    """Only where there are options; elsewhere the model writes."""
    found = ask(tiny_llava, shown, max_new_tokens=3, decide="scores")

    for at in (0, 2):
        assert found[at].raw == max(found[at].scores or [], key=lambda pair: pair[1])[0]
    assert found[1].raw == ask(tiny_llava, shown, max_new_tokens=3)[1].raw


def test_options_are_scored_from_where_their_tokens_part_from_the_prompt(tiny_llama: Path, tmp_path: Path) -> None:
    """A prompt may end in a space that is one token with the option: then that token is scored, for every option."""
    folder = shutil.copytree(tiny_llama, tmp_path / "spaced")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = "<s>{{ messages[0]['content'] }} it is "
    tokenizer.save_pretrained(folder)
    hand = ByHand(folder, "llama")
    options = ["red", "blue", "zebra"]
    found = ask(folder, PromptBatch(["x"], [None], [options]), scores=True, normalise="sum", max_new_tokens=1)

    prompt, *wholes = (
        tokenizer(f"<s>x it is {each}", add_special_tokens=False)["input_ids"] for each in ["", *options]
    )
    assert wholes[0][: len(prompt)] != prompt
    for (_, score), whole in zip(found[0].scores or [], wholes, strict=True):
        shared = len(prompt) - 1
        inputs = {
            "input_ids": torch.tensor([whole[:shared]]),
            "attention_mask": torch.ones(1, shared, dtype=torch.long),
        }
        parts = []
        for token in whole[shared:]:
            parts.append(float(hand.next_token(inputs)[token]))
            inputs = hand.extend(inputs, token)
        assert score == pytest.approx(sum(parts), abs=1e-4)


def without_template(folder: Path, to: Path) -> Path:
    """Copy a model without the file its chat template is in."""
    copied = shutil.copytree(folder, to)
    (copied / "chat_template.jinja").unlink()
    return copied


def test_a_base_model_gets_the_bare_prompt(tiny_llama: Path, tmp_path: Path) -> None:
    """It has no template for chats, and here no token for padding either."""
    folder = without_template(tiny_llama, tmp_path / "base")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"pad_token": None}))
    hand = ByHand(folder, "llama")
    assert hand.tokenizer.pad_token is None
    found = ask(
        folder, PromptBatch(PROMPTS, [None] * 3, [["red", "dark blue"], None, None]), scores=True, max_new_tokens=4
    )

    inputs = [dict(hand.tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)) for prompt in PROMPTS]
    assert [one.raw for one in found] == [hand.write(each, 4) for each in inputs]
    assert (found[0].scores or [])[0][1] == pytest.approx(np.mean(hand.score(inputs[0], " red")), abs=1e-4)


def test_a_model_with_eyes_needs_a_chat_template(tiny_llava: Path, tmp_path: Path) -> None:
    folder = without_template(tiny_llava, tmp_path / "mute")
    with pytest.raises(ModelError, match="a chat template; found no template saved with the model"):
        ask(folder, PromptBatch(["x"], [picture(0)], [None]))


def test_the_picture_is_looked_at(tiny_llava: Path) -> None:
    same = PromptBatch(["it"] * 3, [picture(0), picture(0), picture(1)], [["A", "B"]] * 3)
    first, again, other = (one.scores for one in ask(tiny_llava, same, scores=True, max_new_tokens=1))

    assert first == again != other


def test_a_mark_for_a_picture_inside_a_question_is_no_picture(tiny_llava: Path) -> None:
    marked, plain = (
        PromptBatch([text], [picture(0)], [None]) for text in ("<image>what color is it?", "what color is it?")
    )

    assert ask(tiny_llava, marked) == ask(tiny_llava, plain)


def test_a_prompt_without_room_fails_alone(tiny_llava: Path) -> None:
    found = ask(tiny_llava, PromptBatch(["short", "long " * 600], [None, None], [None, None]), max_new_tokens=2)

    assert found[0].failed is None
    assert found[0].raw is not None
    assert found[1].raw is None
    assert "room of 512" in str(found[1].failed)


def test_draws_differ_and_can_be_had_again(tiny_llava: Path) -> None:
    one = PromptBatch(["what color is it?"], [picture(0)], [None])
    draws = [ask(tiny_llava, one._replace(draw=draw), temperature=1.0)[0].raw for draw in (0, 1, 2, 0)]

    assert draws[0] == draws[3]
    assert len(set(draws)) == 3


def test_asking_leaves_the_random_numbers_of_others_alone(tiny_llava: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    ask(tiny_llava, PromptBatch(["x"], [None], [None]), temperature=1.0)

    assert torch.rand(1) == expected


def test_a_dtype_can_be_chosen(tiny_llava: Path, shown: PromptBatch) -> None:
    exact, coarse = (
        ask(tiny_llava, shown, scores=True, dtype=name, max_new_tokens=1) for name in ("float32", "bfloat16")
    )
    left, right = (dict(found[2].scores or []) for found in (exact, coarse))

    assert left != right
    assert left == pytest.approx(right, abs=0.5)  # of log-probabilities around -6, to 8 bits


def test_kinds_are_told_apart(tiny_llava: Path, tiny_llama: Path, tiny_vilt: Path) -> None:
    assert [find_kind(str(each), None) for each in (tiny_llava, tiny_llama, tiny_vilt)] == ["chat", "text", "vqa"]


def test_a_classic_model_says_its_best_label(tiny_vilt: Path) -> None:
    model = transformers.ViltForQuestionAnswering.from_pretrained(tiny_vilt)
    processor = transformers.AutoProcessor.from_pretrained(tiny_vilt)
    prompts, pictures = ["what color is it ?", "is it big ?"], [picture(0), picture(30)]
    found = ask(tiny_vilt, PromptBatch(prompts, list(pictures), [None, ["no", "blue", "purple"]]), decide="scores")

    logits = [
        model(**processor(images=Image.fromarray(each.pixels), text=prompt, return_tensors="pt")).logits[0].detach()
        for prompt, each in zip(prompts, pictures, strict=True)
    ]
    names = model.config.id2label
    assert found[0].raw == names[int(logits[0].argmax())]
    assert dict(found[0].scores or []) == pytest.approx(
        {names[at]: float(value) for at, value in enumerate(logits[0].log_softmax(-1))}, abs=1e-4
    )
    known = {name: float(logits[1].log_softmax(-1)[at]) for at, name in names.items() if name in {"no", "blue"}}
    assert dict(found[1].scores or []) == pytest.approx(known, abs=1e-3)
    assert found[1].raw == max(known, key=lambda name: known[name])


def test_a_classic_model_fails_where_it_cannot_answer(tiny_vilt: Path) -> None:
    found = ask(tiny_vilt, PromptBatch(["is it ?", "is it ? " * 30], [None, picture(0)], [None, None]))

    assert [one.failed for one in found] == [
        "0 pictures, but the model takes one",
        "92 tokens, but the model takes at most 40",
    ]


def test_a_model_that_writes_is_not_a_classic_one(tmp_path: Path, tiny_vilt: Path) -> None:
    config = transformers.BlipConfig(
        text_config={"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
        vision_config={"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
    )
    transformers.BlipForQuestionAnswering(config).save_pretrained(tmp_path)
    images = transformers.BlipImageProcessorPil(size={"height": 64, "width": 64})
    transformers.BlipProcessor(images, transformers.AutoTokenizer.from_pretrained(tiny_vilt)).save_pretrained(tmp_path)

    with pytest.raises(ModelError, match="chooses among known answers; found BlipForQuestionAnswering"):
        ask(tmp_path, PromptBatch(["is it ?"], [picture(0)], [None]))


def test_the_revision_is_that_of_the_files(tiny_llama: Path, tmp_path: Path) -> None:
    """The same files elsewhere are the same model; other weights at the same place are another."""
    copied = shutil.copytree(tiny_llama, tmp_path / tiny_llama.name)
    before = HuggingFace(str(copied)).identity
    assert before == HuggingFace(str(tiny_llama)).identity
    assert find_revision(str(copied), None) in before

    (copied / "generation_config.json").write_text("{}")
    find_revision.cache_clear()
    assert HuggingFace(str(copied)).identity != before


@pytest.mark.parametrize(
    "change",
    [{"max_new_tokens": 9}, {"temperature": 0.5}, {"dtype": "float16"}, {"scores": True}, {"decide": "scores"}],
)
def test_what_decides_an_answer_is_in_the_identity(tiny_llama: Path, change: dict[str, Any]) -> None:
    same = HuggingFace(str(tiny_llama), batch=3, device="cpu").identity

    assert HuggingFace(str(tiny_llama)).identity == same != HuggingFace(str(tiny_llama), **change).identity


def test_pickled_weights_are_not_opened(tiny_llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_llama, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")

    with pytest.raises(ModelError, match="only safetensors are opened"):
        ask(folder, PromptBatch(["x"], [None], [None]))


def test_code_of_a_model_is_never_run(tiny_llama: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_llama, tmp_path / "foreign")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "foreign", "auto_map": {"AutoConfig": "it.It", "AutoModelForCausalLM": "it.It"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "it.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w')\nclass It: pass\n")

    with pytest.raises(ModelError, match="that opens as text"):
        ask(folder, PromptBatch(["x"], [None], [None]))
    assert not (tmp_path / "was_run").exists()


def test_no_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the configuration of a model"):
        load(f"hf:{tmp_path}")
    with pytest.raises(ModelError, match="a model 'no/where/at all'"):
        load("hf:no/where/at all")


def test_a_misspelt_setting_is_an_error(tiny_llama: Path) -> None:
    with pytest.raises(SettingError, match="did you mean 'dtype'"):
        load(f"hf:{tiny_llama},dtyp=float32")


@pytest.fixture
def seen(tiny: Dataset, tmp_path: Path) -> Dataset:
    """Give the eight questions pictures and options."""
    for at, name in enumerate("abcd"):
        Image.fromarray(picture(at).pixels).save(tmp_path / f"{name}.png")
    table = tiny.images.table.with_columns((pl.col("image") + ".png").alias("path"))
    choices = pl.lit(["yes", "no", "red", "blue"])
    return Dataset("seen", tiny.examples.with_columns(choices=choices), Images(table, tmp_path))


@pytest.mark.parametrize("kind", ["llava", "llama", "vilt"])
def test_a_model_string_answers_probes(kind: str, seen: Dataset, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(f"tiny_{kind}")
    model = load(f"hf:{folder},decide=scores,max_new_tokens=2,cache=off")
    probes = fill(Prober(seen).plain(seen.examples["id"]), seen)
    answers = model.answer(probes, seen.images)

    assert model.name == f"{kind},decide=scores,max_new_tokens=2"
    assert answers["id"].to_list() == seen.examples["id"].to_list()
    assert set(answers["status"]) == {"ok"}
    assert set(answers["score_kind"]) == {"logprob"}
    for row in answers.to_dicts():
        scores = {each["answer"]: each["score"] for each in row["scores"]}
        assert row["answer"] == max(scores, key=lambda name: scores[name])
        assert set(scores) == {"yes", "no", "red", "blue"}


def test_a_blind_model_does_not_open_pictures_and_says_so(
    tiny_llama: Path, tiny: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    """The images of this dataset have no files at all."""
    probes = fill(Prober(tiny).plain(tiny.examples["id"]), tiny)
    answers = load(f"hf:{tiny_llama},max_new_tokens=2,cache=off").answer(probes, tiny.images)

    assert "llama,max_new_tokens=2 is a text model" in caplog.text

    assert answers.height == 8
    assert "failed" not in set(answers["status"])


def test_an_answer_that_the_limit_of_tokens_ends_is_cut_and_one_that_the_model_ends_is_not(
    tiny_llama: Path, tmp_path: Path
) -> None:
    """The same answer, by the same weights: only the token that ends an answer is another one."""
    prompt = PromptBatch(["what color is it?"], [None], [None])
    (cut,) = HuggingFace(str(tiny_llama), device="cpu", max_new_tokens=4).respond(prompt)
    by_hand = ByHand(tiny_llama, "llama")
    third = by_hand.begin(prompt.prompts[0], ())
    for _ in range(3):
        token = int(by_hand.next_token(third).argmax())
        third = by_hand.extend(third, token)
    shutil.copytree(tiny_llama, tmp_path / "ending")
    for name in ("generation_config.json", "config.json"):
        file = tmp_path / "ending" / name
        file.write_text(json.dumps(json.loads(file.read_text()) | {"eos_token_id": [token, 0]}))
    (ended,) = HuggingFace(str(tmp_path / "ending"), device="cpu", max_new_tokens=4).respond(prompt)
    (read,) = read_responses([cut], pl.DataFrame({"id": ["1"], "question": ["?"]}), choose_template("short")).to_dicts()

    assert (cut.stop, ended.stop) == ("length", "stop")
    assert str(cut.raw).startswith(str(ended.raw))
    assert (read["status"], read["answer"]) == ("unparsed", None)
