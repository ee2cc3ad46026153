"""Networks whose body comes from transformers, its weights fresh unless released ones are loaded from a folder."""

from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from eyechart.errors import MissingExtraError, ModelError
from eyechart.zoo.layers import count_heads
from eyechart.zoo.network import Network, Sizes


class Pretrained(Network):
    """Hold the body that `kind` names; there is no vector of the question alone.

    With released weights q must come from their own tokenizer, whose padding is 0 too (`zoo/pieces.py`).
    """

    kind: ClassVar[str]
    released_on: ClassVar[tuple[str, ...]]  # what weights that can be loaded have seen
    feature_option: ClassVar[str]  # how the body's settings call the size of region features
    body: nn.Module

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes._replace(embedding=sizes.hidden))
        self.q_size, self.h_size = None, sizes.hidden
        auto = _transformers()
        config = auto.AutoConfig.for_model(
            self.kind,
            vocab_size=sizes.words,
            hidden_size=sizes.hidden,
            intermediate_size=4 * sizes.hidden,
            num_attention_heads=count_heads(sizes.hidden),
            **{self.feature_option: sizes.features},
        )
        # Fused attention has no second derivative.
        body = auto.AutoModel.from_config(config, attn_implementation="eager")
        self.body, self.embedding = body, body.get_input_embeddings()

    def load(self, place: Path) -> None:
        """Take the body's weights from a local folder."""
        sizes = f"{self.sizes.words} words, {self.sizes.features} features and width {self.sizes.hidden}"
        expected = f"weights of {self.kind} with {sizes}"
        try:
            body = _transformers().AutoModel.from_pretrained(place, local_files_only=True)
            self.body.load_state_dict(body.state_dict())
        except (OSError, ValueError) as error:
            told = str(error).partition("\n")[0]
            raise ModelError(f"{expected} in {place}", told, "save them there with save_pretrained") from None
        except RuntimeError:
            advice = "make the network with the sizes of those weights"
            raise ModelError(expected, f"others in {place}", advice) from None
        self.pretrained_on = self.released_on


def _transformers() -> Any:  # noqa: ANN401 - a module
    try:
        import transformers
    except ImportError:
        advice = "pip install transformers, or choose another model"
        raise MissingExtraError("the library transformers", "none", advice) from None
    return transformers
