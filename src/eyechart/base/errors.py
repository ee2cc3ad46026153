"""Define the errors, each one line that says what was expected, what was found and what to do.

EyechartError                something a user can fix; any other exception that escapes is a bug of ours
├── SettingError             a setting, option or name that does not fit
│   └── UnknownNameError     a name that no registry knows
├── FileFormatError          a file that is missing, damaged, or not what its format promises
├── TableError               a table that breaks its schema; names the column and the first bad row
├── DataError                data that lack what an audit needs
├── CoverageError            answers to too few of the judged examples
├── AnswerMismatchError      answers to other probes than those judged
├── ModelError               a model that cannot be opened, or whose answers are malformed
├── EngineError              a cluster that is not there, or a batch that no process could finish
└── MissingExtraError        an optional part of eyechart that is not installed
"""


class ReadingWarning(UserWarning):
    """What was read may not be what is meant; the parts are those of an error."""

    def __init__(self, expected: str, found: str, advice: str) -> None:
        self.expected = expected
        self.found = found
        self.advice = advice
        super().__init__(f"expected {expected}; found {found}; {advice}")


LONGEST = 1_000  # characters of a part of an error: what was found may be a whole file


def _shorten(part: str) -> str:
    """Write a part in one line of moderate length."""
    line = part.replace("\r", " ").replace("\n", " ")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ... ({len(line):,} characters)"


class EyechartError(Exception):
    """Hold the three parts of every error message."""

    def __init__(self, expected: str, found: str, advice: str) -> None:
        self.expected = expected
        self.found = found
        self.advice = advice
        super().__init__(f"expected {_shorten(expected)}; found {_shorten(found)}; {advice}")

    def __reduce__(self) -> tuple[type["EyechartError"], tuple[str, str, str]]:
        """Pickle the three parts; by default an exception would be rebuilt from its whole message alone."""
        return type(self), (self.expected, self.found, self.advice)


class SettingError(EyechartError):
    """A setting, option or name does not fit."""


class UnknownNameError(SettingError):
    """A name is not in any registry."""


class FileFormatError(EyechartError):
    """A file is missing, damaged, or not what its format promises."""


class TableError(EyechartError):
    """A table breaks its schema."""


class DataError(EyechartError):
    """The data lack what an audit needs."""


class CoverageError(EyechartError):
    """Too few of the judged examples were answered."""


class AnswerMismatchError(EyechartError):
    """Answers are to other probes than those judged."""


class ModelError(EyechartError):
    """A model cannot be opened, or its answers are malformed."""


class EngineError(EyechartError):
    """A cluster is not there, or a batch could not be finished."""


class MissingExtraError(EyechartError):
    """An optional part of eyechart is not installed."""


def and_more(n: int) -> str:
    """Write how many more there are than the one an error names; nothing if there are none."""
    return f" and {n} more" if n else ""
