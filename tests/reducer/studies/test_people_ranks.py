"""Test how people rank transcripts: the page, the files that it saves, their mean ranks, and the metrics."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from sacrebleu import corpus_bleu, corpus_chrf
from scipy.stats import spearmanr

from speechiq.metrics.words.normalizer import normalize
from speechiq.reducer.scores.scale import EQUAL, Weighting
from speechiq.reducer.scores.suites import read_systems
from speechiq.reducer.studies import people_ranks
from speechiq.reducer.studies.correlated import list_scores, score_texts
from tests.commands import print_and_write, refusal, succeed
from tests.reducer.conftest import write_run
from tests.reducer.output.page.conftest import HOSTILE, TEXTS, cascade, write_system

CLIPS = sorted(TEXTS)
#: System -> the number of words that it loses at the end of each clip, and its answers; twin equals fair on two clips.
LOST = {"good": 1, "fair": 3, "twin": 3, "poor": 5, "worst": 8}
ANSWERS = {"good": "B", "fair": "BBA", "twin": "BBA", "poor": "BA", "worst": "BAAA"}


def lose(name: str, clip: str, text: str) -> str:
    words = text.split()[: -LOST[name]]
    return " ".join([*words, "boat"] if name == "twin" and clip in CLIPS[:2] else words)


@pytest.fixture
def runs(tmp_path) -> Path:
    for name in LOST:
        change = lambda clip, text, name=name: lose(name, clip, text)  # noqa: E731
        write_system(tmp_path / "runs" / name, name, change, ANSWERS[name])
    gold = cascade({"control": "gold"})
    write_system(tmp_path / "runs" / "gold", "gold+thinker", lambda clip, text: text, "B", gold)
    return tmp_path / "runs"


@pytest.fixture
def cards(runs):
    return people_ranks.read_cards(read_systems([runs]))


def save(file: Path, cards, orders: dict[str, dict[str, int] | None], person: str = "") -> Path:
    """Write the file of a person: clip -> system -> rank, or nothing for a clip without ranks."""
    rows = []
    for clip, ranks in orders.items():
        of_cards = dict.fromkeys(cards[clip].texts)
        for system, place in (ranks or {}).items():
            of_cards[cards[clip].cards[system]] = place
        rows.append({"id": clip, "ranks": of_cards, "person": person})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


#: fair and twin are one card on the last two clips, and so share the places 2 and 3.
APART = {"good": 1, "fair": 2, "twin": 3, "poor": 4, "worst": 5}
TIED = {"good": 1, "fair": 2, "twin": 2, "poor": 3, "worst": 4}
BY_ANA = {clip: APART if clip in CLIPS[:2] else TIED for clip in CLIPS}
BY_BEN = BY_ANA | {CLIPS[0]: {"good": 1, "fair": 1, "twin": 3, "poor": 4, "worst": 4}}


def test_equal_transcripts_are_one_card_and_controls_have_none(cards):
    assert [len(cards[clip].texts) for clip in CLIPS] == [5, 5, 4, 4]
    assert all(set(cards[clip].cards) == set(LOST) for clip in CLIPS)


def test_clips_are_those_that_differ_in_an_order_of_the_seed(cards):
    equal = cards | {"set/same": cards[CLIPS[0]]._replace(clip="set/same", texts={"card": "one"})}
    chosen = people_ranks.draw_clips(equal, 9, seed=1)
    assert sorted(clip.clip for clip in chosen) == CLIPS
    assert people_ranks.draw_clips(equal, 9, seed=1) == chosen
    orders = {tuple(people_ranks.draw_clips(cards, 4, seed)[0].texts) for seed in range(20)}
    assert len(orders) > 5
    assert len(people_ranks.draw_clips(cards, 2, seed=0)) == 2


def test_systems_that_wrote_the_same_have_nothing_to_rank(tmp_path):
    for name in ("a", "b"):
        write_system(tmp_path / name, name, lambda clip, text: text, "B")
    refused = refusal("paper", "rank", tmp_path, "-o", tmp_path / "rank.html")
    assert "the systems wrote the same on all 4 clips" in refused


def test_a_system_without_transcripts_is_named(tmp_path):
    write_system(tmp_path / "a", "a", lambda clip, text: text, "B")
    write_run(tmp_path / "b", {"apply": {CLIPS[0]: {"q": 1.0}}}, system="b")
    refused = refusal("paper", "rank", tmp_path, "-o", tmp_path / "rank.html")
    assert "no transcripts of 'b' in these runs; give runs of siq_remember or siq_all" in refused


def test_controls_alone_have_nothing_to_rank(runs, tmp_path):
    refused = refusal("paper", "rank", runs / "gold", "-o", tmp_path / "rank.html")
    assert "only controls ('gold+thinker') in these runs; give runs of other systems" in refused


def test_mean_ranks_are_over_people_then_clips_and_equal_systems_share_places(runs, cards, tmp_path):
    files = [save(tmp_path / "ana.jsonl", cards, BY_ANA), save(tmp_path / "ben.jsonl", cards, BY_BEN)]
    ranked = people_ranks.rank_cards(people_ranks.read_people(files, cards), cards)
    assert [*ranked.index.unique("person")] == ["ana", "ben"] and [*ranked.columns] == sorted(LOST)
    # Ana: 1 to 5 on two clips, 2.5 twice on the others; Ben's first clip: 1.5, 1.5, 3, 4.5, 4.5.
    means = {
        "good": (1.25 + 1 + 1 + 1) / 4,
        "fair": (1.75 + 2 + 2.5 + 2.5) / 4,
        "twin": (3 + 3 + 2.5 + 2.5) / 4,
        "poor": (4.25 + 4 + 4 + 4) / 4,
        "worst": (4.75 + 5 + 5 + 5) / 4,
    }
    by_clip = people_ranks.average_by_clip(ranked)
    assert [*by_clip.mean(axis=0)] == pytest.approx([means[name] for name in ranked.columns])
    printed, content = print_and_write("paper", "correlate", runs, "--ranks", files[0], "--ranks", files[1])
    assert [row["system"] for row in content["mean_ranks"]] == ["good", "fair", "twin", "poor", "worst"]
    assert [row["mean_rank"]["value"] for row in content["mean_ranks"]] == pytest.approx([*means.values()])
    assert content["people"] == ["ana", "ben"] and content["missing"] == {}
    first, *others, overall = content["agreement"]
    assert (first["clip"], first["people"], first["ranked"]) == (CLIPS[0], 2, 5) and first["w"] < 1
    assert [row["w"] for row in others] == pytest.approx([1, 1, 1]) and overall["ranked"] == 5
    assert "mean over 2 people and 4 clips" in printed and "not ranked: gold+thinker" in printed


def test_metrics_are_those_of_the_ranked_clips(runs, cards, tmp_path):
    two = {clip: BY_ANA[clip] for clip in CLIPS[:2]}
    file = save(tmp_path / "ana.jsonl", cards, two)
    printed, content = print_and_write("paper", "correlate", runs, "--ranks", file)
    found = {row["metric"]: row for row in content["correlations"]}
    clips = {name: row["clips"] for name, row in found.items()}
    assert clips == {"SIQ": 4} | dict.fromkeys(
        ["remember wer", "understand similarity", "apply acc", "BLEU", "chrF", "SIQ_rm"], 2
    )
    bleu = score_texts(read_systems([runs]), CLIPS[:2])["BLEU"].scores
    expected = spearmanr([-1, -2, -3, -4, -5], [bleu[name] for name in LOST]).statistic
    assert found["BLEU"]["spearman"]["value"] == pytest.approx(expected)
    assert "metrics are computed on the 2 ranked clips, SIQ on all clips" in printed
    assert "W needs two people" in printed and content["agreement"][0]["w"] is None


def test_bleu_and_chrf_are_those_of_sacrebleu(runs):
    systems = read_systems([runs])
    scores = score_texts(systems, CLIPS[1:])
    references = [normalize(TEXTS[clip], "english") for clip in CLIPS[1:]]
    for name in LOST:
        texts = [normalize(lose(name, clip, TEXTS[clip]), "english") for clip in CLIPS[1:]]
        assert scores["BLEU"].scores[name] == pytest.approx(corpus_bleu(texts, [references]).score)
        assert scores["chrF"].scores[name] == pytest.approx(corpus_chrf(texts, [references]).score)
    assert scores["BLEU"].scores["gold+thinker"] == pytest.approx(100) and scores["chrF"].clips == 3


def test_siq_rm_is_siq_with_equal_clips(runs, cards, tmp_path):
    from speechiq.reducer.scores.ranking import rank

    part = rank(people_ranks._keep_clips(read_systems([runs]), CLIPS[:3]), rule=Weighting("equal", EQUAL))
    found = list_scores(part)["SIQ"]
    z = []
    for level in ("remember", "understand", "apply"):
        means = part.pool.raw[level].mean(axis=1)
        z.append((means - means.mean()) / means.std())
    assert [*found.scores.values()] == pytest.approx((100 + 15 * np.mean(z, axis=0)).tolist())
    assert found.clips == 3


def test_clips_without_ranks_are_named_and_counted(runs, cards, tmp_path):
    ana = save(tmp_path / "ana.jsonl", cards, BY_ANA | {CLIPS[1]: None, CLIPS[2]: None})
    ben = save(tmp_path / "ben.jsonl", cards, {clip: BY_BEN[clip] for clip in CLIPS[:3]})
    printed, content = print_and_write("paper", "correlate", runs, "--ranks", ana, "--ranks", ben)
    assert content["missing"] == {"ana": CLIPS[1:3], "ben": CLIPS[3:]}
    assert f"ana did not rank 2 clips: {CLIPS[1]}, {CLIPS[2]}" in " ".join(printed.split())
    assert content["agreement"][-1]["clip"] == "mean of 1 clip"


def test_a_system_that_was_not_on_the_page_is_left_out(runs, cards, tmp_path):
    file = save(tmp_path / "ana.jsonl", cards, {CLIPS[0]: BY_ANA[CLIPS[0]]})
    write_system(tmp_path / "runs" / "new", "new", lambda clip, text: f"so {text}", "B")
    printed, content = print_and_write("paper", "correlate", runs, "--ranks", file)
    assert {row["system"] for row in content["mean_ranks"]} == set(LOST)
    assert "not ranked: gold+thinker, new" in printed


def broken(name: str, cards, folder: Path) -> list[Path]:
    """Return files of people with one mistake."""
    file, first = folder / "ana.jsonl", cards[CLIPS[0]]
    if name == "two files":
        return [save(folder / f"{i}.jsonl", cards, BY_ANA, person) for i, person in enumerate(("Ana", "ana"))]
    if name == "table too":
        folder.joinpath("people.csv").write_text("system,people\ngood,1\nfair,2\npoor,3\n")
        return [save(file, cards, BY_ANA), folder / "people.csv"]
    if name == "other page":
        save(folder / "ben.jsonl", cards, {CLIPS[0]: BY_ANA[CLIPS[0]]})
        row = {"id": CLIPS[0], "ranks": {first.cards["good"]: 1, first.cards["fair"]: 2, first.cards["poor"]: 3}}
        file.write_text(json.dumps(row))
        return [folder / "ben.jsonl", file]
    ranks = {card: i for i, card in enumerate(first.texts, 1)}
    row = {"id": CLIPS[0], "ranks": ranks}
    changes = {
        "clip": {"id": "set/tow"},
        "text": {"ranks": ranks | {"0123456789ab": 6}},
        "rank": {"ranks": ranks | {first.cards["good"]: None}},
        "number": {"ranks": ranks | {first.cards["good"]: 9}},
        "word": {"ranks": ranks | {first.cards["good"]: "best"}},
        "nothing": {"ranks": dict.fromkeys(ranks)},
        "few": {"ranks": {first.cards["good"]: 1, first.cards["fair"]: 2}},
        "equal": {"ranks": dict.fromkeys(ranks, 1)},
        "twice": {},
    }
    lines = [json.dumps(row | changes[name])] * (1 + (name == "twice"))
    file.write_text("\n".join(lines))
    return [file]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two files", "'ana' also has the file"),
        ("table too", "people.csv: not a file of `siq paper rank`; give files of the page, or one table of ranks"),
        ("other page", "has other transcripts than in the file of 'ben'; give files of one page"),
        ("clip", "no clip that all systems transcribed is 'set/tow'; did you mean set/two?"),
        ("text", "has a text that no system in these runs wrote; give the runs that the page was made from"),
        ("rank", "1 of 5 transcripts without a rank"),
        ("number", "9 is no rank from 1 to 5"),
        ("word", "has no ranks of `siq paper rank`"),
        ("nothing", "no clip has ranks"),
        ("few", "ranks of 2 systems; a correlation needs at least 3"),
        ("equal", "all systems have the same 'people'"),
        ("twice", "'ana' ranked clip 'demo/kennedy' in an earlier line"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(runs, cards, tmp_path, name, message):
    given = [argument for file in broken(name, cards, tmp_path) for argument in ("--ranks", file)]
    assert message in refusal("paper", "correlate", runs, *given)


@pytest.fixture
def page(tmp_path, runs) -> Path:
    write_system(runs / "hostile", "hostile", lambda clip, text: HOSTILE, "A")
    done = succeed("paper", "rank", runs, "--clips", 3, "-o", tmp_path / "rank.html")
    assert "of 6 systems on 3 clips of 4" in done.stderr
    return tmp_path / "rank.html"


def unpack(page: str) -> list[dict]:
    packed = re.search('id="data-ranking">([^<]*)<', page)
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))


def test_neither_page_nor_data_name_a_system(page):
    text = page.read_text(encoding="utf-8")
    data = unpack(text)
    assert len(data) == 3 and {*data[0]} == {"id", "reference", "cards", "key"}
    assert all({*card} == {"id", "text"} for clip in data for card in clip["cards"])
    plain = text + json.dumps(data)
    assert not any(re.search(rf"\b{name}\b", plain) for name in ("twin", "worst", "hostile", "thinker"))
    assert "default-src &#39;none&#39;" in text and "window.hacked" not in text and len(text) < 1_000_000


def test_the_page_needs_one_file(tmp_path, runs):
    assert "name one, such as rank.html" in refusal("paper", "rank", runs)
    assert "name one, such as rank.html" in refusal("paper", "rank", runs, "-o", tmp_path / "rank.csv")


def order_of(tab) -> list[str]:
    return [f"{place}{grip}" for place, grip in zip(
        tab.locator(".ranked .place").all_inner_texts(), tab.locator(".ranked .grip").all_inner_texts(), strict=True
    )]  # fmt: skip


def test_a_person_orders_by_keys_buttons_and_pointer_and_saves(page, runs, open_page, tmp_path):
    here = open_page(page)
    tab = here.tab
    tab.locator(".ranked").first.wait_for()
    count = tab.locator(".ranked").count()
    assert order_of(tab)[:3] == ["1A", "2B", "3C"]
    tab.get_by_role("button", name="Transcript A").focus()
    tab.keyboard.press("ArrowDown")
    assert order_of(tab)[:3] == ["1B", "2A", "3C"] and "Transcript A: place 2" in tab.inner_text("#rank-said")
    tab.keyboard.press("=")
    assert order_of(tab)[:3] == ["1B", "1A", "3C"] and "equal to B" in tab.inner_text("#rank-said")
    tab.keyboard.press("End")
    assert order_of(tab)[-1] == f"{count}A"
    tab.get_by_label("Move C up").click()
    assert order_of(tab)[:2] == ["1C", "2B"]
    tab.get_by_label("B is equal to the one above").check()
    assert order_of(tab)[:2] == ["1C", "1B"]
    tab.locator(".grip", has_text="D").drag_to(tab.locator(".ranked").first, target_position={"x": 20, "y": 2})
    assert order_of(tab)[:3] == ["1D", "2C", "2B"]
    expected = order_of(tab)
    tab.get_by_role("button", name="Confirm this order").click()
    assert tab.inner_text("#rank-count") == "1 of 3 ranked" and "2 of 3" in tab.inner_text("#rank-clip .head")
    tab.locator("#rank-save").click()
    assert tab.evaluate("document.activeElement.id") == "rank-person"
    tab.fill("#rank-person", "Ana B.")
    here.open()
    tab.locator(".ranked").first.wait_for()
    assert tab.input_value("#rank-person") == "Ana B." and "2 of 3" in tab.inner_text("#rank-clip .head")
    tab.get_by_role("button", name="Previous").click()
    assert order_of(tab) == expected
    with tab.expect_download() as download:
        tab.click("#rank-save")
    assert download.value.suggested_filename == "ranks-ana-b.jsonl"
    rows = [json.loads(line) for line in Path(download.value.path()).read_text(encoding="utf-8").splitlines()]
    first, *others = rows
    cards = [card["id"] for card in unpack(page.read_text(encoding="utf-8"))[0]["cards"]]
    assert first["ranks"] == {cards[ord(card[1]) - 65]: int(card[0]) for card in expected}
    assert all({*row["ranks"].values()} == {None} for row in others) and first["person"] == "Ana B."
    file = tmp_path / "ranks-ana-b.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    printed, content = print_and_write("paper", "correlate", runs, "--ranks", file)
    assert content["people"] == ["Ana B."] and "Ana B. did not rank 2 clips" in printed


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_use_the_page(page, open_page, theme):
    here = open_page(page, color_scheme=theme, bypass_csp=True, viewport={"width": 390, "height": 800})
    here.tab.locator(".ranked").first.wait_for()
    here.tab.get_by_label("C is equal to the one above").check()
    assert here.find_barriers() == []
