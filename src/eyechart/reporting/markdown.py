"""A page as Markdown, as GitHub shows it: for a pull request or the summary of a job."""

from eyechart.reporting.comparing import TextGrid, to_markdown
from eyechart.reporting.contents import Page, Summary
from eyechart.reporting.divided import say_division
from eyechart.result import State

SIGNS: dict[State, str] = {"yes": "✅ yes", "no": "❌ no", "cannot tell": "❔ cannot tell", "not tested": "not tested"}
COLUMNS = ("audit", "subject", "verdict", "in one sentence", "value [interval]", "n", "clusters")


def summarise(page: Page) -> str:
    """Write the verdicts, then the models side by side over all examples."""
    lines = [f"# {page.title}", ""]
    if page.facts:
        size = f"{page.facts.examples:,} examples on {page.facts.images:,} images."
        lines += [f"{size} {say_division(page.facts)}".rstrip(), ""]
    if page.outdated:
        lines += [page.outdated, ""]
    lines.append(to_markdown(TextGrid("What was found", COLUMNS, tuple(map(_row, page.summary)))))
    lines += [to_markdown(comparison.whole) for comparison in page.comparisons]
    if page.left_out:
        said = "; ".join(f"{audit} ({why})" for audit, why in page.left_out.items())
        lines += [f"Left out: {said}.", ""]
    if page.origin and page.origin.command:
        lines += ["```console", *(f"$ {one}" for one in page.origin.command.splitlines()), "```", ""]
    return "\n".join(lines)


def _row(row: Summary) -> tuple[str, ...]:
    n, clusters = ("" if number is None else f"{number:,}" for number in (row.n, row.clusters))
    subject = row.subject + "".join(f" (⚠ {caution.short})" for caution in row.cautions)
    audit = f"{row.audit}: {row.question}" if row.question else row.audit
    verdict = f"{SIGNS[row.state]}: {row.label}" if row.label else SIGNS[row.state]
    return audit, subject, verdict, row.sentence, f"{row.said} {row.measure}", n, clusters
