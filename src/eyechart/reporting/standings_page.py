"""Set models side by side as one HTML file, and as Markdown, from the same collected standings."""

from dataclasses import dataclass

from eyechart.reporting.comparing import TextGrid, to_markdown, with_way
from eyechart.reporting.grid import Grid, Head, beside_grid, say_chance
from eyechart.reporting.links import as_csv
from eyechart.reporting.palette import NO_LOOKS
from eyechart.reporting.setting import Figure, Table, fill, make_figure
from eyechart.reporting.standings import Contest, Entrant, Standing, Standings

RANKED = (
    Head("rank", number=True),
    Head("model"),
    Head("value [interval]", number=True),
    Head("n", number=True),
    Head("clusters", number=True),
    Head("leads in", number=True),
    Head("difference [interval]", number=True),
    Head("n of both", number=True),
    Head("q", number=True),
)
FEW_FIGURES = 2  # of an audit that stand open
LEADERS = ("audit", "measure", "best", "value [interval]", "n", "leads in")


@dataclass(frozen=True)
class Block:
    """A contest as it is set."""

    anchor: str
    contest: Contest
    ranking: Grid
    figures: tuple[Figure, ...]
    further: tuple[Figure, ...]
    tables: tuple[Table, ...]
    csv: str  # a link to every value and difference


def render_standings(page: Standings) -> str:
    """Set standings as HTML; all that comes from data is escaped."""
    blocks = [_block(contest, f"contest-{place}") for place, contest in enumerate(page.contests, start=1)]
    content = {
        "page": page,
        "blocks": blocks,
        "with_way": with_way,
        "leaders": _headed(leaders(page)),
        "entrants": _entrants(page.entrants),
        "commands": dict.fromkeys(each.command for each in page.entrants if each.command),
        "learned": [entrant for entrant in page.entrants if entrant.learned],
    }
    return fill(
        "compare.html", content, NO_LOOKS, alive=any(figure.spec for block in blocks for figure in block.figures)
    )


def summarise_standings(page: Standings) -> str:
    """Write standings as Markdown, as GitHub shows it."""
    lines = [f"# {page.title}", "", f"{page.facts.examples:,} examples on {page.facts.images:,} images.", ""]
    lines.append(to_markdown(leaders(page)))
    for contest in page.contests:
        title = f"{contest.audit}: {with_way(contest.measure, contest.better)}, differences to {contest.base}"
        rows = tuple(_row(standing) for standing in contest.standings)
        lines += [to_markdown(TextGrid(title, tuple(head.name for head in RANKED), rows)), contest.sentence, ""]
    lines += [f"Not compared: {each}." for each in page.left_out]
    if page.command:
        lines += ["", "```console", f"$ {page.command}", "```", ""]
    return "\n".join(lines)


def leaders(page: Standings) -> TextGrid:
    """Say who has the best value by each audit."""
    return TextGrid("Who is ahead", LEADERS, tuple(map(_leader, page.contests)))


def _leader(contest: Contest) -> tuple[str, ...]:
    best = [each for each in contest.standings if each.rank == 1]
    measure = with_way(contest.measure, contest.better)
    if not best:
        return contest.audit, measure, "-", "-", "-", "-"
    share = sum(each.first or 0 for each in best)
    names = " and ".join(each.name for each in best)
    return contest.audit, measure, names, best[0].said, f"{best[0].n:,}", _percent(share)


def _block(contest: Contest, anchor: str) -> Block:
    figures = tuple(
        make_figure(drawing, f"{anchor}-{at}", {}, NO_LOOKS) for at, drawing in enumerate(contest.drawings, start=1)
    )
    whole, groups = (beside_grid(part) for part in (contest.whole, contest.groups))
    tables = [Table(f"All {len(whole.rows)} measures, side by side", whole, folded=True)]
    if groups.rows:
        tables.append(Table(f"{len(groups.rows)} measures by group", groups, folded=True))
    ranking = Grid(RANKED, tuple(_row(standing) for standing in contest.standings))
    return Block(
        anchor, contest, ranking, figures[:FEW_FIGURES], figures[FEW_FIGURES:], tuple(tables), as_csv(contest.records)
    )


def _row(standing: Standing) -> tuple[str, ...]:
    name = standing.name + "".join(f" (⚠ {caution.short})" for caution in standing.cautions)
    return (
        _dash(standing.rank),
        name,
        standing.said,
        f"{standing.n:,}",
        _dash(standing.clusters),
        _percent(standing.first),
        standing.difference or "-",
        _dash(standing.common),
        say_chance(standing.q) or "-",
    )


def _entrants(entrants: tuple[Entrant, ...]) -> Grid:
    head = (Head("model"), Head("run"), Head("seed of the run", number=True))
    return Grid(head, tuple((each.name, each.run, str(each.seed)) for each in entrants))


def _headed(part: TextGrid) -> Grid:
    numbers = ("value [interval]", "n", "leads in")
    return Grid(tuple(Head(name, number=name in numbers) for name in part.columns), part.rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _dash(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
