"""What a judge made of an answer survives the way into a sample file and back."""

from __future__ import annotations

import json
import math

from lm_eval.utils import hash_dict_images, sanitize_list

from speechiq.metrics import reply
from speechiq.metrics.judge.free_answers import item_of, score
from speechiq.metrics.judge.judging import Judgment
from speechiq.metrics.measure import read_category
from speechiq.reducer.runs.judged import read_judgments
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.studies.agreement import measure_reliability
from tests.reducer.judged_runs import METADATA


def test_a_row_that_lm_eval_writes_is_read(tmp_path):
    doc = {"id": "a", "question_id": "q", "question": "Who?", "answer": "Ada", "judging": {"scale": [0, 5]}}
    item = item_of('It\'s "Ada"', Judgment((4.0, math.nan), ("Score: 4", "?")), math.nan)
    saved = hash_dict_images({"task": [{"doc": doc, "filtered_resps": [item]}]})["task"][0]
    saved["filtered_resps"] = sanitize_list(saved["filtered_resps"])
    line = json.dumps(saved | score(doc, [item])).encode()
    category = read_category(METADATA, "t", "r.json")
    task = TaskRun(0.0, str(tmp_path / "results_x.json"), "s", "t", category, {}, {})
    task.samples.write_bytes(line)
    ((item, found),) = read_judgments(task).items()
    assert item == ("a", "q") and found.texts == ("Score: 4", "?") and found.answer == 'It\'s "Ada"'
    assert found.scores[0] == 4.0 and math.isnan(found.scores[1]) and found.judge == 0.8 and found.points == 4.0
    assert (found.refusal, found.empty) == (0.0, 0.0) and not found.unjudged


def test_a_row_of_another_task_has_no_judge(tmp_path):
    category = read_category(METADATA, "t", "r.json")
    task = TaskRun(0.0, str(tmp_path / "results_x.json"), "s", "t", category, {}, {})
    task.samples.write_text(json.dumps({"doc": {"id": "a"}, "filtered_resps": ["{a brace"], "judge": 0.5}))
    assert read_judgments(task) == {}


def test_rows_of_spoken_replies_show_whether_the_judge_prefers_long_ones(tmp_path):
    unheard = {"written": "", "audio": None, "texts": [""], "scores_written": [None], "texts_written": [""]}
    lines = []
    for count in range(1, 5):
        item = reply.JudgedItem(
            unheard | {"answer": "word " * count, "scores": [float(count)], "speech_quality": None, "coverage": 1.0}
        )
        doc = {"id": f"a/{count}", "question_id": "q", "question": "Why?", "judging": {"scale": [0, 5]}}
        row = {"doc": doc, "filtered_resps": [str(item)], **reply.score(doc, [item])}
        lines.append(json.dumps(row))
    category = read_category(METADATA, "t", "r.json")
    task = TaskRun(0.0, str(tmp_path / "results_x.json"), "s", "t", category, {}, {})
    task.samples.write_text("\n".join(lines))
    assert measure_reliability(read_judgments(task), draws=0).length.value == 1.0
