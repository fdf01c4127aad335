"""Test cascade against end to end: runs with known differences, the pairs, what is missing, and each error."""

from __future__ import annotations

import json

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores.suites import ScoringOptions, find_suites
from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.studies.architecture import DIFFERENCES, study_architecture
from tests.commands import refusal, siq, succeed
from tests.records import change_rows, judge_transcripts
from tests.reducer.conftest import levels, write_run

DRAWS = 40
END_TO_END = {"kind": "end to end", "model": "org/audio"}
#: System -> its skill; the base language model is org/text.
SKILLS = {"org/audio": 0.4, "org/audio+org/text": 0.5, "org/asr+org/text": 0.8, "gold+org/text": 0.95}
CELLS = dict(zip(("end to end", "own ears", "recognizer", "reference"), SKILLS, strict=True))
BASE = ("org/audio", "org/text")


def describe_system(spec, way="generate"):
    """Return the description of a system that a run records, without most options."""
    first, *others = spec.split("+")
    asr = {"control": first} if first in ("gold", "silence") else {"model": first}
    described = {"kind": "cascade", "asr": asr, "llm": {"model": others[-1]}} if others else dict(END_TO_END)
    if len(others) == 2:
        asr["corrector"] = {"model": others[0]}
    return described | {"answering": {"way": way}}


def write_system(folder, spec, skill, way="generate", clips=12, kept=None, described=None, **options):
    """Write the run of a system; its name on the disk has no meaning."""
    scores = {level: of for level, of in levels(skill, clips, questions=5).items() if kept is None or level in kept}
    config = {"siq": {"pretrained": spec, "system": described or describe_system(spec, way)}}
    return write_run(folder / spec.replace("/", "_"), scores, spec, config=config, **options)


def write_four(folder, without=(), **options):
    for spec, skill in SKILLS.items():
        if spec not in without:
            write_system(folder, spec, skill, **options)
    return folder


def study(folder, bases=(BASE,), recognizer=None, draws=DRAWS):
    return study_architecture(find_suites([folder], False, ScoringOptions()), bases, recognizer, [folder], draws)


def read(folder, *options, **named):
    """Return the records of the differences."""
    return study(folder, *options, **named).content["differences"]


def flatten(skill, level, clips=12):
    """Return clip -> the mean score of a planted system, as people read it."""
    scores = levels(skill, clips, questions=5)[level]
    return {clip: 100 * np.mean([*(of.values() if isinstance(of, dict) else [of])]) for clip, of in scores.items()}


@pytest.mark.parametrize("level", ["remember", "understand", "apply"])
def test_differences_are_those_of_the_planted_scores(tmp_path, level):
    rows = [row for row in read(write_four(tmp_path)) if row["category"] == level]
    assert [(row["first"], row["second"]) for row in rows] == [(a, b) for a, b, _ in DIFFERENCES]
    sign = -1 if level == "remember" else 1
    for row in rows:
        first, second = (flatten(SKILLS[CELLS[name]], level) for name in (row["first"], row["second"]))
        gaps = np.array([first[clip] - second[clip] for clip in first])
        assert row["difference"].value == pytest.approx(gaps.mean(), abs=1e-6)
        assert row["p"] == pytest.approx(permute(gaps[None])[0], abs=1e-9)
        assert row["difference"].low <= gaps.mean() <= row["difference"].high
        if level != "apply":
            assert (row["better"], row["worse"]) == ((sign * gaps > 0).sum(), (sign * gaps < 0).sum())


def test_items_are_questions_and_the_first_difference_is_the_sum_of_the_next_two(tmp_path):
    rows = [row for row in read(write_four(tmp_path)) if row["category"] == "apply"]
    assert [row["items"] for row in rows] == [60] * 5 and rows[0]["clips"] == 12
    whole, training, ears, *_ = (row["difference"].value for row in rows)
    assert whole == pytest.approx(training + ears)
    one, other = (levels(skill, 12, questions=5)["apply"] for skill in (0.4, 0.8))
    pairs = [(one[clip][q], other[clip][q]) for clip in one for q in one[clip]]
    counts = [sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)]
    assert [rows[0]["better"], rows[0]["worse"]] == counts


def test_intervals_are_of_clusters(tmp_path):
    def share(row):
        row["doc"]["cluster"] = f"call {int(row['doc']['id'].partition('/')[2]) // 3}"

    for path in write_four(tmp_path).rglob("samples_*.jsonl"):
        change_rows(path, share)
    result = study(tmp_path)
    assert {row["clusters"] for row in result.content["differences"]} == {4}
    assert any("Few clusters (12 clips in 4 clusters)" in note for note in result.grids[0].all_notes)
    assert "bootstrap samples of clusters" in result.lines[-1]


def test_all_recognizers_and_language_models_are_one_table(tmp_path):
    write_four(tmp_path)
    write_system(tmp_path, "org/asr+org/other", 0.6)
    write_system(tmp_path, "org/asr+org/ger+org/other", 0.7)
    grid = study(tmp_path).grids[-1]
    assert grid.title == "Recognizers and language models, Apply: acc. %"
    assert [column.name for column in grid.columns] == ["recognizer", "org/other", "org/text"]
    rows = {row["recognizer"]: row for row in grid.rows}
    assert [*rows] == ["gold", "org/asr", "org/asr+org/ger", "org/audio"]
    for ears, reader, skill in (("org/asr", "org/other", 0.6), ("org/asr+org/ger", "org/other", 0.7)):
        assert rows[ears][reader].value == pytest.approx(np.mean([*flatten(skill, "apply").values()]))
    assert "org/text" not in rows["org/asr+org/ger"] and rows["gold"]["org/text"].low < rows["gold"]["org/text"].value


def test_without_a_base_there_are_only_pairs(tmp_path):
    result = study(write_four(tmp_path), bases=())
    assert len(result.grids) == 1 and not result.content["differences"] and result.content["missing"] == []


def test_what_is_missing_is_named_with_its_command(tmp_path):
    result = study(write_four(tmp_path, without=("gold+org/text", "org/asr+org/text"), way="likelihood"))
    command = "--tasks demo_0,demo_1,demo_2 -o"
    assert result.content["missing"] == [
        f"no run of ASR+org/text (recognizer): siq eval ASR+org/text,llm_answer=likelihood {command} {tmp_path}",
        f"no run of gold+org/text (reference): siq eval gold+org/text,llm_answer=likelihood {command} {tmp_path}",
    ]
    assert [(row["first"], row["second"]) for row in result.content["differences"]] == [("end to end", "own ears")] * 3


def test_levels_that_a_member_lacks_are_compared_without_it(tmp_path):
    write_four(tmp_path, without=("gold+org/text",))
    write_system(tmp_path, "gold+org/text", 0.95, kept=["apply"])
    rows = read(tmp_path)
    assert [sum(row["category"] == level for row in rows) for level in ("remember", "apply")] == [3, 5]


def test_other_ways_of_answering_other_models_and_other_transcripts_are_said(tmp_path):
    write_four(tmp_path, without=("org/audio", "gold+org/text"))
    alone = write_system(tmp_path, "org/audio", 0.4, way="likelihood")
    described = describe_system("gold+org/text") | {"llm": {"model": "org/text", "dtype": "bfloat16"}}
    write_system(tmp_path, "gold+org/text", 0.95, described=described)

    def rewrite(row):
        row["filtered_resps"] = ["another transcript"]

    change_rows(next(alone.parent.glob("samples_demo_0_*")), rewrite)
    lines = "\n".join(study(tmp_path).lines)
    assert "not answered in one way (org/audio likelihood, org/audio+org/text generate" in lines
    assert "the language model of gold+org/text has other options than that of org/audio+org/text" in lines
    assert "12 of 12 transcripts of org/audio alone and in org/audio+org/text differ" in lines
    assert "differ" not in "\n".join(study(write_four(tmp_path / "equal")).lines)


def test_transcripts_of_which_one_system_was_judged_by_meaning_are_equal(tmp_path):
    judge_transcripts(write_four(tmp_path) / "org_audio")
    assert "differ" not in "\n".join(study(tmp_path).lines)


def test_engines_that_run_the_same_model_are_one_stage(tmp_path):
    write_system(tmp_path, "openai:audio", 0.4)
    write_system(tmp_path, "openai-chat:audio+hf:org/text", 0.5)
    rows = read(tmp_path, [("openai:audio", "org/text")])
    assert {(row["first"], row["second"]) for row in rows} == {("end to end", "own ears")}


def test_conditions_are_compared_apart(tmp_path):
    write_four(tmp_path / "clean")
    noisy = {level: {"condition": "white@10dB"} for level in ("remember", "understand", "apply")}
    write_four(tmp_path / "noisy", metadata=noisy)
    rows = read(tmp_path)
    assert {row["condition"] for row in rows} == {"", "[white@10dB]"} and len(rows) == 30


def test_the_command_prints_and_writes(tmp_path):
    write_four(tmp_path / "runs")
    files = [tmp_path / f"out.{ending}" for ending in ("json", "csv", "md", "tex")]
    options = [option for file in files for option in ("--output", file)]
    base = ("--base", "org/audio=org/text", "--bootstrap", DRAWS)
    printed = siq("study", "architecture", tmp_path / "runs", *base, "--explain", *options)
    assert "Cascade or end to end? org/audio and org/text, Apply: acc. %" in printed
    assert "end to end - own ears: what joint training changes" in printed
    assert "end to end against cascade -" in printed and "(p 0.0005): joint training -" in printed
    content = json.loads(files[0].read_text())
    assert content["schema"] == "speechiq-architecture" and len(content["differences"]) == 15
    assert files[1].read_text().count("\n") == 16 and "end to end" in files[2].read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--base", "org/audio"), "--base org/audio: not two models; write AUDIO_MODEL=LLM"),
        (("--base", "a=b=c"), "--base a=b=c: not two models"),
        (
            ("--base", "org/audo=org/text"),
            "no system of these runs has the audio model org/audo; did you mean org/audio?",
        ),
        (
            ("--base", "org/audio=org/txt"),
            "no system of these runs has the language model org/txt; did you mean org/text?",
        ),
        (
            ("--base", "org/audio=org/text", "--recognizer", "org/as"),
            "no system of these runs has the recognizer org/as; did you mean org/asr?",
        ),
        (("--recognizer", "org/asr"), "--recognizer org/asr: there is no --base; add --base AUDIO_MODEL=LLM"),
    ],
)
def test_a_mistyped_option_is_one_line(tmp_path, options, message):
    assert message in refusal("study", "architecture", write_four(tmp_path), *options)


def test_several_recognizers_need_a_choice(tmp_path):
    write_four(tmp_path)
    write_system(tmp_path, "org/second+org/text", 0.6)
    with pytest.raises(
        SpeechIQError, match="2 recognizers ran with org/text: org/asr, org/second; choose one, such as"
    ):
        study(tmp_path)
    rows = read(tmp_path, recognizer="org/second")
    assert rows[0]["second_score"] == pytest.approx(np.mean([*flatten(0.6, "remember").values()]))


def test_a_base_without_two_systems_names_the_first_command(tmp_path):
    write_system(tmp_path, "org/audio", 0.4)
    write_system(tmp_path, "org/asr+org/other", 0.4)
    write_system(tmp_path, "org/second+org/text", 0.6, kept=["apply"], tasks="others")
    message = refusal("study", "architecture", tmp_path, "--base", "org/audio=org/other", "--recognizer", "org/second")
    assert "--base org/audio=org/other: no two systems; no run of org/audio+org/other (own ears): siq eval" in message


def test_runs_without_a_cascade_or_of_other_tasks_are_one_line(tmp_path):
    write_system(tmp_path / "one", "org/audio", 0.4)
    assert "no recognizer ran with a language model; give runs of cascades" in refusal(
        "study", "architecture", tmp_path / "one"
    )
    write_four(tmp_path / "two", without=("org/audio",))
    write_system(tmp_path / "two", "org/audio", 0.4, metadata={"apply": {"prompt_version": 9}})
    message = refusal("study", "architecture", tmp_path / "two", "--base", "org/audio=org/text")
    assert "prompt_version is" in message and "--allow-mismatch" not in message


def test_imported_outputs_are_left_out(tmp_path):
    write_four(tmp_path)
    about = {level: {"imported": "table"} for level in ("remember", "understand", "apply")}
    write_system(tmp_path, "org/new+org/text", 0.9, described={"kind": "imported"}, metadata=about)
    done = succeed("study", "architecture", tmp_path, "--bootstrap", "0")
    assert "org/new" not in done.stdout and "org/asr" in done.stdout
