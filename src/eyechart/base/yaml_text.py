"""Parse YAML that nobody vouches for: within limits, with an error of one line."""

from collections.abc import Iterator

MOST_VALUES = 100_000  # with each reference counted as often as it is named: a few lines can stand for billions


def parse_yaml(text: str) -> object:
    """Parse YAML; raise a ValueError that says in one line what is wrong with it."""
    import yaml  # here, because it takes 25 ms, a twentieth of `eyechart --help`

    try:
        content = yaml.safe_load(text)
    except RecursionError:
        raise ValueError("values nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        where = "" if error.problem_mark is None else f" at line {error.problem_mark.line + 1}"
        raise ValueError(_shorten(f"{error.problem or error.context}{where}")) from None
    except Exception as error:  # noqa: BLE001 - an impossible date or number makes PyYAML raise nearly anything
        raise ValueError(_shorten(str(error) or type(error).__name__)) from None
    for n, _ in enumerate(_walk(content)):
        if n > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values, with references counted as often as they are named")
    return content


def _walk(content: object) -> Iterator[object]:
    """Yield all values, those of references again and again; a list that holds itself never ends."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple | set):
            waiting += value


def _shorten(reason: str) -> str:
    return " ".join(reason.split())[:200]
