"""Mine rules that predict the answer from items, and match them with examples: arrays in, arrays out."""

from eyechart.mining.match import Matches, match
from eyechart.mining.mine import bytes_per_rule, mine, prior
from eyechart.mining.rules import Rules
from eyechart.mining.settings import MiningSettings
from eyechart.mining.transactions import Accepted, Transactions

__all__ = [
    "Accepted",
    "Matches",
    "MiningSettings",
    "Rules",
    "Transactions",
    "bytes_per_rule",
    "match",
    "mine",
    "prior",
]
