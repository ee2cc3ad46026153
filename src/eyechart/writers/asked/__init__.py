"""Write what a run asks as datasets of other tools: they ask, and their logs come back through the readers."""
