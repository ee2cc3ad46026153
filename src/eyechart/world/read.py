"""Read a planted world like any other dataset."""

from dataclasses import replace
from pathlib import Path

from eyechart.dataset import Dataset, Images
from eyechart.errors import SettingError
from eyechart.readers.description import described
from eyechart.world.make import make_world
from eyechart.world.settings import PLANTED, STRENGTH, Settings, Strength


@described(
    needs="nothing: it is made; with --set render=true its pictures are drawn too",
    sample="what color is the banana please?  yellow\nhow many bottles are there?  2",
)
def read_world(
    path: str | Path | None = None,
    *,
    seed: int = 0,
    images: int = 1000,
    questions: int = 5,
    strength: Strength = STRENGTH,
    test_strength: Strength | None = None,
    plant: tuple[str, ...] = PLANTED,
    noise: float = 0.15,
    shares: tuple[float, float, float] = (0.6, 0.1, 0.3),
    options: int = 4,
    render: bool = False,
) -> Dataset:
    """Make the world of these settings (see Settings); with `render` draw its pictures into the folder `path`."""
    if render and path is None:
        raise SettingError("a folder for the pictures", "render=True without path", "give path, or render=False")
    settings = Settings(seed, images, questions, strength, test_strength, plant, noise, shares, options)
    data = make_world(settings).data
    return draw_into(data, Path(path)) if render and path is not None else data


def draw_into(data: Dataset, folder: Path) -> Dataset:
    """Draw the pictures of a world into a folder and say where they are."""
    from eyechart.world.render import draw_pictures

    return replace(data, images=Images(draw_pictures(data.images.table, folder), folder))
