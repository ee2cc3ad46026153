"""What passes between the writing of prompts and the one who answers them: texts and pictures out, texts back."""

from typing import NamedTuple, Protocol

from eyechart.pictures import Picture
from eyechart.protocols import Where


class Shown(NamedTuple):
    """A batch as a model sees it: lists of the same length."""

    prompts: list[str]
    pictures: list[Picture | None]
    choices: list[list[str] | None]  # what may be said, option by option: the labels where they are listed, else texts
    further: list[tuple[Picture, ...]] | None = None  # after the first, where any probe has several
    draw: int = 0  # the how-manieth time the same is asked

    def all_pictures(self) -> list[tuple[Picture, ...]]:
        """List the pictures of each prompt, the first one included."""
        further = self.further or [()] * len(self.pictures)
        return [(() if one is None else (one,)) + more for one, more in zip(self.pictures, further, strict=True)]

    def take(self, places: list[int]) -> "Shown":
        """Keep the prompts at some places."""
        return Shown(
            [self.prompts[at] for at in places],
            [self.pictures[at] for at in places],
            [self.choices[at] for at in places],
            self.further and [self.further[at] for at in places],
            self.draw,
        )


class Said(NamedTuple):
    """What came back for one prompt: a text as it came, or why none did."""

    raw: str | None
    scores: list[tuple[str, float]] | None = None  # what may be said, its log-probability
    failed: str | None = None
    refused: bool = False  # as the one who answers says itself, whatever the text


class Asker(Protocol):
    """Answer prompts one by one; open weights or connections at the first."""

    @property
    def identity(self) -> str:
        """Write as JSON everything that decides an answer beside what is shown: kind, model, revision, decoding."""
        ...

    def answer_shown(self, shown: Shown) -> list[Said]:
        """Answer each prompt, in order."""
        ...


def place_of(asker: Asker) -> Where:
    """Look up where an asker wants to run; one that does not say runs anywhere."""
    place: Where = getattr(asker, "place", "slot")
    return place
