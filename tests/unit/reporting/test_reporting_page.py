"""A page is complete, escaped, well-formed and needs nothing from outside."""

import base64
import io
import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.data.images import Images
from eyechart.data.result import Result, Verdict, View, measures_table, name_measure, speak
from eyechart.data.store import Store
from eyechart.data.tables import COUNTS, PICTURE, empty
from eyechart.reporting import collect, collect_results, render, report
from eyechart.reporting.contents import Page
from eyechart.reporting.drawing import Drawing, DrawingColumn, prepare
from eyechart.reporting.gallery import Frame, arrange_cards, make_thumbnails
from eyechart.reporting.grid import drawing_grid, format_p
from eyechart.reporting.palette import NO_LOOKS
from packed import files_of, unpacked

NASTY = "<b>no</b>"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Read a page the way a strict reader would: every tag closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def html(page: Page) -> str:
    return unpacked(render(page))


def test_every_measure_count_and_sentence_is_on_the_page(page: Page, html: str) -> None:
    words = read(html).words

    for section in page.sections:
        assert section.verdict.sentence in words
        for row in section.measures:
            assert f"{row.text} {row.n:,}" in words
            assert (row.group or row.name) in words
        for count in section.counts:
            assert f"{count.reason or '-'} {count.n:,}" in words
        for name in section.settings:
            assert name in words


def test_the_data_and_the_way_back_to_it_are_on_the_page(page: Page, html: str) -> None:
    words = read(html).words

    assert page.facts is not None
    assert page.origin is not None
    for row in page.facts.counts:
        assert (f"{row.status} {row.reason or '-'} {row.n}" in words) == (row.reason is not None), "only what was lost"
    for split, n in page.facts.splits.items():
        assert f"{split} {n}" in words
    for row in page.coverage:
        assert f"{row.model} {row.condition} 4 2 (50.0%) 1 1 0 1 1" in words
    for model in ("a:one", "b/two"):
        assert f"{model} plain extra nobody asked 12" in words
    assert page.origin.command in words
    assert "seed 7" in words
    assert all(digest in words for digest in page.origin.inputs.values())
    assert "limited to 4 examples" in words


@pytest.mark.parametrize("kind", ["badge", "sign"])
def test_a_verdict_is_words_and_a_sign_not_a_colour(html: str, kind: str) -> None:
    shown = re.findall(rf'<span class="{kind} ([\w-]+)"><span aria-hidden="true">(.)</span> ([\w ]+)</span>', html)

    assert ("no", "✕", "no") in shown
    assert len({sign for _, sign, _ in shown}) == len({state for state, *_ in shown}) >= 2


def test_data_are_never_taken_for_html(html: str, nasty: str) -> None:
    reader = read(html)

    *specs, code = reader.scripts
    kinds = [attrs["type"] for tag, attrs in reader.seen if tag == "script"]
    assert kinds == ["application/json"] * len(specs) + ["module"]
    assert nasty not in html
    assert nasty not in code
    assert any(nasty in json.dumps(json.loads(spec), ensure_ascii=False) for spec in specs)
    assert html.count(escape(nasty)) > 20


def test_nothing_is_fetched(html: str) -> None:
    reader = read(html)
    links = [value or "" for _, attrs in reader.seen for name, value in attrs.items() if name in ("href", "src")]
    style = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")

    assert links
    assert all(link.startswith("#") for link in links)
    assert "url(" not in style
    assert "@import" not in style
    assert not {tag for tag, _ in reader.seen} & {"link", "iframe", "img", "object", "embed"}
    assert not any("src" in attrs for tag, attrs in reader.seen if tag == "script")


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    reader = read(html)
    ids = [attrs["id"] for _, attrs in reader.seen if "id" in attrs]
    links = [str(attrs["href"]) for tag, attrs in reader.seen if tag == "a"]
    targets = [link[1:] for link in links if link.startswith("#")]

    assert len(ids) == len(set(ids))
    assert set(targets) <= set(ids)


def test_the_same_run_gives_the_same_bytes(run: Store, tmp_path: Path) -> None:
    first, second = (report(run.folder, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))

    assert first == second


def test_a_report_leaves_only_the_page_and_replaces_the_old_one(result: Result, tmp_path: Path) -> None:
    place = tmp_path / "new" / "page.html"
    report(result, str(place))
    old = place.read_text(encoding="utf-8")

    assert report({"accuracy": replace(result, subject="another")}, place) == place
    assert list(place.parent.iterdir()) == [place]
    assert place.read_text(encoding="utf-8") != old


def test_a_run_of_studies_alone_is_a_page(data_only: Store) -> None:
    words = read(unpacked(render(collect(data_only)))).words

    assert "the data does not beat the floor." in words
    assert "of the probes usable" not in words


def test_no_result_at_all_is_a_page() -> None:
    assert "No audit has been run yet." in read(render(collect_results([]))).words


def test_results_without_views_are_a_page(result: Result) -> None:
    html = unpacked(render(collect_results([replace(result, views=())])))

    assert not any("data-chart" in attrs for _, attrs in read(html).seen)


def test_a_view_of_every_kind_is_set(kinds: Result) -> None:
    reader = read(unpacked(render(collect_results([kinds]))))

    words = reader.words
    assert sum("data-chart" in attrs for _, attrs in reader.seen) == 9
    assert all(view.title in words for view in kinds.views)
    assert "Nothing to draw." in words
    assert "No measures." in words


def test_an_interval_that_is_not_known_is_a_dash(result: Result) -> None:
    unknown = result.measures.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("value", "low", "high"))

    words = read(unpacked(render(collect_results([replace(result, measures=unknown)])))).words

    assert "- [-, -]" in words
    assert not re.search(r"\b(nan|None|null)\b", words, re.IGNORECASE)


def test_an_audit_that_wants_more_says_so(result: Result) -> None:
    words = read(render(collect_results([replace(result, wants_more=True)]))).words

    assert "More draws would narrow its intervals" in words


def test_a_question_of_the_data_stands_before_that_of_the_models(result: Result) -> None:
    study = replace(result, verdict=replace(result.verdict, question="Are the data well?"))
    words = read(render(collect_results([result, replace(result, subject="b")], [study]))).words

    assert words.count("Are the data well? Better than guessing?") == 1


def test_a_breakdown_has_its_title_and_is_made_when_its_subject_is_opened(result: Result) -> None:
    html = render(collect_results([result]))

    assert "<h4>3 measures by type</h4>" not in html
    assert "<h4>3 measures by type</h4>" in unpacked(html)


def test_settings_that_subjects_share_stand_once(html: str) -> None:
    assert html.count("Settings of accuracy") == 1


def test_a_large_scatter_brings_no_table(kinds: Result) -> None:
    rows = pl.DataFrame({"id": [str(k) for k in range(300)], "a": range(300), "b": range(300)})
    view = View("scatter", "rows", "cloud", "", {"x": "a", "y": "b"})

    html = unpacked(render(collect_results([replace(kinds, rows=rows, views=(view,))])))

    assert "cloud" in html
    assert "The numbers" not in html


def test_a_table_has_its_intervals_beside_its_values(kinds: Result) -> None:
    lines = next(view for view in kinds.views if view.title == "lines")

    grid = drawing_grid(prepare(kinds, lines))

    assert [head.name for head in grid.head] == ["keep", "right (points) [interval]", "order"]
    assert grid.rows[1] == ("50", "30.0 [25.0, 35.0]", "a")


@pytest.mark.parametrize(("p", "said"), [(None, None), (0.00001, "< 0.001"), (0.0314, "0.031"), (1.0, "1.000")])
def test_chances_are_spoken(p: float | None, said: str | None) -> None:
    assert format_p(p) == said


def test_a_run_of_six_models_stays_small_beside_the_runtime_of_the_charts(result: Result, tmp_path: Path) -> None:
    many = pl.concat(
        [result.measures.filter(pl.col("by").is_null())]
        + [result.measures.filter(group="type 1").with_columns(group=pl.lit(f"question type {k}")) for k in range(65)]
    )
    results = {f"m{k}": {"accuracy": replace(result, subject=f"m{k}", measures=many)} for k in range(6)}

    import vl_convert

    size = report(results, tmp_path / "page.html").stat().st_size
    assert size - len(vl_convert.javascript_bundle()) < 500_000


def test_measures_can_be_had_as_csv_at_full_precision(result: Result) -> None:
    html = render(collect_results([result]))
    table = pl.read_csv(files_of(html)["measures-csv"].encode())

    assert 'data-packed="measures-csv"' in html
    assert table["value"].to_list() == result.measures["value"].to_list()
    assert table["name"].to_list() == result.measures["name"].to_list()
    assert table["subject"].unique().to_list() == [result.subject]


def test_models_of_a_run_stand_side_by_side(page: Page, html: str) -> None:
    [comparison] = page.comparisons
    words = read(html).words

    assert comparison.audit == "accuracy"
    assert "Models side by side" in words
    for record in comparison.records:  # each a row of its own, so that no model is out of sight
        assert all(text in words for text in (name_measure(record), record["model"], speak(record)))


def test_a_gallery_shows_pictures_as_they_were_seen_with_boxes(tmp_path: Path) -> None:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, :40] = 250
    Image.fromarray(pixels).save(tmp_path / "a.png")
    images = Images(pl.DataFrame({"image": ["a"], "path": ["a.png"]}), tmp_path)
    cards = pl.DataFrame(
        {
            "image": ["a", "a", None],
            "hidden": [None, [[0.0, 0.0, 40.0, 40.0]], None],
            "things": [[{"label": NASTY, "box": [20.0, 10.0, 60.0, 30.0]}], [], []],
            "asked": ["what is it?", "what is left?", "no picture"],
            "said": ["a wall", None, NASTY],
        },
        schema_overrides={"hidden": pl.List(pl.Array(pl.Float64, 4))},
    )
    roles = {"image": "image", "hidden": "hidden", "boxes": "things", "title": "asked", "answer": "said"}
    drawing = prepare(
        Result(
            "a",
            "m",
            {},
            measures_table([]),
            pl.DataFrame({"id": [], "cluster": []}, schema={"id": pl.String, "cluster": pl.String}),
            {"counts": empty(COUNTS), "cards": cards},
            (),
            Verdict("not tested", "", "", ""),
        ),
        View("gallery", "cards", "seen", "", roles),
    )

    ((_, (whole, edited, bare)),) = arrange_cards(drawing, make_thumbnails([drawing], None, images), NO_LOOKS)

    assert whole.frames == (Frame(NASTY, 25.0, 25.0, 50.0, 50.0),)
    assert whole.picture != edited.picture
    assert (whole.lines, edited.lines, bare.picture) == ((("answer", "a wall"),), (), None)
    for card, left in ((whole, 250), (edited, 125)):
        seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(card.picture.url.partition(",")[2]))))
        assert abs(int(seen[20, 10, 0]) - left) < 12  # lossy


def test_a_gallery_shows_several_pictures_side_by_side_with_boxes_in_the_first(tmp_path: Path) -> None:
    for name, color in {"a": 0, "b": 120, "c": 250}.items():
        Image.fromarray(np.full((40, 80, 3), color, np.uint8)).save(tmp_path / f"{name}.png")
    listed = pl.Series([[{"image": name, "time": None} for name in "abc"], None, None, None], dtype=pl.List(PICTURE))
    table = pl.DataFrame({"image": ["v", "a", "b", "c"], "path": [None, "a.png", "b.png", "c.png"], "pictures": listed})
    columns = (DrawingColumn("image", "image", "text"), DrawingColumn("boxes", "boxes", "list"))
    drawing = Drawing("seen", "", "gallery", "cards", columns, (("v", [[20.0, 10.0, 60.0, 30.0]]),))

    thumbnails = make_thumbnails([drawing], None, Images(table, tmp_path))
    ((_, (card,)),) = arrange_cards(drawing, thumbnails, NO_LOOKS)
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(card.picture.url.partition(",")[2]))))

    assert (card.picture.width, card.picture.height) == (160, 80)
    assert [int(sheet[line, column, 0]) // 50 for line, column in ((20, 40), (20, 120), (60, 40), (60, 120))] == [
        0,
        2,
        5,
        5,
    ]
    assert card.frames == (Frame("", 12.5, 12.5, 25.0, 25.0),)


def test_pictures_that_are_not_there_leave_the_words(tmp_path: Path) -> None:
    images = Images(pl.DataFrame({"image": ["a"], "path": ["gone.png"]}), tmp_path)
    columns = (DrawingColumn("image", "image", "text"), DrawingColumn("asked", "title", "text"))
    drawing = Drawing("seen", "", "gallery", "cards", columns, (("a", "what is it?"),))

    ((_, (card,)),) = arrange_cards(drawing, make_thumbnails([drawing], None, images), NO_LOOKS)

    assert (card.title, card.picture) == ("what is it?", None)
