"""What the audit brings along: how its conditions look, and the forms its repaired options are exported in."""

import re

from eyechart.audits.decoys.recipes import IOU, QOU, RANDOM
from eyechart.audits.decoys.sets import ORIG, REPAIRED
from eyechart.furniture import Furniture, Look

SAID = {
    ORIG: "own options",
    IOU: "decoys from the image",
    QOU: "decoys from similar questions",
    REPAIRED: "decoys from both",
    "all": "own options and decoys from both",
    RANDOM: "random decoys",
}
HIDDEN = {  # behind the name of a set -> what that leaves, and the colour of what is taken away
    "": ("", "options"),
    "-image": (" without the image", "image"),
    "-question": (" without the question", "question"),
    "-image-question": (" alone", "both"),
}
LETTERS = {  # what is visible, as the paper and the charts have it
    "I+Q+A": ("image, question and options", "plain"),
    "Q+A": ("question and options", "image"),
    "I+A": ("image and options", "question"),
    "A": ("options alone", "both"),
    "Random": ("chance", "other"),
}
LOOKS = (
    *(
        Look(re.escape(name + hidden), said + left, color)
        for name, said in SAID.items()
        for hidden, (left, color) in HIDDEN.items()
    ),
    *(Look(f"rotate#{by}", f"options shifted by {by}", "options") for by in range(1, 10)),
    Look(r"rotate(#\d+)?", "options shifted", "options"),
    *(Look(re.escape(letters), said, color) for letters, (said, color) in LETTERS.items()),
)
EXPORTS = {
    "decoys-qavg": "eyechart.audits.decoys.export.qavg:export_qavg",
    "decoys-vqa": "eyechart.audits.decoys.export.vqa:export_vqa",
    "decoys-vlmeval": "eyechart.audits.decoys.export.vlmeval:export_vlmeval",
    "decoys-lmms-eval": "eyechart.audits.decoys.export.lmms_eval:export_lmms_eval",
    "decoys-inspect": "eyechart.audits.decoys.export.inspect_ai:export_inspect",
}
FURNITURE = Furniture(looks=LOOKS, exports=EXPORTS)
