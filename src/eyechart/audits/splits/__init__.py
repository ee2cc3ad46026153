"""Nine out-of-distribution test sets from one dataset (VQA-VS, Si et al., Findings of EMNLP 2022).

Each example has a concept of each shortcut: its question type (QT), the word (KW) and the object (KO) that are most
informative about its answer, the best two of each (KWP, KOP), and their combinations:

    MI(w, a) = log( f(w, a) / (f(w) f(a) / K) )                               Eq. 6; Eq. 9 for objects
    e(G) = - sum_m p(a_m) log p(a_m),  normalised by log M                    Eq. 7
    E = sum_n e(G_n) R_n over the groups of the training data                 Eq. 8

The examples of one concept form a group, M is its number of answers. A group below 0.9 is imbalanced; in it an answer
with fewer examples than 1.2 times the mean is tail, any other is head. The tails of a shortcut are its OOD test set.

Deliberate differences from the paper, which came without construction code:
- the data keep their own splits (`eyechart read resplit` merges and divides them as in the paper): merging would make
  test rows of a given model's training rows;
- the tokeniser, ties, the removal of the type from the question, examples without a word or object, and which
  examples are counted in f are settings;
- a group with one answer has entropy 1, as in GQA-OOD's code: it is balanced;
- every accuracy and every drop has an interval clustered by image, and each drop is accompanied by a matched one.
"""

from eyechart.audits.splits.audit import SplitsAudit as SplitsAudit
