"""The conditions of the audit, and how they look."""

from eyechart.furniture import Furniture, Look

EVIDENCE, REST = "evidence", "rest"
WITHOUT, KEEP, DROP = "without", "keep", "drop"  # each object once; a percentage of the objects

FURNITURE = Furniture(
    looks=(
        Look(EVIDENCE, "the evidence alone", "evidence"),
        Look(REST, "everything but the evidence", "rest"),
        # Charts of several percentages name `keep` and `drop` alone.
        Look(rf"{KEEP}(@\d+)?", "the most relevant objects alone", "evidence"),
        Look(rf"{DROP}(@\d+)?", "everything but the most relevant objects", "rest"),
        Look(rf"{WITHOUT}(#\d+)?", "everything but one object", "rest"),
    )
)
