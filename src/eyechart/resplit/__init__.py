"""New splits of a dataset that change what is trained on, each a function of the data, a recipe and a seed.

`eyechart read resplit DATA --set recipe=NAME -o NEW` makes one; the recipe and its settings stand in the new dataset's
counts, and the old split in its column `split_before`.
"""

from eyechart.resplit.read import read_resplit as read_resplit
