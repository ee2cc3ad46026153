"""What each answerer of the planted world does, in words that follow its name."""

import json

# By the part of a name before the colon; of the cheaters, two do something else.
BEHAVIOUR = {
    "seer": "looks at the evidence",
    "reader": "looks at the pixels",
    "cheater": "follows planted shortcuts",
    "leaner": "follows shortcuts, else looks",
    "blind": "sees the question alone",
    "deaf": "sees the picture alone",
    "guesser": "guesses at random",
    "refuser": "refuses where there is no picture",
    "talker": "looks, answers in sentences",
    "shouter": "looks, answers in other letters",
    "letterer": "looks, answers by letter",
    "mumbler": "says nothing of use",
    "hedger": "looks, names two answers",
    "abstainer": "looks at half of the examples",
    "mix": "a mixture of others",
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
