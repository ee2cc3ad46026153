"""The networks by name, each imported on demand."""

from eyechart.base.registry import Registry, class_over
from eyechart.zoo.network import Network, NetworkSizes

_HERE = "eyechart.zoo.networks"
NETWORKS: Registry[type[Network]] = Registry(
    "network",
    {
        "prior": f"{_HERE}.prior:Prior",
        "majority": f"{_HERE}.prior:Majority",
        "question-only": f"{_HERE}.updn:QuestionOnly",
        "image-only": f"{_HERE}.updn:ImageOnly",
        "answer-only": f"{_HERE}.mlp:AnswerOnly",
        "mlp-a": f"{_HERE}.mlp:AnswerOnly",
        "mlp-qa": f"{_HERE}.mlp:QuestionAnswer",
        "mlp-ia": f"{_HERE}.mlp:ImageAnswer",
        "mlp-iqa": f"{_HERE}.mlp:ImageQuestionAnswer",
        "updn": f"{_HERE}.updn:UpDn",
        "updn2": f"{_HERE}.updn:UpDn2",
        "san": f"{_HERE}.san:SAN",
        "ban": f"{_HERE}.ban:BAN",
        "block": f"{_HERE}.block:BLOCK",
        "s-mrl": f"{_HERE}.smrl:SMRL",
        "mcan": f"{_HERE}.mcan:MCAN",
        "mac": f"{_HERE}.mac:MAC",
        "symbolic": f"{_HERE}.symbolic:Symbolic",
        "lxmert": f"{_HERE}.pretrained:LXMERT",
        "visualbert": f"{_HERE}.pretrained:VisualBERT",
    },
    class_over(Network),
)


def make_network(name: str, sizes: NetworkSizes) -> Network:
    """Build a network with fresh weights, drawn with torch's current seed."""
    return NETWORKS.get(name)(sizes)
