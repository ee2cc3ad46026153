"""The nouns and adjectives of WordNet 3.0, and the Wu-Palmer similarity of words over them.

Shipped with the package under WordNet's own licence (LICENSE.wordnet); built by tools/build_taxonomy.py.
"""

from eyechart.wordnet.taxonomy import Senses, Taxonomy

__all__ = ["Senses", "Taxonomy"]
