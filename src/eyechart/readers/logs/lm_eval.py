"""Read the samples that lm-eval logs with `--log_samples`.

A task with several filters has a line for each of them to the same question; one filter's answers are taken.
"""

from collections.abc import Sequence

from eyechart.readers.counting import Count, dropped, noted
from eyechart.readers.logs.content import Content
from eyechart.readers.logs.log import Log, Wanted
from eyechart.readers.logs.samples import DOC_KEYS, Sample, Samples, find_key, gather, read_samples
from eyechart.registry import unknown_name


def read_lm_eval(contents: Sequence[Content], wanted: Wanted) -> Log:
    """Read answers by the id of the doc, or by the number of the row where it has none."""
    return gather(_filter(read_samples(contents), wanted.scorer), _find_key)


def _find_key(sample: Sample) -> str | None:
    return find_key([sample.get("doc")], DOC_KEYS)


def _filter(samples: Samples, chosen: str | None) -> Samples:
    names = tuple(dict.fromkeys(str(sample["filter"]) for sample in samples.records if "filter" in sample))
    if chosen is not None and chosen not in names:
        raise unknown_name("filter of this log", chosen, names)
    if len(names) < 2:
        return samples
    name = chosen or names[0]
    kept = [sample for sample in samples.records if str(sample.get("filter", name)) == name]
    counts: list[Count] = [dropped(f"answer by another filter than {name!r}", len(samples.records) - len(kept))]
    if chosen is None:
        counts.append(noted(f"answer by filter {name!r}, the first of {', '.join(names)}", len(kept)))
    return Samples(kept, [*samples.counts, *counts])
