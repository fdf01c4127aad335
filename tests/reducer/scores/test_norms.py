"""Norms: a pool frozen, read back, and others read off it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum
from speechiq.reducer import LEVELS, System, align, as_json, calibrate, rank, read_systems, score
from speechiq.reducer.output.page.study import weights_by_rule
from speechiq.reducer.output.scoreboard_records import csv_rows
from speechiq.reducer.scores import norms
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import CORRELATION, FEWEST_CORRELATED, Weighting
from speechiq.reducer.studies import unanswerable as sets
from tests.commands import print_and_write, refusal, siq, succeed
from tests.reducer.conftest import frozen_set, levels, write_run, write_skills

RULES = [
    *map(Weighting, ["inverse-std", "inverse-variance", "equal", "1,0,3.5", "correlation"]),
    Weighting(clips="equal"),
]
SKILLS = {"best": 0.9, "middle": 0.5, "worst": 0.1}
OTHER = {
    "version": ("remember", {"version": 2}, "task versions", "version is 2 in system 'new' and 1 in norms 'pool'"),
    "prompt": ("apply", {"prompt_version": 7}, "task versions", "prompt_version is 7 in system 'new'"),
    "subset": ("understand", {"subset_sha256": "ab"}, "task versions", "subset_sha256 is 'ab' in system 'new' and not"),
    "content": (
        "apply",
        {"content_sha256": "0123456789abcdef" * 4},
        "clips",
        "content_sha256 is '0123456789ab' in system 'new' and not recorded in norms",
    ),
    "data set": ("apply", {"dataset": "x"}, "task versions", "data set 'demo' is in norms 'pool' and not in system"),
    "normalizer": ("remember", {"normalizer": "basic"}, "normalizer", "normalizer is 'basic' in system 'new' and not"),
    "embedder": ("understand", {"embedder": "llm"}, "embedder", "embedder is 'llm' in system 'new' and not recorded"),
    "prompts": (
        "apply",
        {"prompts_sha256": "ab" * 32},
        "settings",
        "prompts is 'abababababab' in system 'new' and none",
    ),
    "layer": ("understand", {"embedder_layer": "3"}, "embedder", "embedder_layer is '3' in system 'new' and the last"),
    "template": ("understand", {"embedder_template": "chat"}, "embedder", "embedder_template is 'chat' in system"),
}


@pytest.fixture
def pool(tmp_path: Path) -> list[System]:
    return read_systems([write_skills(tmp_path / "pool", SKILLS)])


@pytest.fixture
def built(pool) -> Norms:
    return norms.build_norms(pool, "pool")


def new(tmp_path: Path, scores: dict | None = None, **options) -> list[System]:
    write_run(tmp_path / "new", scores or levels(0.7), system="new", **options)
    return read_systems([tmp_path / "new"])


@st.composite
def pools(draw) -> tuple[list[System], Weighting]:
    """Draw systems with scores on a grid, one to three questions a clip, apart on every level; and a rule for them."""
    rule = draw(st.sampled_from(RULES))
    fewest = FEWEST_CORRELATED if rule.levels == CORRELATION else 2
    clips = draw(st.integers(1, 5))
    questions = [draw(st.integers(1, 3)) for _ in range(clips)]
    cell = st.integers(0, 100).map(lambda value: value / 100)
    systems = []
    for j in range(draw(st.integers(fewest, 5))):
        rows = {level: {(f"c{i}",): draw(cell) for i in range(clips)} for level in ("remember", "understand")}
        rows["apply"] = {(f"c{i}", f"q{q}"): draw(cell) for i in range(clips) for q in range(questions[i])}
        systems.append(System.of_scores(f"s{j}", rows, levels=LEVELS))
    assume(all(np.ptp(raw.mean(axis=1)) > 0 for raw in align(systems).raw.values()))
    return systems, rule


@given(drawn=pools())
def test_norms_reproduce_their_pool_bit_for_bit(drawn, tmp_path_factory):
    systems, rule = drawn
    lined = align(systems)
    try:
        own = score(lined, calibrate(lined, rule))
    except SpeechIQError:
        assume(False)
    path = tmp_path_factory.mktemp("norms") / "n.json"
    norms.write_norms(norms.build_norms(systems, "n", rule), path)
    read = norms.read_norms(path)
    assert score(lined, read.scale).siq.tolist() == own.siq.tolist()
    together = rank(systems, norms=read)
    assert [together.z[level].tolist() for level in LEVELS] == [own.levels[k].z.tolist() for k in LEVELS]
    for system, score_of_own in zip(systems, own.siq, strict=True):
        alone = rank([system], norms=read)
        assert alone.siq.tolist() == [score_of_own], "nobody moves, whoever else is scored"


def test_a_real_pool_reads_back_with_all_it_hangs_on(tmp_path, pool, built):
    norms.write_norms(built, tmp_path / "norms.json")
    read = norms.read_norms(tmp_path / "norms.json")
    assert read == built and read.sha256 == built.sha256
    assert read.systems == ["best", "middle", "worst"] and read.rule == "inverse-std"
    assert read.levels["apply"].questions["demo/1"] == ["demo/1#0", "demo/1#1", "demo/1#2"]
    assert read.levels["understand"].tasks == [
        {
            "task": "demo_1",
            "content_sha256": None,
            "dataset": "demo",
            "version": 1,
            "prompt_version": 1,
            "subset_sha256": None,
            "embedder": None,
            "embedder_template": None,
            "embedder_text": None,
            "embedder_dtype": None,
        }
    ]


def test_what_matches_is_said_on_every_output(tmp_path, built):
    ranking = rank(new(tmp_path), norms=built, draws=100)
    data = as_json(ranking)
    assert data["norms"]["name"] == "pool" and data["norms"]["sha256"] == built.sha256 and data["mismatches"] == []
    assert set(data["norms"]["match"].values()) == {True}
    assert data["systems"][0]["siq_interval"][0] < data["systems"][0]["siq"] < data["systems"][0]["siq_interval"][1]
    (row,) = csv_rows(ranking)
    assert row["norms"] == f"pool ({built.sha256[:12]})" and "(4 clips): " in row["interval_caution"]


def test_clips_that_all_lack_are_scored_without_them(tmp_path, built):
    scores = levels(0.7)
    del scores["remember"]["demo/3"]
    scores["apply"]["demo/0"] = {"demo/0#0": 1.0, "mine": 0.0}
    with pytest.raises(SpeechIQError, match=r"1 of 4 items of norms 'pool' are not in system 'new', such as .*demo/3"):
        rank(new(tmp_path, scores), norms=built)
    ranking = rank(new(tmp_path, scores), norms=built, allow_mismatch=True)
    data = as_json(ranking)
    assert data["clips"] == {"remember": 3, "understand": 4, "apply": 4}
    assert ranking.pool.raw["apply"][0, 0] == 1.0, "of a clip with other questions, the shared ones count"
    weights = [built.levels["remember"].clips[clip] for clip in ranking.pool.clips["remember"]]
    x = np.dot(ranking.pool.raw["remember"][0], weights) / sum(weights)
    z = (x - built.levels["remember"].mean) / built.levels["remember"].std
    assert ranking.z["remember"][0] == pytest.approx(z, abs=1e-12)
    texts = " ".join(data["mismatches"])
    assert data["norms"]["match"] == {"clips": False, "task versions": True, "normalizer": True, "embedder": True}
    assert "2 of 12 items of norms 'pool' are not in system 'new'" in texts
    assert "1 of 11 items of system 'new' are not in norms 'pool', such as clip 'demo/0' question 'mine'" in texts
    assert any("2 of 12" in str(row["mismatches"]) for row in csv_rows(ranking))


def test_who_loses_clips_through_another_is_marked_too(tmp_path, built):
    alone = rank(new(tmp_path), norms=built, allow_mismatch=True)
    scores = levels(0.4)
    del scores["remember"]["demo/3"]
    write_run(tmp_path / "partial", scores, system="partial")
    partial = read_systems([tmp_path / "partial"])
    together = rank([*new(tmp_path), *partial], norms=built, allow_mismatch=True)
    assert together.siq[0] != alone.siq[0]
    rows = {row["system"]: row["mismatches"] for row in as_json(together)["systems"]}
    assert alone.mismatches == () and rows == {
        "new": [
            "level remember: 1 of 4 items of norms 'pool' do not count for system 'new': 'partial' misses them, "
            "such as clip 'demo/3'"
        ],
        "partial": ["level remember: 1 of 4 items of norms 'pool' are not in system 'partial', such as clip 'demo/3'"],
    }


@pytest.mark.parametrize(("level", "metadata", "aspect", "message"), OTHER.values(), ids=OTHER)
def test_other_conditions_are_refused_or_marked(tmp_path, built, level, metadata, aspect, message):
    systems = new(tmp_path, metadata={level: metadata})
    with pytest.raises(SpeechIQError) as refused:
        rank(systems, norms=built)
    assert message in str(refused.value) and str(refused.value).endswith("add --allow-mismatch to mark the scores")
    scoreboard = rank(systems, norms=built, allow_mismatch=True)
    assert {of.aspect for of in scoreboard.mismatches} == {aspect}


def test_other_names_of_tasks_are_the_same_tasks(tmp_path, built):
    assert rank(new(tmp_path, tasks="mine"), norms=built).mismatches == ()


def test_nothing_is_shared(tmp_path, built):
    scores = levels(0.7) | {"remember": {"x": 0.5}}
    with pytest.raises(SpeechIQError, match="level remember: the systems share no clip"):
        rank(new(tmp_path, scores), norms=built, allow_mismatch=True)
    with pytest.raises(SpeechIQError, match="system 'new' has no apply scores"):
        systems = [*new(tmp_path / "2", {k: scores[k] for k in ("remember", "understand")}), *new(tmp_path / "whole")]
        rank([systems[0], systems[1].replace(name="whole")], norms=built, allow_mismatch=True)


def test_shared_clips_on_which_the_pool_agreed_tell_nothing(tmp_path):
    for name, skill in SKILLS.items():
        scores = levels(skill)
        scores["remember"]["demo/0"] = 0.25
        write_run(tmp_path / "pool" / name, scores, system=name)
    built = norms.build_norms(read_systems([tmp_path / "pool"]), "pool")
    scores = levels(0.7) | {"remember": {"demo/0": 0.5}}
    with pytest.raises(SpeechIQError, match="level remember: none of the 1 clips shared with norms 'pool' separates"):
        rank(new(tmp_path, scores), norms=built, allow_mismatch=True)


def test_norms_are_built_from_equal_terms_alone(tmp_path, pool):
    other = new(tmp_path, metadata={"apply": {"version": 2}})
    with pytest.raises(
        SpeechIQError, match=r"equal conditions: level apply.* version is 2 in system 'new' and 1 in system"
    ):
        norms.build_norms([*pool, *other], "pool")
    with pytest.raises(SpeechIQError, match="needs at least two"):
        norms.build_norms(pool[:1], "pool")
    with pytest.raises(SpeechIQError, match="a printable name, not"):
        norms.build_norms(pool, "\x1b[2J")


def change(*keys: str | int, value: object) -> Callable[[dict], None]:
    def apply(content: dict) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return apply


UNFIT = {
    "unknown field": (change("more", value=1), "unknown field `more`"),
    "missing field": (lambda content: content.pop("rule"), "missing required field `rule`"),
    "wrong type": (change("levels", "apply", "mean", value="0.5"), "Expected `float`, got `str`"),
    "not finite": (change("levels", "apply", "mean", value=math.inf), "is not JSON"),
    "no spread": (change("levels", "apply", "std", value=0.0), "that are not possible"),
    "negative weight": (change("levels", "apply", "clips", "demo/0", value=-0.5), "that are not possible"),
    "no clips": (change("levels", "remember", "clips", value={}), "that are not possible"),
    "other metric": (change("levels", "remember", "metric", value="repetition"), "is scored by 'repetition'"),
    "missing level": (lambda content: content["levels"].pop("apply"), "its levels are remember, understand, not"),
    "no questions": (change("levels", "apply", "questions", value={}), "do not fit its clips"),
    "weights": (change("levels", "apply", "weight", value=0.9), "do not follow from its rule and spreads"),
    "no spread of cells": (change("levels", "apply", "spread", value=0.0), "that are not possible"),
    "a rule that is none": (change("rule", value="magic"), "unknown rule of level weights 'magic'"),
    "a rule that does not print": (change("rule", value="1,2,\x0b1"), "a name that does not print"),
    "a name that does not print": (change("name", value="\x1b[2J"), "a name that does not print"),
    "a system that does not print": (change("population", 0, "system", value="\x1b[2J"), "a name that does not print"),
    "a set that does not print": (change("excluded", value="\x1b[2J"), "a name that does not print"),
    "an edition of few systems": (change("edition", value=1), "frozen norms of fewer than 10 systems that are not an"),
    "whole numbers": (change("levels", "remember", "mean", value=0), "not in the form that speechiq writes"),
}


@pytest.mark.parametrize(("spoil", "message"), UNFIT.values(), ids=UNFIT)
def test_content_that_no_pool_leaves_is_refused_even_with_a_fitting_hash(tmp_path, built, spoil, message):
    content = json.loads(json.dumps(built.content))
    spoil(content)
    kept = {key: content[key] for key in content if key not in ("schema", "version", "sha256")}
    path = tmp_path / "norms.json"
    path.write_text(json.dumps(add_checksum(content["schema"], content["version"], kept)))
    with pytest.raises(SpeechIQError) as refused:
        norms.read_norms(path)
    assert message in str(refused.value) and str(path) in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace('"weight": 0.', '"weight": 0.1', 1), "was changed after it was made"),
        (lambda text: text.replace('"version": 1', '"version": 2', 1), "has version 2 of speechiq-norms"),
        (lambda text: text.replace("speechiq-norms", "other"), "is not a speechiq-norms file"),
        (lambda text: text[:-20], "is not JSON"),
        (lambda text: "[]", "is not a speechiq-norms file"),
    ],
)
def test_files_edited_by_hand_are_refused(tmp_path, built, edit, message):
    path = tmp_path / "norms.json"
    norms.write_norms(built, path)
    path.write_text(edit(path.read_text()))
    with pytest.raises(SpeechIQError, match=message):
        norms.read_norms(path)


def test_the_norms_of_the_demo_come_with_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo = norms.read_norms("demo")
    assert demo.label == "demo@1" and len(demo.systems) == 5 and demo.example
    assert norms.read_norms("demo@1").sha256 == demo.sha256
    assert {level: len(of.clips) for level, of in demo.levels.items()} == dict.fromkeys(LEVELS, 14)
    assert sum(map(len, demo.levels["apply"].questions.values())) == 42
    for place in ("nowhere.json", "x" * 300):
        with pytest.raises(SpeechIQError, match=rf"no norms '{place}'.*come with speechiq \(demo@1\)"):
            norms.read_norms(place)


def test_the_rules_weigh_the_norms_systems_not_those_on_the_page(tmp_path, pool, built):
    norms.write_norms(built, tmp_path / "norms.json")
    alone = rank(new(tmp_path), norms=norms.read_norms(tmp_path / "norms.json"))
    for rule, weights in weights_by_rule(alone).items():
        assert weights == {level: of.weight for level, of in calibrate(align(pool), Weighting(rule)).levels.items()}


def test_frozen_norms_have_an_edition_a_date_and_digests_of_their_population(tmp_path, pool, built):
    few = norms.freeze_norms(built, "pool@1", example=True)
    assert few.title == f"pool@1 (example, {few.sha256[:12]})" and built.title == f"pool ({built.sha256[:12]})"
    assert few.date and few.levels == built.levels and [member.system for member in few.population] == sorted(SKILLS)
    assert [member.date for member in few.population] == ["1970-01-01"] * 3
    again = norms.build_norms(pool, "pool")
    assert again.population == built.population and len({member.sha256 for member in built.population}) == 3
    many = norms.build_norms([*(pool[0].replace(name=f"s{n}") for n in range(9)), pool[1]], "many")
    assert norms.freeze_norms(many, "many@12").label == "many@12"


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        ("pool@1", "a population of 3 systems, fewer than 10"),
        *((label, "not a name with an edition") for label in ("pool", "pool@", "pool@0", "pool@x", "@1", "a/b@1")),
    ],
)
def test_norms_without_an_edition_or_of_few_systems_are_not_frozen(built, label, fault):
    with pytest.raises(SpeechIQError) as refused:
        norms.freeze_norms(built, label)
    assert refused.value.fault == fault
    with pytest.raises(SpeechIQError, match="they are frozen"):
        norms.freeze_norms(norms.freeze_norms(built, "pool@1", example=True), "pool@2", example=True)


def test_norms_that_leave_a_set_out_want_scores_that_do(tmp_path):
    write_skills(tmp_path / "pool", SKILLS)
    left = [frozen_set(tmp_path / f"{q}.json", ("demo/0", f"demo/0#{q}")) for q in (0, 1)]
    file = tmp_path / "norms.json"
    made = succeed("score", tmp_path / "pool", "--save-norms", file, "--exclude", left[0])
    assert f"on 4 clips, without 1 question of set {sets.read_confirmed(left[0]).sha256[:12]}" in made.stderr
    best = tmp_path / "pool" / "best"
    same, data = print_and_write("score", best, "--norms", file, "--exclude", left[0], "--explain")
    assert data["excluded"] == 1 and data["mismatches"] == []
    assert data["excluded_set"] == norms.read_norms(file).excluded == sets.read_confirmed(left[0]).sha256
    short = data["excluded_set"][:12]
    assert f"left out of Apply: 1 question of the unanswerable set {short}" in " ".join(same.split())
    for others, left_out in (
        ([], "no set"),
        (["--exclude", left[1]], f"set {sets.read_confirmed(left[1]).sha256[:12]}"),
    ):
        refused = refusal("score", best, "--norms", file, *others)
        assert refused.startswith(
            f"level apply: --exclude left out {left_out} of system 'best' and set {short} of norms 'norms'; "
        )
        assert f"; give --exclude with set {short}, or build the norms with" in refused
    succeed("score", tmp_path / "pool", "--save-norms", tmp_path / "whole.json")
    refused = refusal("score", best, "--norms", tmp_path / "whole.json", "--exclude", left[0])
    assert f"; leave --exclude out, or build the norms with --exclude set {short}, or " in refused
    assert siq("score", best, "--norms", file, "--allow-mismatch").count("≠") == 2
