"""Read VQA v2 at full size, and a large file of JSON lines, beside json + pandas.

    python benchmarks/read.py [--gigabytes 2] [--share 1.0]

Files are made up, in the official form and size: 443,757 + 214,354 questions with ten answers each. Every reading runs
in a process of its own, so that its peak of memory is its own.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPLITS = {"train2014": 443_757, "val2014": 214_354}
WORDS = [
    "what",
    "color",
    "is",
    "the",
    "man",
    "doing",
    "in",
    "this",
    "picture",
    "of",
    "a",
    "dog",
    "near",
    "his",
    "red",
    "bus",
    "today",
]
ANSWERS = [
    "yes",
    "no",
    "red",
    "blue",
    "2",
    "1",
    "white",
    "man",
    "frisbee",
    "skateboarding",
    "on the left",
    "black and white",
]

READINGS = {
    "vqa2, eyechart": "from eyechart.formats import read\nprint(read('vqa2', {path!r}).examples.height)",
    "vqa2, json + pandas": """
import json, pandas, pathlib
frames = []
for split in ('train2014', 'val2014'):
    questions = json.loads(pathlib.Path({path!r}, f'v2_OpenEnded_mscoco_{{split}}_questions.json').read_text())
    annotations = json.loads(pathlib.Path({path!r}, f'v2_mscoco_{{split}}_annotations.json').read_text())
    asked = pandas.DataFrame(questions['questions'])
    people = pandas.DataFrame(annotations['annotations'])
    people['answers'] = [[one['answer'] for one in answers] for answers in people['answers']]
    frames.append(asked.merge(people, on='question_id', validate='1:1'))
print(len(pandas.concat(frames)))
""",
    "jsonl, eyechart": "from eyechart.formats import read\nprint(read('table', {path!r}).examples.height)",
    "jsonl, json + pandas": """
import json, pandas
with open({path!r}) as lines:
    print(len(pandas.DataFrame([json.loads(line) for line in lines])))
""",
}


def write_vqa2(folder: Path, share: float) -> None:
    """Write questions and annotations of both splits, or of a share of them, in the official form."""
    draw = random.Random(0)
    for split, n in ((split, round(share * whole)) for split, whole in SPLITS.items()):
        first = 1_000_000 if split.startswith("val") else 9
        numbers = [(image := first + i // 5, image * 1000 + i % 5) for i in range(n)]
        questions = [
            {"image_id": i, "question": f"{' '.join(draw.choices(WORDS, k=6))}?", "question_id": q} for i, q in numbers
        ]
        annotations = [annotation(draw, *number) for number in numbers]
        about = {"info": {}, "license": {}, "data_subtype": split, "data_type": "mscoco"}
        names = {f"v2_OpenEnded_mscoco_{split}_questions": {**about, "questions": questions}}
        names[f"v2_mscoco_{split}_annotations"] = {**about, "annotations": annotations}
        for name, content in names.items():
            (folder / f"{name}.json").write_text(json.dumps(content))


def annotation(draw: random.Random, image: int, question: int) -> dict[str, object]:
    """Make an annotation with ten answers."""
    people = draw.choices(ANSWERS, k=10)
    answers = [{"answer": word, "answer_confidence": "yes", "answer_id": i + 1} for i, word in enumerate(people)]
    kinds = {"question_type": "what is the", "answer_type": "other", "multiple_choice_answer": people[0]}
    return {**kinds, "answers": answers, "image_id": image, "question_id": question}


def write_lines(path: Path, gigabytes: float) -> None:
    """Write JSON lines of a given size."""
    draw = random.Random(0)
    block = [
        {"image": f"{i // 5}", "question": f"{' '.join(draw.choices(WORDS, k=30))}?", "answer": draw.choice(ANSWERS)}
        for i in range(20_000)
    ]
    text = "\n".join(map(json.dumps, block)) + "\n"
    with path.open("w") as lines:
        for _ in range(max(1, round(gigabytes * 1e9 / len(text)))):
            lines.write(text)


def measure(script: str, *, peer: bool) -> dict[str, float]:
    """Run a script and tell its rows, seconds and peak memory; a peer may fail, for want of memory."""
    start = time.perf_counter()
    command = [sys.executable, "-c", f"{script}\n{PEAK}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=not peer)
    if done.returncode:
        return {"rows": float("nan"), "seconds": float("nan"), "GB": float("nan")}
    rows, kilobytes = done.stdout.split()
    return {"rows": int(rows), "seconds": time.perf_counter() - start, "GB": int(kilobytes) / 1e6}


PEAK = "import resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def main() -> None:
    """Make the files, read them both ways, print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gigabytes", type=float, default=2.0, help="size of the JSON lines")
    options.add_argument("--share", type=float, default=1.0, help="of the questions of VQA v2")
    options.add_argument("--only", default="", help="run only the readings whose name begins so")
    given = options.parse_args()
    print(f"{'reading':<24}{'rows':>12}{'seconds':>10}{'peak GB':>10}")
    with tempfile.TemporaryDirectory() as folder:
        paths = {"vqa2": Path(folder) / "vqa2", "jsonl": Path(folder) / "lines.jsonl"}
        paths["vqa2"].mkdir()
        if "vqa2".startswith(given.only[:4]):
            write_vqa2(paths["vqa2"], given.share)
        if "jsonl".startswith(given.only[:5]):
            write_lines(paths["jsonl"], given.gigabytes)
        for name, script in READINGS.items():
            if name.startswith(given.only):
                found = measure(script.format(path=str(paths[name.split(",")[0]])), peer="pandas" in name)
                print(f"{name:<24}{found['rows']:>12,.0f}{found['seconds']:>10.1f}{found['GB']:>10.2f}")


if __name__ == "__main__":
    main()
