"""No file outside the run and the folder of its pictures is ever served, however it is asked for."""

import io
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from starlette.testclient import TestClient

from eyechart.data.pictures import GRAY
from eyechart.data.probes import Prober
from eyechart.data.store import Store
from eyechart.data.tables import PICTURE
from eyechart.viewing.server import Guard, build_explorer


def opened(run: Store, guard: Guard) -> TestClient:
    return TestClient(build_explorer(run, guard), base_url="http://127.0.0.1:8000", cookies={guard.cookie: guard.token})


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def point(run: Store, path: str) -> None:
    """Let every picture of the run lie at a path."""
    file = run.folder / "data" / "images.parquet"
    pl.read_parquet(file).with_columns(path=pl.lit(path)).write_parquet(file)


def test_a_picture_is_shown_whole_and_with_boxes_hidden(client: TestClient) -> None:
    whole, rest = (
        pixels(client.get("/picture", params={"id": "e/050", "condition": name}).content) for name in ("plain", "rest")
    )
    assert whole.shape == rest.shape == (30, 40, 3)
    assert rest[:, 2:18].std() < whole[:, 2:18].std() / 2, "the left half is painted over"
    assert np.abs(rest[:, 24:] - whole[:, 24:]).mean() < 8, "the right half is not"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "x/../../secret.png",
        "/etc/passwd",
        "{outside}",
        "link.png",
        "folder/secret.png",
        "http://127.0.0.1/x.png",
        "\0",
    ],
)
def test_a_dataset_cannot_name_a_file_elsewhere(fresh: Store, guard: Guard, tmp_path: Path, path: str) -> None:
    """A picture outside would open if it were read: only where it lies keeps it from being shown."""
    outside = tmp_path / "secret.png"
    pictures = tmp_path / "pictures"
    shutil.copy(pictures / "0.png", outside)
    (pictures / "link.png").symlink_to(outside)
    (pictures / "folder").symlink_to(tmp_path)
    point(fresh, path.replace("{outside}", str(outside)))

    assert opened(fresh, guard).get("/picture", params={"id": "e/050"}).status_code == 404


def test_a_link_inside_the_folder_is_followed(fresh: Store, guard: Guard, tmp_path: Path) -> None:
    (tmp_path / "pictures" / "link.png").symlink_to(tmp_path / "pictures" / "0.png")
    point(fresh, "link.png")

    assert opened(fresh, guard).get("/picture", params={"id": "e/050"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.py",
        "/data/examples.parquet",
        "/../manifest.json",
        "/%2e%2e/manifest.json",
        "/manifest.json",
        "/picture/../manifest.json",
    ],
)
def test_no_address_leads_to_a_file(client: TestClient, path: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize("name", ["../0.png", "..%2f0.png", "i0", "", "/etc/passwd", "e/999"])
def test_a_picture_is_asked_for_by_the_id_of_an_example_only(client: TestClient, name: str) -> None:
    assert client.get("/picture", params={"id": name}).status_code == 404


@pytest.mark.parametrize("name", ["../../data/manifest", "/etc", "plain/../rest", "*"])
def test_names_of_models_and_conditions_are_no_paths(client: TestClient, name: str) -> None:
    for path in ("/examples", "/compare", "/example", "/paired", "/picture"):
        words = {"id": "e/050", "model": name, "first": name, "second": name, "condition": name, "audit": name}
        answer = client.get(path, params=words)
        assert answer.status_code == 200
        assert "root" not in answer.text[:200]


def test_the_further_pictures_of_an_example_are_shown(fresh: Store, guard: Guard, tmp_path: Path) -> None:
    file = fresh.folder / "data" / "examples.parquet"
    pl.read_parquet(file).with_columns(images=pl.lit(["i2", "i5"])).write_parquet(file)
    client = opened(fresh, guard)
    second = pixels(client.get("/picture", params={"id": "e/050", "place": "1"}).content)

    truths = [np.asarray(Image.open(tmp_path / "pictures" / f"{n}.png")).astype(int) for n in range(12)]
    assert np.argmin([np.abs(second - truth).mean() for truth in truths]) == 5
    assert client.get("/picture", params={"id": "e/050", "place": "2"}).status_code == 404
    assert "place=1" in client.get("/example", params={"id": "e/050"}).text


def test_pictures_of_a_video_are_shown_in_the_order_of_a_condition_with_their_times(fresh: Store, guard: Guard) -> None:
    """What a probe chooses is shown, all of it edited as the probe says, and the page says which picture is which."""
    file = fresh.folder / "data" / "images.parquet"
    shown = pl.lit([{"image": f"i{n}", "time": 61.5 * n} for n in (2, 5, 7)], pl.List(PICTURE))
    pl.read_parquet(file).with_columns(pictures=pl.when(pl.col("image") == "i2").then(shown)).write_parquet(file)
    probes = Prober(fresh.data).complete(
        pl.DataFrame({"id": ["e/050"], "pictures": [[2, 0]], "removal": ["image=blank"]}), "image=blank"
    )
    fresh.write(probes, fresh.probe_file("image=blank"))
    client = opened(fresh, guard)
    asked = {"id": "e/050", "condition": "image=blank"}

    captions = [client.get("/example", params=one).text for one in ({"id": "e/050"}, asked)]
    assert re.findall("<figcaption>(.*?)<", captions[0]) == ["1 at 2:03.0", "2 at 5:07.5", "3 at 7:10.5"]
    assert re.findall("<figcaption>(.*?)<", captions[1]) == [
        "1 at 7:10.5 (in the data 3)",
        "2 at 2:03.0 (in the data 1)",
    ]
    assert (pixels(client.get("/picture", params=asked | {"place": "1"}).content) == GRAY).all()


def test_data_without_pictures_show_none(fresh: Store, guard: Guard) -> None:
    file = fresh.folder / "data" / "images.parquet"
    pl.read_parquet(file).drop("path", "width", "height").write_parquet(file)
    client = opened(fresh, guard)
    for path in ("/examples", "/rule?rule=2", "/compare", "/example?id=e/050"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "/picture?" not in answer.text
    assert "data have no pictures" in client.get("/example?id=e/050").text
