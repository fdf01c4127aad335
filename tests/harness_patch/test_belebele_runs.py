"""Three levels of a language end to end: from a hub that `HF_ENDPOINT` names to rows with clusters and groups."""

import json
import os

import pytest

from tests.commands import siq
from tests.conftest import run
from tests.engines.tiny_cascade import save_recognizer
from tests.loopback_hub import serve
from tests.siq_tasks.belebele import question, record, sentence, write_set

pytestmark = pytest.mark.slow
LEVELS = ("remember", "understand", "apply")
ONLY = {"SIQ_TASKS": "only", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def rows(tiny_cascade, tmp_path_factory):
    """Return the sample rows of each level, from a run of a multilingual recognizer and a language model, both tiny."""
    folder = tmp_path_factory.mktemp("belebele")
    both = [sentence(1, "Erster Satz.", record("kennedy", 3.0)), sentence(2, "Zweiter.", record("kennedy", 3.0, 4.0))]
    other = [sentence(3, "Ein anderer Satz.", record("austen", 4.0), gender=["MALE"])]
    # Above the window of 30 s of Whisper.
    long = [sentence(4 + i, "Ein langer Satz.", record(f"parliament-{i + 1}", 17.0)) for i in range(2)]
    asked = [question("a", 1, both), question("a", 2, both), question("b", 1, other), question("c", 1, long)]
    own = {"HF_HUB_OFFLINE": "", "HF_HOME": str(folder / "home"), "no_proxy": "*", "SIQ_STORE": "off"}
    system = f"{save_recognizer(folder / 'asr', 'demo:whisper-base')}+{tiny_cascade.llm}"
    with serve() as hub:
        hub.add("WueNLP/belebele-fleurs", write_set(folder / "hub", asked))
        done = run(
            *("lm_eval", "run", "--model", "hf-audio", "--model_args", f"pretrained={system}"),
            *("--tasks", "siq_belebele_deu_Latn", "--metadata", f"embedder={tiny_cascade.llm},recording=longest"),
            *("--device", "cpu", "--log_samples", "--output_path", str(folder / "runs")),
            env=os.environ | ONLY | own | {"HF_ENDPOINT": hub.address},
        )
    assert done.returncode == 0, done.stderr[-3000:]
    (results,) = folder.joinpath("runs").rglob("results_*.json")
    files = {level: next(results.parent.glob(f"samples_siq_belebele_deu_Latn_{level}_*")) for level in LEVELS}
    samples = {level: [json.loads(line) for line in file.read_text().splitlines()] for level, file in files.items()}
    return samples, json.loads(results.read_text())["configs"], folder


def test_a_run_of_a_language_has_three_levels_of_the_same_passages(rows):
    samples, configs, _ = rows
    assert [len(samples[level]) for level in LEVELS] == [3, 3, 4]
    passages = {level: {row["doc"]["id"]: row["doc"]["cluster"] for row in samples[level]} for level in LEVELS}
    assert passages["remember"] == passages["understand"] == passages["apply"]
    assert {row["doc"]["gender"] for row in samples["apply"]} == {"female", "male"}
    assert max(row["doc"]["audio"]["duration"] for row in samples["remember"]) == 34.5
    for level in LEVELS:
        about = configs[f"siq_belebele_deu_Latn_{level}"]["metadata"]
        assert (about["recording"], about["pause_s"], about["dataset_commit"]) == ("longest", 0.5, "1" * 40)
        assert about["dataset_name"] == "deu_Latn" and about["group_by"] == ["gender", "speaker"]
    columns = dict(zip(LEVELS, ("wer", "similarity", "acc"), strict=True))
    assert all(isinstance(row[columns[level]], float) for level in LEVELS for row in samples[level])


def test_a_level_is_scored_by_group(rows):
    printed = siq("score", rows[2] / "runs", "--bootstrap", 0, "--levels", "apply", "--group-by", "gender")
    assert "Suite siq by gender" in printed and "female" in printed and "male" in printed
