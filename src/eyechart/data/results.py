"""Results by audit, as the verbs return them: a dict that shows its verdicts."""

from eyechart.data.representation import represent
from eyechart.data.result import Result


class Results(dict[str, Result]):
    """Map the names of audits to their results."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values())) or "no results"

    def _repr_html_(self) -> str:
        return represent("results", self)
