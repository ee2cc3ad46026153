"""What was learned from and what was judged, in words: for a whole run, and beside each verdict."""

from eyechart.reporting.contents import Facts
from eyechart.store import Plan


def say_judged(plan: Plan, facts: Facts) -> str:
    """Say how many examples an audit judges; nothing where it studied another division, or nobody knows which."""
    divided = facts.divided
    if divided is None or plan.division != divided.division:
        return ""
    sizes, whole = divided.sizes, f"{facts.examples:,}"
    if not plan.learns:
        every = sizes.judged == facts.examples
        return f"judged on all {whole} examples" if every else f"judged on {sizes.judged:,} of {whole} examples"
    held_out = "" if divided.division.learn else f" held out by {facts.cluster}"
    return f"judged on {sizes.held_out:,} of {whole} examples{held_out}, learned from {sizes.learned_apart:,}"


def say_division(facts: Facts) -> str:
    """Say how many examples are learned from and how many judged; nothing where it is not known."""
    if facts.divided is None:
        return ""
    division, sizes = facts.divided.division, facts.divided.sizes
    parts = [f"Learned from: {sizes.learned:,} ({', '.join(division.learn)})."] if division.learn else []
    named = f" ({', '.join(division.judge)})" if division.judge else ""
    parts.append(f"Judged: {sizes.judged:,}{named}.")
    if not division.learn and sizes.held_out:
        parts.append(
            f"Audits that learn hold a part of these out by {facts.cluster}, with seed {division.seed}: "
            f"they learn from {sizes.learned_apart:,} and judge {sizes.held_out:,}."
        )
    if sizes.neither:
        parts.append(f"In no part: {sizes.neither:,}.")
    return " ".join(parts)
