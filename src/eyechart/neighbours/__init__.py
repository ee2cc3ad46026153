"""Which texts are alike: vectors of texts, and the nearest of each."""

from eyechart.neighbours.search import Neighbours, find_nearest
from eyechart.neighbours.vectors import WordVectors, make_vectors, mean_vectors

__all__ = ["Neighbours", "WordVectors", "find_nearest", "make_vectors", "mean_vectors"]
