"""Is an answer right for the right reasons? (FPVG: Reich, Putze and Schultz, EMNLP Findings 2023).

Each question is asked three times: with all of the picture (Eq. 1), with the evidence alone (Eq. 2: `evidence`), and
with everything but the evidence (Eq. 3: `rest`). A model that relies on the evidence keeps its answer in the second
and changes it in the third:

    grounded = (plain == evidence) and (plain != rest)        Eq. 4, its mean Eq. 5, the rest Eq. 6
    four cells: grounded or not, times right or wrong         Eq. 9 to 12; they sum to 1
    sufficiency = p(plain) - p(evidence)                      Eq. 7, p of the answer that was given to the whole
    comprehensiveness = p(plain) - p(rest)                    Eq. 8

An object of the image is relevant if its IoU with a box of the evidence is above 0.5, and irrelevant if it covers at
most 25 % of every box of it.

Deliberate differences from the paper and its code:
- a question without a relevant or an irrelevant object is counted but not asked; the authors' loader showed the
  whole image instead, and left the question out later;
- the covered share is relative to the annotated object, as in the paper; with `compat="release"` it is relative to the
  detection, and boxes are whole-numbered, as in the authors' code;
- answers are compared in their normal form (`same="raw"`: as they are); a refusal is an answer of its own;
- with soft scores the cells are soft: grounded x score, so that they still sum to 1 and to the accuracy;
- models that see pixels are asked too: boxes are hidden in the picture, and the background stays under `rest`;
- ties in an importance ranking are shared, not broken by position.
"""

from eyechart.audits.grounding.audit import GroundingAudit as GroundingAudit
