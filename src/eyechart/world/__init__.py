"""The planted world: scenes, questions and shortcuts whose truth is known, and answerers that use them or do not."""

from eyechart.world.load import ANSWERERS, load_answerer
from eyechart.world.make import World, make_world
from eyechart.world.read import read_world
from eyechart.world.settings import Settings

__all__ = ["ANSWERERS", "Settings", "World", "load_answerer", "make_world", "read_world"]
