"""What a format needs, what it looks like, and by which words a file of it can be known."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

ReaderFunction = TypeVar("ReaderFunction", bound=Callable[..., object])


class Description(NamedTuple):
    """The words that teach a format."""

    needs: str  # the files it takes, in a phrase
    sample: str  # two lines that show what is in them
    signs: tuple[str, ...] = ()  # words that nearly every such file holds near its beginning, and few others do


def described(needs: str, sample: str, signs: tuple[str, ...] = ()) -> Callable[[ReaderFunction], ReaderFunction]:
    """Attach its description to a reader."""

    def attach(reader: ReaderFunction) -> ReaderFunction:
        reader.description = Description(needs, sample, signs)  # type: ignore[attr-defined]  # functions take attributes
        return reader

    return attach


def describe(reader: Callable[..., object]) -> Description:
    """Find the description of a reader; one that has none is known by its docstring."""
    found = getattr(reader, "description", None)
    return found if isinstance(found, Description) else Description(str(reader.__doc__ or "").partition("\n")[0], "")
