"""The planted world: scenes, questions and shortcuts whose truth is known, and answerers that use them or do not."""

from eyechart.world.answerers import ANSWERERS, load_answerer
from eyechart.world.make import World, make_world, read_world
from eyechart.world.settings import WorldSettings

__all__ = ["ANSWERERS", "World", "WorldSettings", "load_answerer", "make_world", "read_world"]
