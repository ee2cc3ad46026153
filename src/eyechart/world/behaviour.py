"""What each answerer of the planted world does, in words that follow its name."""

import json

# By the part of a name before the colon; of the cheaters, two do something else.
BEHAVIOUR = {
    "seer": "looks at the objects that a question is about",
    "reader": "looks at the pixels of the picture",
    "cheater": "follows planted shortcuts and never looks at the evidence",
    "leaner": "follows planted shortcuts and looks only where none applies",
    "blind": "sees the question alone",
    "deaf": "sees the picture alone",
    "guesser": "picks an answer at random",
    "refuser": "refuses where there is no picture",
    "talker": "looks, and answers in sentences",
    "shouter": "looks, and answers in another case or with punctuation",
    "letterer": "looks, and answers by letter",
    "mumbler": "says nothing that could be read as an answer",
    "hedger": "looks, and names two answers",
    "abstainer": "looks at half of the examples and is not sure of the others",
    "mix": "answers each example as one of several others would",
}
OPTIONS_ALONE = {"cheater:decoy", "cheater:length"}


class Answerer:
    """An answerer whose behaviour is known."""

    name: str

    @property
    def identity(self) -> str:
        """Return as JSON what it does."""
        known = "sees the options alone" if self.name in OPTIONS_ALONE else BEHAVIOUR[self.name.partition(":")[0]]
        return json.dumps({"kind": "world", "behaviour": known})
