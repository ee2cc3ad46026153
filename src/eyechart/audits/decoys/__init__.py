"""Decoys: whether options give the answer away, and better options (Chao, Hu and Sha, NAACL 2018).

The diagnosis asks what solves a multiple-choice question without understanding it: how often a text is a target and how
often a decoy,

    P(correct | C) = T / (T + D / K),  0.5 where C was never seen                                        (Eq. 2)

simple cues, and scorers f(c, i) that see the options alone (A), with the question (Q + A), with the objects of the
image (I + A), or all of it (Sect. 3). The repair draws decoys that fit the question (QoU: answers to similar
questions), or the image (IoU: answers to its other questions), and are as often targets elsewhere (Sect. 4).

Deliberate differences from the paper and its code:
- the scorer is a logistic regression over sparse features, cross-validated by image, in place of the network of Eq. 1;
  a control that learns from random targets must find nothing;
- every number has an interval and is compared with chance on the same examples, which differ in their options;
- each use as a decoy counts 1 / K with the example's own K, since examples may have fewer decoys;
- decoys are checked against every human answer and against each other, and a filler is checked like any other;
- the order of new options is a hash, so that it reveals nothing; neutrality is tested, not only counted.
"""

from eyechart.audits.decoys.audit import DecoysAudit as DecoysAudit
