"""Run the analyses of section 4.2 of the Perceptual Score on Social-IQ 2.0 with light text models.

    python benchmarks/perception_socialiq.py FOLDER        (with qa_train.json and qa_val.json, also packed)

A candidate is judged true or false. Of the three wrong candidates of a question one is kept, chosen by a hash, so that
half of all are true. `answer only` is a logistic regression on the words of the candidate; `question and answer` has
the words of the question, and products with its first word, besides; `sentiment` says true where the compound score
of VADER is above 0, and was never trained. None sees the video. Train and val share no video.
"""

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import eyechart
from eyechart import Dataset, Images
from eyechart.audits.perception import PerceptionAudit
from eyechart.base.hashing import hash_text
from eyechart.data.protocols import Model
from eyechart.language.sentiment import sentiment

MODALITIES = ("candidate", "question", "video")


def read_pairs(folder: Path) -> Dataset:
    """Keep the true candidate of each question and one false one."""
    data = eyechart.read("socialiq", folder, form="binary")
    lot = pl.Series("lot", hash_text(data.examples["id"], 7))
    shuffled = data.examples.with_columns(lot).sort("qid", "answer", "lot")
    kept = shuffled.unique(["qid", "answer", "split"], keep="first", maintain_order=True).drop("lot").sort("id")
    return replace(data, examples=kept)


@dataclass
class TextModel:
    """Judge candidates by their words, with or without the question."""

    name: str
    asks: bool
    fitted: Any = field(default=None)

    def texts(self, table: pl.DataFrame) -> list[str]:
        """Write what the model reads; words of the question, and products with its first word, are marked."""
        if not self.asks:
            return table["candidate"].to_list()
        lines = []
        for question, candidate in table.select(pl.col("question", "candidate").fill_null("")).iter_rows():
            first = (question.split() or [""])[0].lower()
            marked = [f"q_{word}" for word in question.lower().split()]
            crossed = [f"{first}_x_{word}" for word in candidate.lower().split()]
            lines.append(" ".join([candidate, *marked, *crossed]))
        return lines

    def fit(self, table: pl.DataFrame) -> "TextModel":
        """Learn from train."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        self.fitted = make_pipeline(words, LogisticRegression(max_iter=1000))
        self.fitted.fit(self.texts(table), table["answer"].to_list())
        return self

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Say true or false."""
        predicted = self.fitted.predict(self.texts(probes))
        return pl.DataFrame({"id": probes["id"], "answer": pl.Series(predicted, dtype=pl.String)})


@dataclass(frozen=True)
class Feeling:
    """Take what sounds good for true."""

    name: str = "sentiment"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:  # noqa: ARG002 - the contract of a model
        """Say true or false."""
        good = sentiment(probes["candidate"]).fill_null(0) > 0
        return pl.DataFrame({"id": probes["id"], "answer": np.where(good, "true", "false")})


def main() -> None:
    """Print the layout of Table 3, and the sentiment of true and false candidates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    data = read_pairs(parser.parse_args().folder)
    train = data.examples.filter(pl.col("split") == "train")
    shared = train.join(data.examples.filter(pl.col("split") == "val"), on="video", how="semi")["video"].n_unique()
    print(f"{train.height} train candidates; videos in both splits: {shared}\n")
    audit = PerceptionAudit(modalities=MODALITIES, score="exact", sentiment="candidate", by=("idx_type", "sentiment"))
    texts = [TextModel("question and answer", asks=True).fit(train), TextModel("answer only", asks=False).fit(train)]
    models: tuple[Model, ...] = (*texts, Feeling())
    print("| model | removed | Acc | Acc without | P | P/Z_D | P/Z_f | majority | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in models:
        result = eyechart.audit(data, model, [audit])["perception"]
        for name in MODALITIES:
            keys = [("accuracy", "plain"), *((each, name) for each in SHOWN), ("majority", "plain")]
            found = [result.measure(*key) for key in keys]
            shown = [f"{100 * each.value:.1f}" for each in found]
            shown[2] += f" [{100 * found[2].low:.1f}, {100 * found[2].high:.1f}]"
            print(f"| {model.name} | {name} | " + " | ".join(shown) + f" | {result.verdict.state} |")
    study = eyechart.study(data, [audit])["perception"]
    print(study.tables["sentiment"])
    print(result.tables["groups"].filter(pl.col("removed") == "candidate"))


SHOWN = ("accuracy without", "perception", "perception / task", "perception / model")

if __name__ == "__main__":
    main()
