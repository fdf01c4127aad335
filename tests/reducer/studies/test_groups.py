"""Groups of clips of SIQ: planted gaps in every output, clusters, and groups that cannot be compared."""

from __future__ import annotations

import csv
import html
import json

import numpy as np
import pytest

from tests.commands import as_json, refusal, siq
from tests.records import change_rows
from tests.reducer.conftest import write_run

CLIPS = [f"demo/{number:02}" for number in range(24)]
GENDER = {clip: "female" if number % 3 else "male" for number, clip in enumerate(CLIPS)}


def plant(gap: float, seed: int = 0) -> dict[str, dict]:
    """Return scores of which the men's are worse."""
    noise = np.random.default_rng(seed).normal(0, 0.02, len(CLIPS))
    lost = {clip: 0.1 + abs(noise[i]) + gap * (GENDER[clip] == "male") for i, clip in enumerate(CLIPS)}
    return {
        "remember": lost,
        "understand": {clip: 1 - value for clip, value in lost.items()},
        "apply": {clip: {f"{clip}#1": float(value < 0.2)} for clip, value in lost.items()},
    }


def write(folder, gaps=(0.3, 0.0, 0.1), field="gender", groups=GENDER, **fields):
    """Write runs of systems with these gaps, whose docs name groups and maybe clusters."""
    fields[field] = groups

    def put_groups(row):
        row["doc"] |= {name: values[row["doc"]["id"]] for name, values in fields.items()}

    for number, gap in enumerate(gaps):
        metadata = {level: {"group_by": [field]} for level in ("remember", "understand", "apply")}
        write_run(folder / f"s{number}", plant(gap, number), system=f"s{number}", metadata=metadata)
        for path in (folder / f"s{number}").glob("samples_*.jsonl"):
            change_rows(path, put_groups)
    return folder


def read(folder, *options):
    return as_json("score", folder, "--group-by", "gender", *options)["by_group"]["gender"]


def test_each_level_has_its_groups_and_a_planted_gap_is_found(tmp_path):
    parts = read(write(tmp_path / "runs"))
    assert [part["item_categories"] for part in parts] == [["remember"], ["understand"], ["apply"]]
    remember = {row["system"]: row for row in parts[0]["systems"]}
    gap = remember["s0"]["gap"]
    assert (gap["best"], gap["worst"]) == ("female", "male") and gap["p"] < 0.01
    assert gap["low"] < -0.3 < gap["high"] < 0 and gap["difference"] == pytest.approx(gap["a"] - gap["b"])
    assert remember["s1"]["gap"]["p"] > 0.05 and remember["s1"]["gap"]["low"] < 0 < remember["s1"]["gap"]["high"]
    understand = next(row for row in parts[1]["systems"] if row["system"] == "s0")
    assert understand["gap"]["difference"] == pytest.approx(-gap["difference"])
    (pair,) = understand["pairs"]
    assert (pair["group_a"], pair["group_b"], pair["p"]) == ("female", "male", understand["gap"]["p"])
    assert understand["categories"]["male"]["interval"] and parts[2]["items"] == {"female": 16, "male": 8}


def test_table_page_and_files_have_the_gap(tmp_path):
    runs = write(tmp_path / "runs")
    outputs = [part for ending in ("csv", "md", "tex", "html") for part in ("-o", tmp_path / f"o.{ending}")]
    shown = siq("score", runs, "--group-by", "gender", *outputs)
    assert "by gender: Remember" in shown and "Best - worst" in shown and "female - male" in shown and "p = " in shown
    lines = (tmp_path / "o.csv").read_text().splitlines()
    rows = [row for row in csv.DictReader(lines) if row["group_by"] == "gender"]
    assert len(rows) == 9 and {row["item_categories"] for row in rows} == {"remember", "understand", "apply"}
    assert rows[0]["gap_worst"] and float(rows[0]["male_score"]) and float(rows[0]["gap_p"])
    for ending in ("md", "tex"):
        assert "Best - worst" in (tmp_path / f"o.{ending}").read_text()
    page = (tmp_path / "o.html").read_text()
    assert 'id="groups"' in page and "by gender: Understand" in page and "female - male" in page


def test_groups_are_named_as_they_are_so_that_no_two_become_one(tmp_path):
    names = "US", "us", "don't <b>know", "system"
    runs = write(tmp_path / "runs", groups={clip: names[number % 4] for number, clip in enumerate(CLIPS)})
    outputs = [part for ending in ("md", "html") for part in ("-o", tmp_path / f"o.{ending}")]
    shown = [siq("score", runs, "--group-by", "gender", "--explain", *outputs)]
    shown += [(tmp_path / f"o.{ending}").read_text().replace("\\", "") for ending in ("md", "html")]
    for text in map(html.unescape, shown):
        assert "ize of groups: US 6 clips, don't <b>know 6 clips, system 6 clips, us 6 clips" in text
        assert "Don'T" not in text and "<B>" not in text
        assert text.count("s0") >= 4, "a group may be called like the column of systems"


def test_the_page_has_groups_without_the_option_and_no_section_without_groups(tmp_path):
    siq("score", write(tmp_path / "runs"), "-o", tmp_path / "with.html", "--bootstrap", "0")
    assert 'id="groups"' in (tmp_path / "with.html").read_text()
    write_run(tmp_path / "plain" / "s", plant(0.1), system="s")
    siq("score", tmp_path / "plain", "-o", tmp_path / "without.html", "--bootstrap", "0")
    assert 'id="groups"' not in (tmp_path / "without.html").read_text()


def test_speakers_inside_groups_make_the_test_more_careful(tmp_path):
    speakers = {clip: f"{GENDER[clip]}{number % 2}" for number, clip in enumerate(CLIPS)}
    (alone, *_), (nested, *_) = (
        read(write(tmp_path / name, **fields)) for name, fields in (("clips", {}), ("speakers", {"cluster": speakers}))
    )
    assert alone["systems"][0]["gap"]["p"] < 0.01 or alone["systems"][-1]["gap"]["p"] < 0.01
    assert all(row["gap"]["p"] > 0.05 for row in nested["systems"])
    assert any(note.startswith("no p below 0.33: there are too few clusters to find a gap") for note in nested["notes"])
    assert not any(note.startswith("no p below") for note in alone["notes"])
    assert "female 16 clips of 2 clusters, male 8 clips of 2 clusters" in " ".join(nested["notes"])


def test_groups_that_are_the_clusters_are_compared_by_their_clips(tmp_path):
    part = read(write(tmp_path / "runs", cluster=GENDER))[0]
    assert "permutations of the groups of clips" in " ".join(part["notes"])
    assert min(row["gap"]["p"] for row in part["systems"]) < 0.01


def test_a_group_of_one_clip_is_named_and_has_neither_interval_nor_gap(tmp_path):
    groups = GENDER | {CLIPS[0]: "other"}
    part = read(write(tmp_path / "runs", groups=groups))[0]
    assert any(note.startswith("no gap counts other: a group of one clip has no error") for note in part["notes"])
    assert all("other" not in (row["gap"]["best"], row["gap"]["worst"]) for row in part["systems"])
    assert all(row["categories"]["other"]["interval"] is None for row in part["systems"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (dict.fromkeys(CLIPS, "male"), "--group-by gender, Remember: all 24 clips have the group 'male', so that"),
        ({clip: clip for clip in CLIPS}, "each of the 24 groups, such as 'demo/00', has one clip; name a field that"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(tmp_path, groups, message):
    assert message in refusal("score", write(tmp_path / "runs", groups=groups), "--group-by", "gender")


def test_a_clip_in_two_groups_is_refused(tmp_path):
    runs = write(tmp_path / "runs", gaps=(0.1, 0.2))
    for path in (runs / "s1").glob("samples_*.jsonl"):
        path.write_text(path.read_text().replace('"female"', '"woman"'))
    message = refusal("score", runs, "--group-by", "gender")
    assert "system 's1'" in message and "gender is 'woman' here and 'female' for another system" in message


def test_data_sets_with_other_shares_of_groups_are_told(tmp_path):
    runs = write(tmp_path / "runs")
    for folder in runs.iterdir():
        (path,) = folder.glob("results_*.json")
        results = json.loads(path.read_text())
        extra = {"demo_9": json.loads(json.dumps(results["configs"]["demo_0"]))}
        extra["demo_9"]["task"] = "demo_9"
        extra["demo_9"]["metadata"]["dataset"] = "other"
        path.write_text(json.dumps(results | {"configs": results["configs"] | extra}))
        stamp = path.stem.removeprefix("results_")
        lines = (folder / f"samples_demo_0_{stamp}.jsonl").read_text().splitlines()
        women = [line.replace("demo/", "other/") for line in lines if "female" in line]
        (folder / f"samples_demo_9_{stamp}.jsonl").write_text("\n".join(women) + "\n")
    notes = " ".join(read(runs, "--levels", "remember")[0]["notes"])
    assert "groups differ in data set: demo has 100 % of the items of male and 50 % of female" in notes
