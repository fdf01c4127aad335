"""A recognizer without a language model: it runs tasks that want transcripts, and no others."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.siq_tasks.catalog.data_sets import list_clips
from tests import runs

pytestmark = pytest.mark.slow

REMEMBER, APPLY = "siq_demo_remember", "siq_demo_apply"


@pytest.fixture
def transcripts(tmp_path):
    """Return a file with a transcript of each clip of the demo, each with a wrong word."""
    file = tmp_path / "a.jsonl"
    rows = [{"id": clip["id"], "text": f"wrong {clip['text']}"} for clip in list_clips("demo")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def score(spec, task=REMEMBER, **options):
    model = HFAudio(pretrained=spec, device="cpu", store="off", **options)
    return runs.evaluate(model, [task], samples={task: [0, 1]})


def test_transcripts_alone_have_the_scores_that_they_have_before_a_language_model(transcripts, tiny_cascade):
    alone = score(f"transcripts:{transcripts}")
    before = score(f"transcripts:{transcripts}+{tiny_cascade.llm}")
    assert repr(alone["results"][REMEMBER]) == repr(before["results"][REMEMBER])
    assert alone["results"][REMEMBER]["wer,transcript"] > 0
    described = alone["config"]["siq"]["system"]
    assert described["kind"] == "recognizer" and described["asr"] == before["config"]["siq"]["system"]["asr"]


def test_a_checkpoint_alone_transcribes_as_in_a_cascade(tiny_cascade):
    alone, cascade = score(tiny_cascade.asr), score(tiny_cascade.spec)
    texts = [[row["resps"] for row in each["samples"][REMEMBER]] for each in (alone, cascade)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("task", "fix"),
    [
        (APPLY, "--tasks siq_demo_remember,siq_demo_understand$"),
        ("audiobench_demo_judged", "or choose tasks that want transcripts$"),
    ],
)
def test_a_task_with_questions_is_refused_by_its_name(task, fix):
    with pytest.raises(SpeechIQError, match=rf"^task {task}: asks questions, and gold only .*write gold\+LLM, .*{fix}"):
        score("gold", task)


def test_transcription_of_audiobench_runs():
    assert score("gold", "audiobench_demo_long")["results"]["audiobench_demo_long"]["wer,transcript"] == 0


def test_semantic_distances_run(tiny_cascade):
    model = HFAudio(pretrained="gold", device="cpu", store="off")
    about = {"assistant": tiny_cascade.llm, "encoder": "off"}
    found = runs.evaluate(model, ["siq_demo_distance"], samples={"siq_demo_distance": [0, 1]}, metadata=about)
    assert len(found["samples"]["siq_demo_distance"]) == 2
