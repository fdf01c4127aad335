"""A user's own clips become three tasks, from an empty folder to scores, with foreign audio."""

import json

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.new import create
from speechiq.siq_tasks.suite import HERE, list_clips
from tests.conftest import run
from tests.siq_tasks.conftest import encode

EMBEDDER = "demo:SmolLM2-135M-Instruct"
TEXTS = {"a.wav": "The boats stay in the harbour.", "b.mp3": "Copper is dear this spring."}
QUESTION = {"question": "What?", "options": ["boats", "copper", "tea", "rain"], "answer": "A"}


@pytest.fixture
def mine(tmp_path, own_cache):
    """Foreign audio of two kinds, rates and channel counts, with a CSV of references."""
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.joinpath("a.wav").write_bytes(encode(1.0, rate=44_100, channels=2))
    folder.joinpath("b.mp3").write_bytes(encode(2.0, rate=22_050, kind="MP3"))
    text = tmp_path / "text.csv"
    text.write_text("audio,text\n" + "".join(f"{name},{said}\n" for name, said in TEXTS.items()))
    return folder, text


def test_three_tasks_from_an_empty_folder(mine, tmp_path, demo_models):
    audio, text = mine
    told = ("--audio", str(audio), "--text", str(text), "--embedder", str(demo_models[-1]))
    done = run("siq", "tasks", "new", "harbour", *told, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "siq questions write --dataset harbour" in done.stdout
    for level in ("remember", "understand", "apply"):
        ours = load_yaml(HERE / f"_{level}.yaml", resolve_func=True)
        theirs = load_yaml(tmp_path / "harbour" / f"siq_harbour_{level}.yaml", resolve_func=True)
        assert {key: theirs[key] for key in ours} == ours
        assert theirs["metadata"].get("normaliser") == ("english" if level == "remember" else None)
    (tmp_path / "harbour" / "questions.jsonl").write_text(
        "".join(
            json.dumps({"id": clip["id"], "question_id": f"{clip['id']}-{n}", **QUESTION, **WRITTEN}) + "\n"
            for clip in list_clips(str(tmp_path / "harbour"))
            for n in range(3)
        )
    )
    manager = TaskManager(include_path=str(tmp_path / "harbour"), include_defaults=False)
    system = {"pretrained": f"gold+{demo_models[-1]}", "llm_answer": "likelihood"}
    results = simple_evaluate(
        model="hf-audio",
        model_args=system,
        tasks=["siq_harbour"],
        task_manager=manager,
        device="cpu",
        bootstrap_iters=0,
    )
    assert results["results"]["siq_harbour_remember"]["wer,transcript"] == 0
    assert results["results"]["siq_harbour_understand"]["similarity,embedding"] == pytest.approx(1, abs=1e-6)
    assert results["n-samples"]["siq_harbour_apply"]["effective"] == 6
    docs = [row["doc"] for row in results["samples"]["siq_harbour_remember"]]
    assert [doc["text"] for doc in docs] == [TEXTS["b.mp3"], TEXTS["a.wav"]]


WRITTEN = {"writer": "hand", "checkers": [], "prompt_version": 1}


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("My Set", "", "not a name for a set"),
        ("demo", "", "the suite has a set or group of that name"),
        ("harbour", "c.wav,hello\n", r"text\.csv row 3: no file .*c\.wav"),
        ("harbour", "a.wav,\n", r"text\.csv row 3: no 'text'"),
        ("harbour", "text.txt,hello\n", r"row 3, text\.txt: .*do not decode as audio"),
    ],
)
def test_what_cannot_become_a_task_is_named_and_nothing_is_written(mine, tmp_path, name, line, message):
    audio, text = mine
    audio.joinpath("text.txt").write_text("no audio at all")
    text.write_text(text.read_text() + line)
    with pytest.raises(SpeechIQError, match=message):
        create(name, audio, text, tmp_path / "out", EMBEDDER)
    assert not tmp_path.joinpath("out").exists()


def test_a_folder_with_files_is_not_written_over(mine, tmp_path):
    with pytest.raises(SpeechIQError, match="holds files already; choose another"):
        create("harbour", *mine, tmp_path / "mine", EMBEDDER)
