"""Time the search for relevant and irrelevant objects, against a plain Python triple loop, on data of the size of GQA.

    python benchmarks/grounding.py [--quick] [--sizes 16500 33000]

Made-up boxes: images of 500 x 375 with 100 detections, 13 questions an image, 1 to 5 annotated objects a question, most
of them found by a few detections. The loop is run on few questions and scaled; making its lists is not counted. Every
measurement of ours is a process of its own: processor seconds of the search alone, of the whole study, and of writing
the probes of every condition (both search again, and draw the placebo), from a dataset in memory; peak memory is of
the whole process.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time

import numpy as np
import polars as pl

from eyechart.audits.grounding import GroundingAudit
from eyechart.audits.grounding.scene import Scene, find_relevance, make_scene
from eyechart.audits.grounding.study import select_questions
from eyechart.data.boxes import BoxLists, as_column
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.engines import Local

SIZES = (16_500, 33_000, 66_000, 132_000)
QUESTIONS = 13  # of an image
DETECTIONS = 100
LOOPED = 200  # questions


def make(n: int) -> Dataset:
    """Make up n questions."""
    rng = np.random.default_rng(0)
    images = math.ceil(n / QUESTIONS)
    things = _boxes(rng, images * 20).reshape(images, 20, 4)
    seen = things[:, rng.integers(0, 20, DETECTIONS)] + rng.normal(0, 12, (images, DETECTIONS, 4))
    seen[:, :, 2:] = np.maximum(seen[:, :, :2] + 1, seen[:, :, 2:])
    counts = rng.integers(1, 6, n)
    of = np.arange(n) // QUESTIONS
    marked = things[np.repeat(of, counts), rng.integers(0, 20, counts.sum())]
    names = pl.Series([f"i{i}" for i in range(images)])
    table = pl.DataFrame(
        {
            "image": names,
            "width": pl.repeat(500, images, dtype=pl.Int64, eager=True),
            "height": pl.repeat(375, images, dtype=pl.Int64, eager=True),
            "objects": _listed(np.full(images, DETECTIONS), seen.reshape(-1, 4), OBJECT),
        }
    )
    examples = pl.DataFrame(
        {
            "id": [f"{i:09}" for i in range(n)],
            "image": names.gather(of),
            "question": "what is it?",
            "answer": "cat",
            "evidence": _listed(counts, marked, EVIDENCE),
        }
    )
    return Dataset("made up", examples, Images(table))


def _boxes(rng: np.random.Generator, n: int) -> np.ndarray:
    corner = rng.random((n, 2)) * (400, 300)
    return np.concatenate([corner, corner + 20 + rng.random((n, 2)) * (200, 150)], axis=1)


def _listed(counts: np.ndarray, boxes: np.ndarray, kind: pl.Struct) -> pl.Series:
    lists = as_column(BoxLists(np.concatenate([[0], np.cumsum(counts)]), boxes))
    fields = [pl.lit("thing").alias("label"), pl.element().alias("box")]
    if kind == OBJECT:
        fields.append(pl.lit(None, pl.Float64).alias("score"))
    return lists.list.eval(pl.struct(fields)).cast(pl.List(kind))


def loop(scene: Scene) -> list[tuple[list[int], list[int]]]:
    """Search as one would write it down, box by box."""
    found = []
    seen, marked = (lists.boxes.tolist() for lists in (scene.objects.lists, scene.evidence))
    for question, image in enumerate(scene.of):
        relevant, irrelevant = [], []
        for i in range(scene.objects.lists.starts[image], scene.objects.lists.starts[image + 1]):
            best, share = 0.0, 0.0
            for mark in range(scene.evidence.starts[question], scene.evidence.starts[question + 1]):
                a, b = marked[mark], seen[i]
                wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
                common = wide * high if wide > 0 and high > 0 else 0.0
                area = (a[2] - a[0]) * (a[3] - a[1])
                other = (b[2] - b[0]) * (b[3] - b[1])
                best, share = max(best, common / (area + other - common)), max(share, common / area)
            if best > 0.5:
                relevant.append(i)
            elif share <= 0.25:
                irrelevant.append(i)
        found.append((relevant, irrelevant))
    return found


def measure(n: int) -> dict[str, float]:
    """Time the search, the whole study and the probes of n questions."""
    data, audit = make(n), GroundingAudit()
    scene = make_scene(select_questions(data), data)
    steps = [time.process_time()]
    find_relevance(audit, scene)
    steps.append(time.process_time())
    study = audit.study(data, Local())
    steps.append(time.process_time())
    for _ in audit.probe(data, study):
        pass
    steps.append(time.process_time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    means = dict(study.tables["statistics"].select("set", "mean").iter_rows())
    return {
        **dict(zip(("cpu", "study", "probe"), np.diff(steps).tolist(), strict=True)),
        "mb": peak,
        "relevant": means["relevant"],
        "irrelevant": means["irrelevant"],
    }


def time_loop() -> float:
    """Give the seconds of the loop for one question, after a look that both find the same."""
    data, audit = make(LOOPED), GroundingAudit()
    scene = make_scene(select_questions(data), data)
    began = time.process_time()
    literal = loop(scene)
    took = time.process_time() - began
    ours = find_relevance(audit, scene)
    assert sum(len(relevant) for relevant, _ in literal) == ours.relevant.sum()  # noqa: S101 - a benchmark of equals
    assert sum(len(irrelevant) for _, irrelevant in literal) == ours.irrelevant.sum()  # noqa: S101
    return took / LOOPED


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"at most {SIZES[0]:,} questions")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of questions")
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measure(options.size)))
        return
    each = time_loop()
    print("| questions | search, CPU s | growth | loop, CPU s | ratio | study, CPU s | probes, CPU s | MB | objects |")
    print("|---|---|---|---|---|---|---|---|---|")
    last = None
    for n in SIZES[:1] if options.quick else options.sizes:
        command = [sys.executable, __file__, "--size", str(n)]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        growth = f"{math.log(found['cpu'] / last[1]) / math.log(n / last[0]):.2f}" if last else ""
        compared = f"{found['cpu']:.2f} | {growth} | {each * n:.0f} | {each * n / found['cpu']:.0f}"
        whole = f"{found['study']:.1f} | {found['probe']:.1f} | {found['mb']:,.0f}"
        sets = f"{found['relevant']:.1f} relevant, {found['irrelevant']:.1f} irrelevant"
        print(f"| {n:,} | {compared} | {whole} | {sets} |", flush=True)
        last = n, found["cpu"]


if __name__ == "__main__":
    main()
