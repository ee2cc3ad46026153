"""The planted world: scenes, questions and known shortcuts, and answerers that do or do not use them."""

from eyechart.world.answerers import ANSWERERS, load_answerer
from eyechart.world.make import World, make_world, read_world
from eyechart.world.settings import WorldSettings

__all__ = ["ANSWERERS", "World", "WorldSettings", "load_answerer", "make_world", "read_world"]
