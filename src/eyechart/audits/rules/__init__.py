"""Mined rules, the counterexamples to them, and how far a model follows them (VQA-CE, Dancette et al., ICCV 2021).

Items are the words of the question and the labels of the objects in the image. A rule X -> a says that examples with
the items X have the answer a:

    support(X) = train examples with X        joint(X, a) = those with the answer a
    confidence = joint / support >= 0.3       joint >= 8

An example is easy where a rule that it meets gives one of its human answers, a counterexample where it meets rules and
all of them are wrong, and uncovered (the authors' `hard`) where it meets none.

Deliberate differences from the paper and its code:
- vocabularies are sorted, ties are settled and confidences are compared as whole numbers: the same rules everywhere;
- repeated words and objects count once (`compat="release"` restores the authors' count);
- every rule is tested on held-out images: `confirm`;
- the empty antecedent is listed as kind `prior` but is otherwise ignored;
- the drop on counterexamples is compared with a matched control (`judge`), and agreement with a rule with the model's
  rate of that answer where the rule does not apply (`exploited`).
"""

from eyechart.audits.rules.audit import RulesAudit as RulesAudit
