"""`siq study predict`, `siq study labels` and `siq compare --metrics` on small runs, and input that they refuse."""

import csv
import json
import math
import re

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from tests.commands import as_json, print_and_write, refusal, succeed
from tests.records import edit_rows
from tests.reducer.conftest import write_run
from tests.siq_tasks.questions.server import serving

CLIPS = [f"demo/{number:02}" for number in range(24)]
SYSTEMS = ("tiny", "base")
LLM = {"llm": {"model": "reader"}, "answering": {"way": "likelihood"}}
HIGHER = {"wer": False, "semdist": False, "entity_wer": False, "flat": False, "repetition": False}


def rows_of(system):
    """Scores of a system by clip: `semdist` predicts failure, `wer` does less, `entity_wer` is undefined on a half."""
    generator = np.random.default_rng(SYSTEMS.index(system))
    risk = generator.random(len(CLIPS))
    return {
        clip: {
            "wer": round(float(0.5 * risk[i] + 0.5 * generator.random()), 1),
            "semdist": round(float(risk[i] / 50), 4),
            "entity_wer": math.nan if i % 2 else float(risk[i] > 0.5),
            "flat": 0.5,
            "failed": risk[i] + 0.3 * generator.random() > 0.7,
        }
        for i, clip in enumerate(CLIPS)
    }


def write_system(folder, system, rows, control=None):
    """Write a run of Remember, with further columns, and of Apply, with one question for each clip."""
    config = {"siq": {"pretrained": system, "system": {"kind": "cascade", "asr": control or {"model": system}} | LLM}}
    scores = {
        "remember": {clip: row["wer"] for clip, row in rows.items()},
        "apply": {clip: {"q": float(not row["failed"])} for clip, row in rows.items()},
    }
    results = write_run(
        folder / system, scores, system, config=config, higher_is_better={"demo_0": HIGHER, "demo_1": {"acc": True}}
    )

    def describe(row):
        numbers = rows[row["doc"]["id"]]
        row["doc"]["text"] = "one two three four five six seven eight nine ten"
        if "wer" in row:
            row |= {name: value for name, value in numbers.items() if name != "failed"}
            row["filtered_resps"] = [f"{system} wrote this"]
        else:
            row["filtered_resps"] = [["B" if numbers["failed"] else "A", ["A"] * 5]]

    edit_rows(results.parent, describe)


@pytest.fixture
def runs(tmp_path):
    for system in SYSTEMS:
        write_system(tmp_path / "runs", system, rows_of(system))
    perfect = {clip: row | {"wer": 0.0, "semdist": 0.0, "failed": False} for clip, row in rows_of("tiny").items()}
    perfect[CLIPS[0]]["failed"] = True
    write_system(tmp_path / "runs", "gold", perfect, {"control": "gold"})
    return tmp_path / "runs"


@pytest.fixture
def labels(runs, tmp_path):
    file = tmp_path / "labels.jsonl"
    succeed("study", "labels", runs, "--output", file)
    return file


def label(labels, rule):
    """Give each label the success that a rule gives to the scores of its item."""
    edit_rows(labels.parent, lambda row: row.update(success=rule(rows_of(row["system"])[row["id"]])), labels.name)


def expected_items():
    return [row for system in sorted(SYSTEMS) for row in rows_of(system).values()]


def test_every_metric_has_its_auc_and_the_first_question_is_answered(runs, tmp_path):
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    done = succeed("study", "predict", runs, "-o", out, "-o", table, "--explain")
    found = json.loads(out.read_text())
    items = expected_items()
    failed = [item["failed"] for item in items]
    by_name = {of["metric"]: of for of in found["predictors"]}
    assert list(by_name) == ["wer", "semdist", "entity_wer"]
    for name, of in by_name.items():
        values = [0.0 if math.isnan(item[name]) else item[name] for item in items]
        assert of["in_sample"]["auc"] == pytest.approx(roc_auc_score(failed, values), abs=1e-12)
        assert of["auc"]["low"] < of["in_sample"]["auc"] < of["auc"]["high"]
        assert sum(bin["items"] for bin in of["calibration"]) == len(items) == found["items"] == 48
    caught = by_name["semdist"]["thresholds"][1]
    flagged = [item["semdist"] >= caught["value"] for item in items]
    assert caught["caught"] == np.mean([one for one, bad in zip(flagged, failed, strict=True) if bad]) >= 0.9
    assert caught["false_alarms"] == np.mean([one for one, bad in zip(flagged, failed, strict=True) if not bad])
    assert "semdist predicts failure better than wer" in done.output
    assert "entity_wer is undefined for 24 of 48 items: it counts as 0 there" in done.output
    assert "flat left out: constant (0.5 for all items)" in done.output
    assert "controls left out: gold" in done.output
    assert [row["metric"] for row in csv.DictReader(table.read_text().splitlines())] == list(by_name)
    assert (found["schema"], found["baseline"]) == ("speechiq-prediction", "wer")


@pytest.mark.parametrize(("option", "metrics"), [("has", 3), ("no", 2)])
def test_items_can_be_split_by_whether_a_metric_is_defined(runs, option, metrics):
    found = as_json("study", "predict", runs, "--only", f"{option}:entity_wer", "--bootstrap", 0)
    assert (found["items"], len(found["predictors"])) == (24, metrics)


def test_a_combination_is_given_in_sample_and_on_clips_that_its_weights_have_not_seen(runs):
    form = "semdist + 0.1*entity_wer"
    printed, found = print_and_write("study", "predict", runs, "--combine", form)
    items = expected_items()
    values = [item["semdist"] + 0.1 * (item["entity_wer"] if item["entity_wer"] >= 0 else 0) for item in items]
    assert found["predictors"][-1]["metric"] == form
    expected = roc_auc_score([item["failed"] for item in items], values)
    assert found["predictors"][-1]["in_sample"]["auc"] == pytest.approx(expected, abs=1e-12)
    (combination,) = found["combinations"]
    assert combination["in_sample"]["efron"] >= combination["validated"]["efron"]
    assert "validated" in printed


def test_separated_items_are_said_to_be_separated(runs, tmp_path, labels):
    label(labels, lambda scores: scores["semdist"] < 0.01)
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    done = succeed("study", "predict", runs, "--labels", labels, "--metrics", "wer,semdist", "-o", out, "-o", table)
    assert "separated" in done.output
    (_, of) = json.loads(out.read_text())["predictors"]
    assert of["in_sample"] == pytest.approx({"auc": 1.0, "efron": 1.0, "mcfadden": 1.0}, abs=1e-12)
    assert (of["separated"], of["slope"], of["opposite_direction"]) == (1.0, None, False)
    (_, row) = csv.DictReader(table.read_text().splitlines())
    assert (row["separated"], row["direction"]) == ("1.0", "lower")


@pytest.mark.parametrize("draws", (0, 200))
def test_a_column_recorded_with_the_opposite_direction_is_named(runs, labels, draws):
    label(labels, lambda scores: scores["semdist"] >= 0.01)
    options = ("--labels", labels, "--metrics", "semdist", "--bootstrap", draws)
    printed, found = print_and_write("study", "predict", runs, *options)
    assert "opposite direction, separated" in printed
    assert "semdist: failures have better values than successes, although in the runs lower is better" in printed
    (of,) = found["predictors"]
    assert (of["in_sample"]["auc"], of["in_sample"]["efron"], of["direction"]) == (0.0, pytest.approx(1.0), "lower")
    assert of["opposite_direction"] is True


def test_labels_leave_out_what_the_paper_leaves_out(runs, tmp_path):
    file = tmp_path / "kept.jsonl"
    done = succeed("study", "labels", runs, "--only", "errors,answerable", "-o", file)
    made = [json.loads(line) for line in file.read_text().splitlines()]
    kept = {(row["system"], row["id"]): row["success"] for row in made}
    expected = {
        (system, clip): not row["failed"]
        for system in SYSTEMS
        for clip, row in rows_of(system).items()
        if row["wer"] > 0 and clip != CLIPS[0]
    }
    assert kept == expected
    assert made[0] | {"success": None} == {
        "id": CLIPS[1], "system": "base", "success": None, "by": "answers", "question_id": "q",
    }  # fmt: skip
    assert "2 of 48 items are answered wrong even from the reference: left out" in done.output


def test_labels_of_clips_are_compared_with_all_answers_to_their_questions(runs, tmp_path):
    """Two questions per clip: `gold` fails both of the first clip, one of the second, and did not answer the third."""
    for path in runs.rglob("samples_demo_1*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows += [row | {"doc": row["doc"] | {"question_id": "r"}} for row in rows]
        for row in rows if "gold" in str(path) else ():
            wrong = [CLIPS[0], *[CLIPS[1]] * (row["doc"]["question_id"] == "r")]
            row["acc"] = float(row["doc"]["id"] not in wrong)
        if "gold" in str(path):
            rows = [row for row in rows if row["doc"]["id"] != CLIPS[2]]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / "clips.jsonl"
    labels = [
        {"id": clip, "system": system, "success": not row["failed"], "by": "ann"}
        for system in SYSTEMS
        for clip, row in rows_of(system).items()
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in labels))
    for option, items, done in ((None, 48, "kept"), ("answerable", 46, "left out")):
        options = ["--only", option] if option else []
        command = ("study", "predict", runs, "--labels", file, "--allow-mismatch", "--explain", *options)
        printed, found = print_and_write(*command)
        assert found["items"] == items
        assert f"2 of 48 items are answered wrong even from the reference: {done}" in printed
        assert "2 of 48 items have no scored answer from the reference: kept" in printed


def test_agreement_of_two_authors_is_cohens_kappa(runs, labels, tmp_path):
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    people = tmp_path / "people.jsonl"
    changed = [row | {"by": "ann", "success": row["success"] ^ (i % 7 == 0)} for i, row in enumerate(rows)]
    people.write_text("".join(json.dumps(row | {"id": row["id"].partition("/")[2]}) + "\n" for row in changed))
    expected = cohen_kappa_score(*([row["success"] for row in of] for of in (rows, changed)))
    printed, found = print_and_write("study", "predict", runs, "--labels", labels, "--labels", people)
    assert "people.jsonl (ann)" in printed and f"{expected:.2f}" in printed
    assert found["agreement"][0]["kappa"]["value"] == pytest.approx(expected, abs=1e-12)


def test_a_judge_compares_both_answers_in_both_orders_and_equal_ones_by_rule(runs, tmp_path, endpoint_key, monkeypatch):
    """A judge that prefers option A, but says equal about the two first clips and always the first about a third."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    failing = [clip for clip in CLIPS if rows_of("tiny")[clip]["failed"] and clip != CLIPS[0]]

    def reply(prompt, _number):
        clip = re.search(r"demo/\d\d", prompt)
        if clip is None or clip[0] == failing[0]:
            return "Better: equal"
        if clip[0] == failing[1]:
            return "Better: first"
        in_order = prompt.index("<first>") < prompt.index("one") < prompt.index("<second>")
        return "Better: first" if in_order else "Better: second"

    edit_rows(runs, lambda row: row["doc"].update(question=f"What about {row['doc']['id']}?"), "samples_demo_1_*")
    file = tmp_path / "judged.jsonl"
    options = ["--judge", "openai:m"]
    with serving(reply) as server:
        done = succeed("study", "labels", runs, *options, "--judge-option", f"base_url={server.url}", "-o", file)
        asked = [str(request) for request in server.requests if "<first>" in str(request)]
    made = {(row["system"], row["id"]): row for row in map(json.loads, file.read_text().splitlines())}
    different = {
        (system, clip)
        for system in SYSTEMS
        for clip, row in rows_of(system).items()
        if row["failed"] != (clip == CLIPS[0])
    }
    assert {key for key, row in made.items() if not row["success"]} == {
        key for key in different if key[1] != failing[0]
    }
    assert {row["by"] for row in made.values()} == {"judge openai:m"} and len(made) == 48
    assert len(asked) <= 2 * len(different)
    inconsistent = sum(clip == failing[1] for _, clip in different)
    assert f"{inconsistent} of 48 items are judged differently in the two orders: failures" in done.output
    assert f"{48 - len(different)} of 48 items have equal answers" in done.output
    assert f"position bias over {len(different)} pairs: the order changes" in done.output
    succeed("study", "predict", runs, "--labels", file)


@pytest.mark.parametrize(
    ("options", "output", "message"),
    [
        (["--judge", "exact_match"], "x.jsonl", "judge=exact_match: cannot compare two answers"),
        (["--judge", "openai:m", "--judge-option", "draws"], "x.jsonl", "not a key with a value; write KEY=VALUE"),
        (["--only", "has:wer"], "x.jsonl", "'has:wer' is unknown or a duplicate; choose from errors, answerable"),
        (["--only", "errors"], "x.html", "--only: on the page a person labels all pairs of answers"),
    ],
)
def test_labels_that_cannot_be_made_are_refused_in_one_line(runs, tmp_path, options, output, message):
    assert message in refusal("study", "labels", runs, *options, "-o", tmp_path / output)
    assert not (tmp_path / output).exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "demo/99", "system": "tiny", "success": true, "by": "a"}', "clip 'demo/99' is not in the runs"),
        ('{"id": "demo/00", "system": "tony", "success": true, "by": "a"}', "no run of system 'tony'; did you mean"),
        ('{"id": "demo/00", "system": "tiny", "success": true, "by": "a", "question_id": "r"}', "did not run clip"),
        ('{"id": "demo/00", "system": "tiny", "success": 1, "by": "a"}', "each line is"),
        ('{"id": "demo/00", "system": "tiny", "by": "a"}', "missing required field `success`"),
        ('{"id": "demo/00", "system": "tiny", "success"', "not a whole JSON object"),
        ("", "has no labels"),
        ('{"id": "demo/00", "system": "tiny", "success": true, "by": "a"}', "all labels are successes (1)"),
        (
            '{"id": "00", "system": "tiny", "success": true, "by": "a"}\n'
            '{"id": "demo/00", "system": "tiny", "success": false, "by": "a"}',
            "has another label in line 1",
        ),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_used_are_refused_in_one_line(runs, tmp_path, line, message):
    file = tmp_path / "bad.jsonl"
    file.write_text(line)
    assert message in refusal("study", "predict", runs, "--labels", file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "wer,flat"], "flat: constant (0.5 for all items); leave it out of --metrics"),
        (["--metrics", "wr"], "no metric 'wr' in these runs; did you mean wer?"),
        (["--combine", "wer + bleu"], "no metric 'bleu'"),
        (["--combine", "wer + wer"], "named twice"),
        (["--combine", "wer + 0*semdist"], "the weight of 'semdist' is 0"),
        (["--combine", "wer * semdist"], "'* semdist' is not a term"),
        (["--combine", "__import__('os').system('false')"], "no metric '__import__'"),
        (["--combine", "wer"], "one metric is not a combination"),
        (["--combine", ""], "is not a term"),
        (["--against", "cer"], "--against cer: not among the metrics"),
        (["--bootstrap", "5"], "5 draws are too few"),
        (["--only", "has:cer"], "no metric 'cer'"),
        (["--only", "errors,errors"], "'errors' is unknown or a duplicate"),
        (["--only", "has"], "'has' is unknown or a duplicate; choose from errors, answerable, has:METRIC, no:METRIC"),
    ],
)
def test_options_that_cannot_be_used_are_refused_in_one_line(runs, options, message):
    assert message in refusal("study", "predict", runs, *options)


def test_runs_that_cannot_be_used_are_refused_in_one_line(runs, tmp_path):
    for folder in ("tiny", "base"):
        for path in (runs / folder).iterdir():
            path.unlink()
    assert "only controls (gold) answered" in refusal("study", "predict", runs)
    same = {clip: row | {"failed": False} for clip, row in rows_of("tiny").items()}
    write_system(tmp_path / "same", "tiny", same)
    assert "all labels are successes (24)" in refusal("study", "predict", tmp_path / "same")
    assert "no run of the control gold" in refusal("study", "predict", tmp_path / "same", "--only", "answerable")
    assert "no run of the control gold" in refusal("study", "labels", tmp_path / "same", "-o", tmp_path / "r.html")
    write_run(tmp_path / "half", {"apply": {"demo/00": {"q": 1.0}}}, "half")
    assert "no metric of transcripts" in refusal("study", "predict", tmp_path / "half")
    write_run(tmp_path / "other", {"remember": {"demo/00": 1.0}}, "other")
    assert "these runs have no answers" in refusal("study", "predict", tmp_path / "other")


@pytest.mark.parametrize("answer", [1, None, True, ["A"], {"A": 1}])
def test_an_answer_key_of_another_type_is_no_answer_on_the_page(runs, tmp_path, answer):
    edit_rows(runs, lambda row: row["doc"].update(answer=answer), "samples_demo_1_*")
    assert "wrote" in succeed("study", "labels", runs, "-o", tmp_path / "r.html").output


def test_coupled_comparison_pools_errors_and_asks_all_intervals(runs):
    printed, found = print_and_write("compare", runs / "tiny", runs / "gold", "--metrics", "wer,semdist")
    found = found["suites"]["metrics"]
    wer, semdist = (found["scores"][name] for name in ("wer", "semdist"))
    rows = rows_of("tiny").values()
    assert found["pooled"] == ["wer"]
    assert wer["difference"] == pytest.approx(np.mean([row["wer"] for row in rows])), "A - B"
    assert semdist["difference"] == pytest.approx(np.mean([row["semdist"] for row in rows]))
    assert 0 < wer["low"] < wer["difference"] < wer["high"]
    assert (found["measures"]["wer"]["direction"], wer["better"]) == ("lower", "gold")
    assert "A - B" in printed and "95 % interval" in printed
    assert found["better"] == "gold" and "B is better beyond chance, by the intervals of wer, semdist" in printed
    done = succeed("compare", runs / "tiny", runs / "gold", "--metrics", "wer,entity_wer")
    assert "neither is better beyond chance" in done.output
    assert "Entity Wer: 12 of 24 items have a score of both" in done.output


def test_errors_of_long_references_count_more_in_a_pooled_rate(tmp_path):
    for system, rates in {"a": (1.0, 0.0), "b": (0.0, 0.0)}.items():
        write_run(tmp_path / system, {"remember": dict(zip(("demo/1", "demo/2"), rates, strict=True))}, system)
    long = {"demo/1": "hi there, you all", "demo/2": "hi"}
    edit_rows(tmp_path, lambda row: row["doc"].update(text=long[row["doc"]["id"]]))
    of = as_json("compare", tmp_path / "a", tmp_path / "b", "--metrics", "wer")["suites"]["metrics"]["scores"]["wer"]
    assert (of["a"], of["b"], of["difference"]) == (pytest.approx(4 / 5), 0.0, pytest.approx(4 / 5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "bleu"], "no column 'bleu'"),
        (["--metrics", "wer,wer"], "named twice"),
        (["--metrics", "wer", "--levels", "remember"], "--levels remember: --metrics wer compares columns"),
    ],
)
def test_a_coupled_comparison_that_is_not_possible_is_refused(runs, options, message):
    assert message in refusal("compare", runs / "tiny", runs / "base", *options)


def test_the_page_has_the_curves_and_asks_nothing_of_the_network(runs, tmp_path, open_page):
    page = tmp_path / "predict.html"
    succeed("study", "predict", runs, "--combine", "semdist + 0.1*wer", "-o", page)
    visit = open_page(page)
    for place in visit.tab.locator(".chart").all():
        place.scroll_into_view_if_needed()
        place.locator("svg.main-svg").first.wait_for()
    assert "semdist, semdist + 0.1*wer predict failure better than wer" in visit.tab.locator(".lead").text_content()
    assert visit.tab.locator("#roc .legendtext").count() == 4


def test_a_person_labels_by_keys_and_saves_a_file_that_predict_reads(runs, tmp_path, open_page):
    page = tmp_path / "review.html"
    done = succeed("study", "labels", runs, "-o", page)
    visit = open_page(page)
    card = visit.tab.locator("#review .card")
    card.wait_for()
    cards = int(visit.tab.locator("#review-count").text_content().split()[2])
    for number in range(cards):
        visit.tab.keyboard.press("4" if number == 0 else "3" if number == 1 else "1")
    done = f"{cards} of {cards} judged: save the file"
    assert visit.tab.locator("#review-count").text_content() == done
    visit.open()
    card.wait_for()
    assert visit.tab.locator("#review-count").text_content() == done, "kept in the browser"
    visit.tab.locator("#review-person").fill("ann")
    file = tmp_path / "labels.jsonl"
    file.write_text(visit.download(visit.tab.locator("#review-save")))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 47 and {row["by"] for row in rows} == {"ann"}
    assert sum(not row["success"] for row in rows) == cards - 2
    done = succeed("study", "predict", runs, "--labels", file)
    assert "labels.jsonl (ann)" in done.output


def test_a_clip_that_was_answered_in_two_ways_counts_once(runs):
    """By answer keys the choice of an option counts, and for a comparison of answers the free text."""
    for system in SYSTEMS:
        config = {"siq": {"pretrained": system, "system": {"kind": "cascade", "asr": {"model": system}} | LLM}}
        measure = {"column": "acc", "direction": "higher", "unit": "contains answer %"}
        about = {"suite": "talk", "category": "answer", "item": ["id", "question_id"], "measure": measure}
        path = write_run(
            runs / f"{system}-talk", {"apply": {clip: {"said": 1.0} for clip in CLIPS}}, system, tasks="talk",
            metadata={"apply": about}, config=config,
        )  # fmt: skip
        for file in [path, *path.parent.glob("samples_*")]:
            file.write_text(file.read_text().replace('"acc"', '"contains_answer"'))
    assert as_json("study", "predict", runs)["items"] == 48
