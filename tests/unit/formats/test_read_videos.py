"""Videos become evenly spaced frames, from files or folders of frames, and columns become modalities and clusters."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import eyechart
from eyechart.base.errors import DataError, EyechartError, FileFormatError, MissingExtraError, SettingError
from eyechart.cli import app
from eyechart.data.dataset import Dataset
from eyechart.data.pictures import show_all_pictures
from eyechart.formats.videos import read_frames, with_frames

av = pytest.importorskip("av")

STEP = 6  # of the gray from frame to frame, of which there are ten a second


def film(path: Path, frames: int = 40) -> None:
    """Write a video that grows lighter."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(frames):
            gray = np.full((48, 64, 3), STEP * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(gray, format="rgb24")))
        container.mux(stream.encode())


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out videos as files: two sound ones, one cut short, one that is a list of others."""
    folder = tmp_path_factory.mktemp("films")
    film(folder / "007.mp4")
    (folder / "part").mkdir()
    film(folder / "part" / "b.avi", frames=2)
    (folder / "cut.mp4").write_bytes((folder / "007.mp4").read_bytes()[:2000])
    (folder / "list.mp4").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{folder / '007.mp4'}\n")
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Ask three questions about each video, one of which is nowhere."""
    names = ["007", "b", "cut", "list", "gone", None]
    rows = [
        {"id": f"{name}-{n}", "videoID": name, "question": f"what happens {n}?", "answer": "it grows lighter"}
        for name in names
        for n in range(3)
    ]
    (tmp_path / "quiz.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "quiz.jsonl"


@pytest.fixture
def quiz(table: Path) -> Dataset:
    return eyechart.read(table, modalities={"video": "videoID"})


def test_a_declared_column_is_a_modality_and_the_cluster_of_data_without_images(quiz: Dataset) -> None:
    """Three questions about a video are one cluster; a question about none is one of its own."""
    assert quiz.modalities == ("video", "question")
    assert quiz.cluster == "video"
    assert quiz.clusters().n_unique() == 5 + 3
    assert ("noted", "row without a value of 'video'", 3) in quiz.counts.select("status", "reason", "n").rows()


def test_any_column_can_be_a_modality_or_the_cluster_and_images_stay(tmp_path: Path) -> None:
    rows = [{"image": "a", "question": "?", "answer": "x", "clip": float(n), "speaker": n % 2} for n in range(4)]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    sound = eyechart.read(tmp_path / "t.parquet", modalities={"audio": "clip"}, cluster="speaker")

    assert sound.modalities == ("audio", "image", "question")
    assert sound.examples["audio"].to_list() == ["0", "1", "2", "3"]
    assert sound.clusters().to_list() == ["0", "1", "0", "1"]
    assert eyechart.read(tmp_path / "t.parquet", modalities={"audio": "clip"}).cluster == "image"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"modalities": {"video": "videoId"}}, "did you mean 'videoID'"),
        ({"modalities": {"answer": "videoID"}}, "'answer', which is a column of every dataset"),
        ({"cluster": "vidoID"}, "did you mean 'videoID'"),
        ({"modalities": 3}, "modalities"),
    ],
)
def test_what_cannot_be_declared_is_one_clear_error(table: Path, given: dict[str, object], found: str) -> None:
    with pytest.raises(EyechartError, match=found):
        eyechart.read(table, **given)


def test_frames_are_those_shown_in_the_middle_of_equal_parts(films: Path) -> None:
    frames = read_frames(films / "007.mp4", 4)

    assert [time for time, _ in frames] == [0.5, 1.5, 2.5, 3.5]
    for time, pixels in frames:
        assert pixels.shape == (48, 64, 3)
        assert abs(float(pixels.mean()) - STEP * 10 * time) < 4  # lossy


def test_videos_become_images_with_their_frames_and_times(quiz: Dataset, films: Path, tmp_path: Path) -> None:
    shown = with_frames(quiz, films, frames=4, to=tmp_path / "frames")
    (video,) = shown.images.table.filter(pl.col("image") == "007")["pictures"].to_list()
    pictures = show_all_pictures(shown.examples.select("id", "image"), shown.images)

    assert shown.modalities == ("image", "question")
    assert shown.clusters().to_list() == quiz.clusters().to_list()
    assert shown.count_pictures().to_list() == [4] * 3 + [2] * 3 + [None] * 12
    assert [frame["time"] for frame in video] == [0.5, 1.5, 2.5, 3.5]
    assert [[round(each.pixels.mean() / 30) for each in own] for own in pictures[:4]] == [[1, 3, 5, 7]] * 3 + [[0, 0]]


def test_damaged_videos_and_those_that_are_nowhere_are_counted(quiz: Dataset, films: Path, tmp_path: Path) -> None:
    """A list of other files is no video, so none of them is opened."""
    counts = with_frames(quiz, films, frames=4, to=tmp_path / "frames").counts.select("status", "reason", "n").rows()

    assert ("noted", "video that is damaged, left out", 2) in counts
    assert ("noted", "video of fewer than 4 frames", 1) in counts
    assert ("noted", "row whose video cannot be shown", 12) in counts


def test_frames_are_decoded_once_and_lie_in_the_dataset(table: Path, films: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    words = ["read", "table", str(table), "-o", str(tmp_path / "DATA"), "--modality", "video=videoID", "--json"]
    done = CliRunner().invoke(app, [*words, "--videos", str(films), "--frames", "3"])
    assert done.exit_code == 0, done.output
    shutil.move(tmp_path / "DATA", tmp_path / "elsewhere")
    data = Dataset.load(tmp_path / "elsewhere")

    assert data.cluster == "video"
    assert len(list((tmp_path / "elsewhere" / "pictures").iterdir())) == 3 + 2
    assert [len(own) for own in show_all_pictures(data.examples.select("image"), data.images)[:4]] == [3, 3, 3, 2]


def test_a_temporary_folder_of_frames_lasts_as_long_as_the_data(quiz: Dataset, films: Path, tmp_path: Path) -> None:
    with_frames(quiz, films, frames=2).save(tmp_path / "saved")
    saved = Dataset.load(tmp_path / "saved")

    assert [len(own) for own in show_all_pictures(saved.examples.select("image"), saved.images)[:1]] == [2]


def test_folders_of_frames_are_shown_in_place_in_their_order(quiz: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "frames" / "007"
    folder.mkdir(parents=True)
    for number in range(12):
        Image.fromarray(np.full((4, 4, 3), number, np.uint8)).save(folder / f"frame_{number}.png")
    shown = with_frames(quiz, tmp_path / "frames", frames=3)
    (own, *_) = show_all_pictures(shown.examples.select("image"), shown.images)

    assert [int(each.pixels[0, 0, 0]) for each in own] == [2, 6, 10]
    assert shown.images.table["pictures"].explode().struct.field("time").null_count() == shown.images.table.height + 2
    assert not list((tmp_path / "frames").glob("*.jpg"))


def test_two_files_for_one_video_are_an_error_and_not_a_guess(quiz: Dataset, films: Path, tmp_path: Path) -> None:
    for place in ("train", "test"):
        (tmp_path / "films" / place).mkdir(parents=True)
        shutil.copy(films / "007.mp4", tmp_path / "films" / place / "007.mp4")

    with pytest.raises(FileFormatError, match=r"one file or folder for the video '007'; found .*test.* and .*train"):
        with_frames(quiz, tmp_path / "films")


def test_what_has_no_videos_is_one_clear_error(quiz: Dataset, films: Path, tmp_path: Path) -> None:
    bare = Dataset("bare", quiz.examples.drop("video"), quiz.images, ("question",), "videoID")
    both = Dataset("both", quiz.examples.with_columns(image=pl.lit("a")), eyechart.Images.named(pl.Series(["a"])))

    with pytest.raises(DataError, match="say which column names the videos, as in --modality video=videoID"):
        with_frames(bare, films)
    with pytest.raises(DataError, match="examples of videos alone; found examples with an image as well"):
        with_frames(both, films)
    with pytest.raises(FileFormatError, match="found none named like '007'"):
        with_frames(quiz, tmp_path)
    with pytest.raises(FileFormatError, match=r"a folder of videos at .*nowhere; found none"):
        with_frames(quiz, tmp_path / "nowhere")
    with pytest.raises(SettingError, match="at least one frame; found 0"):
        with_frames(quiz, films, frames=0)


def test_without_the_package_only_files_cannot_be_read(
    quiz: Dataset, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'eyechart\[video\]'"):
        with_frames(quiz, films)
