"""Tiny models with random weights, made on the spot: real classes of transformers, answers without meaning."""

from pathlib import Path
from typing import Any

SIDE = 56  # pixels
ROOM = 512  # tokens
SPREAD = 0.3  # of random weights: at the usual 0.02 an answer would hang on the last token alone
ANSWERS = ["yes", "no", "red", "blue", "two"]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}:\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] in ['image', 'image_url'] %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant:\n{% endif %}"
)
_TEXTS = [
    "what color is it? red blue yes no",
    "A. B. C. D. Answer with the option's letter from the given choices directly.",
]


def make_tokenizer() -> Any:  # noqa: ANN401 - of transformers
    """Train byte pairs on a few words; every text can be written with it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = decoders.ByteLevel()
    marks = ["<pad>", "<s>", "</s>", "<image>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pairs.train_from_iterator(
        _TEXTS * 3, trainers.BpeTrainer(vocab_size=400, special_tokens=marks, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=pairs,
        pad_token="<pad>",  # noqa: S106 - not a secret
        bos_token="<s>",  # noqa: S106
        eos_token="</s>",  # noqa: S106
        extra_special_tokens={"image_token": "<image>"},
        chat_template=TEMPLATE,
    )


def save_llava(folder: Path) -> Path:
    """Save a chat model that sees pictures."""
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    place = tokenizer.convert_tokens_to_ids("<image>")
    eyes = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=14,
        projection_dim=32,
        initializer_range=SPREAD,
    )
    config = LlavaConfig(
        vision_config=eyes,
        text_config=_llama(len(tokenizer)),
        image_token_index=place,
        image_token_id=place,
        vision_feature_layer=-1,
        image_seq_length=16,
    )
    size = {"height": SIDE, "width": SIDE}
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size=size, crop_size=size),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_llama(folder: Path) -> Path:
    """Save a language model without eyes."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    LlamaForCausalLM(_llama(len(tokenizer))).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_vilt(folder: Path) -> Path:
    """Save a classic VQA model that knows a handful of answers."""
    import torch
    from transformers import (
        BertTokenizerFast,
        ViltConfig,
        ViltForQuestionAnswering,
        ViltImageProcessorPil,
        ViltProcessor,
    )

    torch.manual_seed(0)
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "what",
        "color",
        "is",
        "it",
        "big",
        "how",
        "many",
        "?",
        *ANSWERS,
    ]
    tokenizer = BertTokenizerFast(vocab={word: at for at, word in enumerate(words)})
    config = ViltConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=64,
        patch_size=16,
        max_position_embeddings=40,
        id2label=dict(enumerate(ANSWERS)),
        label2id={answer: at for at, answer in enumerate(ANSWERS)},
    )
    ViltForQuestionAnswering(config).save_pretrained(folder)
    images = ViltImageProcessorPil(size={"shortest_edge": 64}, size_divisor=16)
    ViltProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def _llama(words: int) -> Any:  # noqa: ANN401 - of transformers
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=words,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=ROOM,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=SPREAD,
    )
