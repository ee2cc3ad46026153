"""Lay out the results that no script lays out itself: timings and studies that are recorded, not made again at will.

Rows of timings are typed in from what their scripts print; those of `scale` and `zoo` are written by their scripts.
"""

from collections.abc import Iterable
from functools import partial

from record import Row
from scale_figures import lay_out as lay_out_curves
from tables import Layout, table


def _lay_out_study(rows: list[Row]) -> Iterable[str]:
    from zoo_table import lay_out  # wants torch

    return lay_out(rows)


ENGINES_HEAD = (
    "| work | examples | engine | start s | first s | again s | CPU s | first process CPU s | busiest other CPU s "
    "| way, CPU s |"
)
ENGINES_LINE = (
    "| {work} | {n:,} | {engine} | {start:.1f} | {first:.1f} | {again:.1f} | {cpu:.1f} | {own:.1f} | {other:.1f} "
    "| {way:.1f} |"
)
MINING_HEAD = "| data | n | rules | CPU s | wall s | peak MB | growth | pyfim CPU s | pyfim peak MB | ratio |"
MINING_LINE = (
    "| {data} | {n:,} | {rules:,} | {cpu:.2f} | {wall:.2f} | {mb:,} | {growth:.2f} | {pyfim} | {pyfim_mb:,} | {ratio} |"
)
LAYOUTS: dict[str, dict[str, Layout]] = {
    "scoring": {
        "": table(
            "| score | n | eyechart, s | literal, s | ratio | growth |",
            "| `{score}` | {n:,} | {ours:.3f} | {literal:.3g} | {ratio} | {growth:.2f} |",
        )
    },
    "read": {
        "": table("| reading | rows | seconds | peak GB |", "| {reading} | {rows:,} | {seconds:.1f} | {gb:.1f} |"),
    },
    "pictures": {
        "": table(
            "| file | rows | GB | seconds | peak MB |", "| {file} | {rows:,} | {gb:.1f} | {seconds:.0f} | {mb:,} |"
        ),
    },
    "demo": {
        "": table("| version | run | CPU s | seconds | MB |", "| {version} | {run} | {cpu:.1f} | {wall:.1f} | {mb:,} |")
    },
    "audit_stages": {
        "": table(
            "| version | command | all, CPU s | studies | after the studies | of it comparisons |",
            "| {version} | {command} | {total:.1f} | {study:.1f} | {after the studies:.1f} | {compare:.1f} |",
        )
    },
    "predict": {
        "": table(
            "| latency s | load | share at 1 | at 4 | at 16 | at 64 | calls / s at 64 | CPU ms a call at 64 |",
            "| {latency} | {load} | {at_1} % | {at_4} % | {at_16} % | {at_64} % | {calls} | {cpu_ms} |",
        )
    },
    "mining": {
        "mining": table(MINING_HEAD, MINING_LINE, "mining"),
        "matching": table(
            "| rules | examples | meetings | CPU s | wall s | peak MB with mining |",
            "| {rules:,} | {n:,} | {meetings:,} | {cpu} | {wall} | {mb:,} |",
            "matching",
        ),
        "study": table(
            "| train | judged | rules | CPU s | wall s | peak MB |",
            "| {train:,} | {judged:,} | {rules:,} | {cpu} | {wall} | {mb:,} |",
            "study",
        ),
    },
    "splits": {
        "": table(
            "| questions | CPU s | wall s | peak MB | growth | loops CPU s | loops wall s | loops peak MB | ratio |",
            "| {n:,} | {cpu} | {wall} | {mb:,} | {growth} | {loops} | {loops_wall} | {loops_mb:,} | {ratio} |",
        )
    },
    "grounding": {
        "": table(
            "| questions | search, CPU s | growth | loop, CPU s | ratio | study, CPU s | probes, CPU s | MB |",
            "| {n:,} | {search} | {growth} | {loop} | {ratio} | {study} | {probes} | {mb:,} |",
        )
    },
    "decoys": {
        "": table(
            "| drawing | questions | decoys | recall@50 | wall s | CPU s | peak MB | growth of CPU |",
            "| {drawing} | {n:,} | {decoys:,} | {recall} | {wall} | {cpu} | {mb:,} | {growth:.2f} |",
        )
    },
    "engines": {"": table(ENGINES_HEAD, ENGINES_LINE)},
    "out_of_core": {"": table("| arrow | wall s | CPU s | peak MB |", "| `{arrow}` | {wall} | {cpu} | {mb:,} |")},
    "view": {
        "": table(
            "| page | first: waited s | worked s | next: waited s | worked s |",
            "| {page} | {waited:.2f} | {worked:.2f} | {next_waited:.2f} | {next_worked:.2f} |",
        )
    },
    "splits_head_share": {
        "": table(
            "| concept (train examples) | accuracy on its | 10 % | 30 % | 50 % | 70 % | 90 % |",
            "| {concept} ({n:,}) | {side} | {at_10} | {at_30} | {at_50} | {at_70} | {at_90} |",
        )
    },
    "splits_selection": {
        "": table(
            "| best by | epoch | mean of the OOD test sets | all judged (IID) | lost by the choice |",
            "| {by} | {epoch} | {ood} | {iid} | {lost} |",
        )
    },
    "smollm_aokvqa": {
        "": table(
            "| asked for | setting | answers found | accuracy [95 %] | lost as wrong |",
            "| {asked} | `{setting}` | {found} | {accuracy} | {lost} |",
        )
    },
    "zoo_speed": {
        "epochs": table("| network | batch | seconds an epoch |", "| `{network}` | {batch} | {seconds} |", "epochs"),
        "forecast": table(
            "| network | rows | minutes of the whole device |", "| {network} | {rows} | {minutes} |", "forecast"
        ),
        "shards": table(
            "| rows | forecast, minutes | taken, by shard |", "| {rows} | {forecast} | {taken} |", "shards"
        ),
        "compiled": table(
            "| pair | processes | compiled | uncompiled | compiled |",
            "| {pair} | {processes} | {how} | {before} | {after} |",
            "compiled",
        ),
        "bytes": table(
            "| | HINT | SCR | VisFIS | CSS | its labels alone | RMFE over LMH |",
            "| {pass} | {hint} | {scr} | {visfis} | {css} | {labels} | {rmfe} |",
            "bytes",
        ),
    },
    "scale": {"cpu": partial(lay_out_curves, what="cpu"), "mb": partial(lay_out_curves, what="mb")},
    "zoo": {"": _lay_out_study},
}
