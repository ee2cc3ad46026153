r"""Which modalities a model perceives: the Perceptual Score (Gat, Schwartz & Schwing, NeurIPS 2021).

Acc(M) is a model's score on an example as it is, Acc(M \ {m}) its score without a modality m:

    P(m) = Acc(M) - Acc(M \ {m})            of an example                                        Eq. 2
    Acc(M \ {m}) = E_j [score of (x with the m of x_j)]     j drawn from the judged examples      Eq. 3
    P = mean over examples of P(m), divided by Z                                                Eq. 1
    Z_D = 1 - score of the most frequent train answer (`complement`)                            Eq. 4
          or that score itself (`majority`), which the paper's Tables 6 and 7 divide by
    Z_D,f = mean of Acc(M)                                                                      Eq. 5

Differences from the paper, each on purpose: donors are never the example itself nor one of the same content (`uniform`
is the paper's way); four donors an example instead of five in each of five repeats; the interval covers examples as
well as donors, where the paper's +- is the spread of repeats alone; nothing is clipped; "ignores it" is a test of
equivalence. Removals other than permutation, interactions, EMAP, gain, leakage and mirage score are not in the paper.
"""

from eyechart.audits.perception.audit import PerceptionAudit

__all__ = ["PerceptionAudit"]
