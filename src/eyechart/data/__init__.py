"""Define the nouns: datasets, predictions, results, probes, pictures, and the folder of a run."""
