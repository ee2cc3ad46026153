"""Drawing decoys: answers in numbers, candidates, filters between answers, and the choice among what remains."""
