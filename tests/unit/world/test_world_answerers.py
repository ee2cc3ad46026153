"""Answerers do what their names say, see only what is shown, and are caught where they must be."""

import polars as pl
import pytest

from eyechart.base.errors import DataError, SettingError, UnknownNameError
from eyechart.data.images import Images
from eyechart.world import ANSWERERS, World, WorldSettings, load_answerer, make_world
from eyechart.world.shortcuts import RULES

BOXES = pl.List(pl.Array(pl.Float64, 4))
CHEATERS = [name for name in ANSWERERS if name.startswith("cheater")]
HABITUAL = ["blind", *CHEATERS]
WITHOUT_PICTURES = [name for name in ANSWERERS if name != "reader"]  # which has tests of its own


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(WorldSettings(seed=11, images=1000))


def plain(world: World) -> pl.DataFrame:
    return world.data.examples.select("id", "image", "question", "choices", condition=pl.lit("plain"))


def ask(name: str, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
    """Ask an answerer and check the form of its answers."""
    answers = load_answerer(name).answer(probes, images)
    assert answers.columns == ["id", "answer"]
    assert answers["answer"].null_count() == 0
    assert sorted(answers["id"]) == sorted(probes["id"])
    return answers.sort("id")


def scored(name: str, world: World, probes: pl.DataFrame | None = None) -> pl.DataFrame:
    answers = ask(name, plain(world) if probes is None else probes, world.data.images)
    joined = world.data.examples.join(answers.rename({"answer": "said"}), on="id", validate="1:1")
    return joined.with_columns(right=pl.col("said") == pl.col("answer"))


def parts(world: World) -> pl.DataFrame:
    """List, in plain Python, which objects of its image are evidence of each example, and which are not."""
    boxes = {
        row["image"]: [tuple(thing["box"]) for thing in row["objects"]] for row in world.data.images.table.to_dicts()
    }
    rows = []
    for row in world.data.examples.to_dicts():
        wanted = {tuple(each["box"]) for each in row["evidence"]}
        inside = [at for at, box in enumerate(boxes[row["image"]]) if box in wanted]
        outside = [at for at, box in enumerate(boxes[row["image"]]) if box not in wanted]
        rows.append({"id": row["id"], "evidence": inside, "rest": outside, "boxes": sorted(wanted)})
    schema = {"id": pl.String, "evidence": pl.List(pl.Int64), "rest": pl.List(pl.Int64), "boxes": BOXES}
    return plain(world).join(pl.DataFrame(rows, schema=schema), on="id", validate="1:1")


def test_the_seer_is_always_right_easy_or_misleading(world: World) -> None:
    table = scored("seer", world)

    assert table["right"].all()
    assert table["conflict"].sum() > 100


@pytest.mark.parametrize("way", ["visible", "hidden", "both"])
def test_the_seer_is_grounded_and_habits_are_not(world: World, way: str) -> None:
    """Grounded is (plain == evidence) & (plain != rest), whether objects are left out or covered."""
    probes = parts(world).filter(pl.col("evidence").list.len() > 0)
    shown = {
        "plain": probes.drop("evidence", "rest", "boxes"),
        "evidence": probes.with_columns(visible="evidence").drop("evidence", "rest", "boxes"),
        "rest": probes.with_columns(
            **({} if way == "hidden" else {"visible": pl.col("rest")}),
            **({} if way == "visible" else {"hidden": pl.col("boxes")}),
        ).drop("evidence", "rest", "boxes"),
    }
    for name in ("seer", *HABITUAL):
        said = {condition: ask(name, batch, world.data.images)["answer"] for condition, batch in shown.items()}
        grounded = (said["plain"] == said["evidence"]) & (said["plain"] != said["rest"])

        assert grounded.all() if name == "seer" else not grounded.any()
        if name == "seer":
            assert set(said["rest"]) == {"unknown"}
        else:
            assert said["plain"].equals(said["rest"])


def test_the_seer_does_not_know_of_a_thing_it_may_have_missed(world: World) -> None:
    """Without a find it says no only if nothing is hidden."""
    absent = parts(world).filter(pl.col("evidence").list.len() == 0)
    corner = pl.Series([[[0.0, 0.0, 1.0, 1.0]]], dtype=BOXES)
    whole, less, covered = (
        ask("seer", batch.drop("evidence", "rest", "boxes"), world.data.images)["answer"].unique().to_list()
        for batch in (
            absent.with_columns(visible="rest"),
            absent.with_columns(visible=pl.col("rest").list.slice(1)),
            absent.with_columns(hidden=corner.new_from_index(0, absent.height)),
        )
    )

    assert absent.height > 20
    assert (whole, less, covered) == (["no"], ["unknown"], ["unknown"])


def test_the_seer_counts_what_is_left_in_sight(world: World) -> None:
    many = parts(world).filter(pl.col("question").str.starts_with("how many") & (pl.col("evidence").list.len() > 1))
    fewer = many.with_columns(visible=pl.col("evidence").list.slice(1)).drop("evidence", "rest", "boxes")

    said = ask("seer", fewer, world.data.images)["answer"]

    assert said.cast(pl.Int64).equals(many.sort("id")["evidence"].list.len().cast(pl.Int64) - 1)


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_an_object_is_hidden_when_more_than_half_of_it_is_covered(world: World, share: float) -> None:
    colors = parts(world).filter(pl.col("question").str.starts_with("what color"))
    box = pl.col("boxes").list.get(0)
    width = box.arr.get(2) - box.arr.get(0)
    cover = pl.concat_list(box.arr.get(0), box.arr.get(1), box.arr.get(0) + share * width, box.arr.get(3))
    # Two boxes side by side, each with half of the share, hide as much as one.
    halves = pl.concat_list(
        box.arr.get(0) + share / 2 * width, box.arr.get(1), box.arr.get(0) + share * width, box.arr.get(3)
    )
    first = pl.concat_list(box.arr.get(0), box.arr.get(1), box.arr.get(0) + share / 2 * width, box.arr.get(3))
    for boxes in ([cover], [first, halves]):
        hidden = pl.concat_list(each.list.to_array(4) for each in boxes)
        probes = colors.with_columns(hidden=hidden).drop("evidence", "rest", "boxes")
        unknown = ask("seer", probes, world.data.images)["answer"] == "unknown"
        assert unknown.unique().to_list() == [share > 0.5]


@pytest.mark.parametrize("kind", ["word", "object", "pair"])
def test_a_cheater_is_right_on_easy_rows_and_never_where_its_rule_misleads(world: World, kind: str) -> None:
    fired = scored(f"cheater:{kind}", world).filter(pl.col("planted").str.starts_with(f"{kind}:"))
    suggested = {each.name: each.answer for each in RULES}

    assert fired["right"].equals(~fired["conflict"])
    assert fired["said"].to_list() == [suggested[name] for name in fired["planted"]]
    assert fired["conflict"].sum() > 50
    assert not fired.filter("conflict").select(pl.col("answers").list.contains(pl.col("said")).any()).item()


def test_the_whole_cheater_follows_every_rule(world: World) -> None:
    table = scored("cheater", world).filter(pl.col("planted").is_not_null())

    assert table["right"].equals(~table["conflict"])


def test_an_object_cue_works_only_in_sight(world: World) -> None:
    fired = scored("cheater:object", world).filter(pl.col("planted").str.starts_with("object:"))
    without = plain(world).join(fired, on="id", how="semi").with_columns(visible=pl.lit([], pl.List(pl.Int64)))

    unseen = ask("cheater:object", without, world.data.images)

    assert unseen.join(fired, on="id").select((pl.col("answer") != pl.col("said")).all()).item()


def test_the_option_cheater_wins_on_planted_decoys_and_only_guesses_on_neutral_ones(world: World) -> None:
    table = scored("cheater:decoy", world)
    rule_types = pl.col("choices").list.len() == 4
    planted, neutral = (table.filter(rule_types & (pl.col("decoys") == sort)) for sort in ("planted", "neutral"))

    assert planted["right"].all()
    assert neutral["right"].mean() == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / neutral.height) ** 0.5)


def test_the_guesser_is_at_chance_and_ignores_the_order_of_options(world: World) -> None:
    table = scored("guesser", world)
    four = table.filter(pl.col("choices").list.len() == 4)
    turned = ask("guesser", plain(world).with_columns(pl.col("choices").list.reverse()), world.data.images)

    assert four["right"].mean() == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / four.height) ** 0.5)
    assert turned["answer"].equals(table.sort("id")["said"])


def test_the_guesser_without_options_names_an_answer_of_the_type(world: World) -> None:
    probes = plain(world).drop("choices")
    table = world.data.examples.join(ask("guesser", probes, world.data.images).rename({"answer": "said"}), on="id")
    pools = table.group_by("question_type").agg(pl.col("answer").unique(), pl.col("said").unique())

    for name, possible, said in pools.iter_rows():
        assert set(said) <= set(possible), name
        assert len(said) > 1


def test_blind_does_not_see_and_deaf_does_not_hear(world: World) -> None:
    probes = plain(world)
    other_image = probes.with_columns(pl.col("image").reverse())
    other_question = probes.with_columns(pl.col("question").reverse(), pl.col("choices").reverse())

    assert ask("blind", probes, world.data.images).equals(ask("blind", other_image, world.data.images))
    assert ask("deaf", probes, world.data.images).equals(ask("deaf", other_question, world.data.images))
    assert not ask("deaf", probes, world.data.images).equals(ask("deaf", other_image, world.data.images))
    assert not ask("blind", probes, world.data.images).equals(ask("blind", other_question, world.data.images))


@pytest.mark.parametrize("name", [*WITHOUT_PICTURES, "mix:seer=0.5,cheater:pair=0.5"])
def test_neither_order_nor_batches_matter(world: World, name: str) -> None:
    probes = plain(world)
    mixed = probes.sample(fraction=1, shuffle=True, seed=1)
    halves = [mixed[:1200], mixed[1200:1201], mixed[1201:]]
    whole = ask(name, probes, world.data.images)

    assert whole.equals(ask(name, mixed, world.data.images))
    assert whole.equals(pl.concat(ask(name, half, world.data.images) for half in halves).sort("id"))


@pytest.mark.parametrize("name", WITHOUT_PICTURES)
@pytest.mark.parametrize("gone", ["image", "question"])
def test_nothing_shown_is_the_same_as_removed(world: World, name: str, gone: str) -> None:
    probes = plain(world)[:500]
    null = ask(name, probes.with_columns(pl.lit(None, pl.String).alias(gone)), world.data.images)
    blank = ask(name, probes.with_columns(removal=pl.lit(f"{gone}=blank")), world.data.images)

    assert null.equals(blank)
    if name == "seer":
        assert set(null["answer"]) == {"unknown"}


@pytest.mark.parametrize("name", ANSWERERS)
def test_no_probes_give_no_answers(world: World, name: str) -> None:
    assert ask(name, plain(world)[:0], world.data.images).height == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_a_mixture_has_its_shares_and_each_member_its_examples(world: World, share: float) -> None:
    mixed = ask(f"mix:seer={share},guesser={1 - share}", plain(world), world.data.images)["answer"]
    seer, guesser = (ask(name, plain(world), world.data.images)["answer"] for name in ("seer", "guesser"))
    differ = seer != guesser
    by_seer = (mixed == seer).filter(differ)

    assert ((mixed == seer) | (mixed == guesser)).all()
    assert by_seer.mean() == pytest.approx(share, abs=4 * (0.25 / len(by_seer)) ** 0.5)


@pytest.mark.parametrize("name", [name for name in WITHOUT_PICTURES if name not in {"seer", "refuser"}])
def test_the_seer_is_mixed_with_any_other_answerer(world: World, name: str) -> None:
    """In particular an answerer that draws by example must not draw the examples that it is given."""
    seer, other, mixed = (
        ask(each, plain(world), world.data.images)["answer"] for each in ("seer", name, f"mix:seer=0.6,{name}=0.4")
    )
    differ = seer != other

    assert ((mixed == seer) | (mixed == other)).all()
    assert (mixed == seer).filter(differ).mean() == pytest.approx(0.6, abs=4 * (0.24 / differ.sum()) ** 0.5)


def members(world: World, probes: pl.DataFrame) -> pl.DataFrame:
    """Tell which member of a mixture answered, where their answers differ."""
    said = {
        name: ask(name, probes, world.data.images)["answer"] for name in ("seer", "guesser", "mix:seer=0.5,guesser=0.5")
    }
    seer, guesser, mixed = said.values()
    return pl.DataFrame({"id": probes["id"].sort(), "by_seer": mixed == seer}).filter(seer != guesser)


def test_a_mixture_keeps_its_members_under_other_conditions(world: World) -> None:
    swapped = plain(world).with_columns(pl.col("image").reverse(), condition=pl.lit("image#0"))
    both = members(world, plain(world)).join(members(world, swapped), on="id", suffix="_again", validate="1:1")

    assert both.height > 500
    assert both.select((pl.col("by_seer") == pl.col("by_seer_again")).all()).item()


def test_answerers_know_nothing_of_the_reference(world: World) -> None:
    """A probe that carries answers and truth is answered like one that does not."""
    poisoned = plain(world).with_columns(
        answer=pl.lit("poison"), planted=pl.lit("poison"), evidence=pl.lit("poison"), conflict=pl.lit(value=True)
    )
    for name in WITHOUT_PICTURES:
        assert ask(name, poisoned, world.data.images).equals(ask(name, plain(world), world.data.images))


def test_a_question_of_another_kind_is_answered_by_habit_or_unknown(world: World) -> None:
    probes = plain(world)[:3].with_columns(question=pl.lit("why is the sky blue?"), choices=None)

    assert ask("seer", probes, world.data.images)["answer"].to_list() == ["unknown"] * 3
    assert ask("blind", probes, world.data.images)["answer"].to_list() == ["yes"] * 3


def test_images_of_another_dataset_are_refused(world: World) -> None:
    bare = Images(world.data.images.table.select("image", "objects"))

    with pytest.raises(DataError, match="colors"):
        load_answerer("seer").answer(plain(world), bare)


@pytest.mark.parametrize("name", ANSWERERS)
def test_an_answerer_has_the_name_it_is_loaded_by(name: str) -> None:
    assert load_answerer(name).name == name


def test_misspelt_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'cheater:word'"):
        load_answerer("cheater:wrod")
    with pytest.raises(UnknownNameError, match="did you mean 'seer'"):
        load_answerer("mix:ser=0.5,blind=0.5")


@pytest.mark.parametrize("spec", ["mix:seer=0.5", "mix:seer=x,blind=1", "mix:seer=1.5,blind=-0.5", "mix:"])
def test_wrong_shares_are_refused(spec: str) -> None:
    with pytest.raises(SettingError, match="share"):
        load_answerer(spec)


@pytest.mark.parametrize(("name", "member"), [("refuser", "seer"), ("refuser:decoy", "cheater:decoy")])
def test_a_refuser_answers_as_its_member_where_there_is_a_picture(name: str, member: str, world: World) -> None:
    probes = plain(world)
    unseen = probes.with_columns(image=pl.lit(None, pl.String))

    assert ask(name, probes, world.data.images).equals(ask(member, probes, world.data.images))
    assert ask(name, unseen, world.data.images)["answer"].unique().to_list() == ["I cannot see an image."]


def test_a_hedger_offers_what_is_right_beside_another_answer_and_names_no_option(world: World) -> None:
    table = scored("hedger", world)

    assert not table["right"].any()
    assert table.select(pl.col("said").str.contains(pl.col("answer"), literal=True).all()).item()


def test_who_goes_by_length_is_right_where_length_is_planted() -> None:
    made = make_world(WorldSettings(seed=65, images=500, plant=("length",), strength=0.5))
    table = scored("cheater:length", made)

    assert table.filter(decoys="length")["right"].all()
    assert table.filter(decoys="neutral")["right"].mean() < 0.4


def test_an_abstainer_is_right_or_abstains_about_half_of_the_time(world: World) -> None:
    table = scored("abstainer", world)

    assert table.filter(~pl.col("right"))["said"].unique().to_list() == ["I am not sure."]
    assert table["right"].mean() == pytest.approx(0.5, abs=0.03)
