"""Watch the first responses of a model, so that a mistake is noticed before everything is paid for."""

import logging
from dataclasses import dataclass

import polars as pl

from eyechart.base.errors import ModelError
from eyechart.data.predictions import is_cut
from eyechart.data.probes import PLAIN_CONDITION

CALLS = 20  # if the first so many all fail, nothing more is asked
RESPONSES = 50  # if the first so many to plain examples are all unparsed, one is shown
BATCHES = (CALLS, RESPONSES - CALLS)  # small ones, so that the rest is asked after a look at them
_SHOWN = 300  # characters of a response
_log = logging.getLogger("eyechart.models")


@dataclass
class FirstResponses:
    """The responses of a model so far, as long as all of them failed or were unparsed."""

    model: str
    calls: int = 0
    failed: int = 0
    plain: int = 0
    unparsed: int = 0

    @property
    def is_over(self) -> bool:
        """Return whether there is nothing left to watch."""
        is_answering = self.calls > self.failed or self.calls >= CALLS
        return is_answering and (self.plain > self.unparsed or self.plain >= RESPONSES)

    def watch(self, answers: pl.DataFrame) -> None:
        """Count a batch; raise an error if all first calls failed, and warn if all first responses are unparsed."""
        if self.is_over:
            return
        self._watch_calls(answers.height, answers.filter(pl.col("status") == "failed"))
        self._watch_plain(answers.filter((pl.col("condition") == PLAIN_CONDITION) & (pl.col("status") != "failed")))

    def _watch_calls(self, calls: int, failed: pl.DataFrame) -> None:
        if self.calls >= CALLS:
            return
        self.calls, self.failed = self.calls + calls, self.failed + failed.height
        if self.calls == self.failed >= CALLS:
            found = f"first {self.calls} calls that all failed, the last with {failed['raw'][-1] or 'no reason'}"
            advice = "fix this and run the same command again; nothing more was asked"
            raise ModelError(f"answers of {self.model}", found, advice)

    def _watch_plain(self, responses: pl.DataFrame) -> None:
        if self.plain >= RESPONSES or responses.is_empty():
            return
        unparsed = responses.filter(pl.col("status") == "unparsed")
        self.plain, self.unparsed = self.plain + responses.height, self.unparsed + unparsed.height
        if self.plain == self.unparsed >= RESPONSES:
            is_long = unparsed.select(is_cut(unparsed)).to_series()[-1]
            reason = "cut off: raise max_new_tokens" if is_long else "unparsed: try another prompt (prompt=...)"
            message = "the first %d responses of %s are all unparsed; the last is %s: %r"
            _log.warning(message, self.plain, self.model, reason, (unparsed["raw"][-1] or "")[:_SHOWN])
