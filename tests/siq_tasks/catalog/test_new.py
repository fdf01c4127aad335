"""A user's own clips become three tasks, from an empty folder to scores, with foreign audio."""

import re
import shlex

import pytest
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.data_sets import describe_data_set, list_clips
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.catalog.sources import check_sources
from speechiq.siq_tasks.index import HERE, join_metadata, read_task, resolve_folder
from tests.commands import refusal, siq
from tests.conftest import full_disk, run
from tests.runs import evaluate
from tests.siq_tasks.conftest import encode, read_lines, write_lines

pytestmark = pytest.mark.slow

EMBEDDER = "demo:SmolLM2-135M-Instruct"
TEXTS = {"a.wav": "The boats stay in the harbour.", "b.mp3": "Copper is dear this spring."}
QUESTION = {"question": "What?", "options": ["boats", "copper", "tea", "rain"], "answer": "A"}


def write_questions(file, *clips):
    """Write three questions about each clip."""
    write_lines(file, *(QUESTION | {"id": clip, "question_id": f"{clip}-{n}"} for clip in clips for n in range(3)))


@pytest.fixture
def mine(tmp_path, own_cache):
    """Foreign audio of two kinds, rates and channel counts, with a CSV of references."""
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.joinpath("a.wav").write_bytes(encode(1.0, rate=44_100, channels=2))
    folder.joinpath("b.mp3").write_bytes(encode(2.0, rate=22_050, kind="MP3"))
    text = tmp_path / "text.csv"
    text.write_text("audio,text\n" + "".join(f"{name},{words}\n" for name, words in TEXTS.items()))
    return folder, text


def test_a_column_of_clusters_is_recorded(mine, tmp_path):
    audio, text = mine
    text.write_text("audio,text,cluster\n" + "".join(f"{name},{words},{len(words)}\n" for name, words in TEXTS.items()))
    create("harbour", audio, text, tmp_path / "tasks", EMBEDDER)
    file = tmp_path / "tasks" / "siq_harbour_remember.yaml"
    task = load_yaml(file, resolve_func=True)
    docs = list(task["custom_dataset"](**resolve_folder(task["metadata"], file)).docs)
    assert {doc["id"]: doc["cluster"] for doc in docs} == {"harbour/a": "harbour/30", "harbour/b": "harbour/27"}


def test_a_language_is_in_all_tasks_and_chooses_the_normalizer(mine, tmp_path):
    create("harbour", *mine, tmp_path / "tasks", EMBEDDER, EMBEDDER, language="German")
    for level in ("remember", "understand", "apply", "distance"):
        file = tmp_path / "tasks" / f"siq_harbour_{level}.yaml"
        assert read_task(file)["metadata"]["language"] == "de"
    task = load_yaml(tmp_path / "tasks" / "siq_harbour_remember.yaml", resolve_func=True)
    docs = task["custom_dataset"](**resolve_folder(task["metadata"], file)).docs
    assert {(doc["spoken_language"], doc["normalizer"], doc["unit"]) for doc in docs} == {
        ("de", "multilingual", "word")
    }


def test_an_unknown_language_is_refused_before_the_folder_is_written(mine, tmp_path):
    with pytest.raises(SpeechIQError) as error:
        create("harbour", *mine, tmp_path / "tasks", EMBEDDER, language="Deutschh")
    assert "Deutschh" in str(error.value) and not tmp_path.joinpath("tasks").exists()


def test_three_tasks_from_an_empty_folder(mine, tmp_path, tiny_cascade):
    audio, text = mine
    options = ("--audio", str(audio), "--text", str(text), "--embedder", tiny_cascade.llm)
    done = run("siq", "data", "new", "harbour", *options, cwd=tmp_path)
    assert done.returncode == 0 and "Understand compares" not in done.stderr, done.stderr
    assert "Ids of the clips: harbour/a, harbour/b; `siq list tasks harbour` lists all" in done.stdout
    for level in ("remember", "understand", "apply"):
        ours = join_metadata(load_yaml(HERE / "templates" / f"_{level}.yaml", resolve_func=True))
        description = ours.pop("metadata")
        theirs = load_yaml(tmp_path / "harbour" / f"siq_harbour_{level}.yaml", resolve_func=True)
        assert {key: theirs[key] for key in ours} == ours and description.items() <= theirs["metadata"].items()
        assert "normalizer" not in theirs["metadata"] and "language" not in theirs["metadata"]
    write_questions(tmp_path / "harbour" / "questions.jsonl", "a", "harbour/b")
    system = {"pretrained": f"gold+{tiny_cascade.llm}", "llm_answer": "likelihood"}
    results = evaluate("hf-audio", ["siq_harbour"], include=tmp_path / "harbour", model_args=system)
    assert results["results"]["siq_harbour_remember"]["wer,transcript"] == 0
    assert results["results"]["siq_harbour_understand"]["similarity,embedding"] == pytest.approx(1, abs=1e-6)
    assert results["n-samples"]["siq_harbour_apply"]["effective"] == 6
    docs = [row["doc"] for row in results["samples"]["siq_harbour_remember"]]
    assert [doc["text"] for doc in docs] == [TEXTS["b.mp3"], TEXTS["a.wav"]]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("My Set", "", "not a name for a data set"),
        ("my_apply", "", "the suite has a data set or group of that name"),
        ("demo_languages", "", "the suite has a data set or group of that name"),
        ("demo", "", "the suite has a data set or group of that name"),
        ("harbour", "c.wav,hello\n", r"text\.csv row 3: no file .*c\.wav"),
        ("harbour", "a.wav,\n", r"text\.csv row 3: text is '', not a text"),
        ("harbour", "a.wav\n", r"text\.csv row 3: text is None"),
        ("harbour", "a.wav,again\n", r"rows 1 and 3 have the same id, 'a'; give each row its own id in a column id"),
        ("harbour", f"{'x' * 300}.wav,hello\n", r"row 3: no file .*x\.wav"),
        ("harbour", "../x.wav,hello\n", r"row 3: '\.\./x\.wav' is not below --audio .*mine; name a folder"),
        ("harbour", "/x.wav,hello\n", r"row 3: '/x\.wav' is not below --audio"),
        ("harbour", "cut.wav,hello\n", r"row 3, cut\.wav: cut off or damaged: it promises"),
        ("x" * 300, "", "not a name for a data set; use at most 64"),
        ("harbour", "text.txt,hello\n", r"row 3, text\.txt: not readable as audio"),
    ],
)
def test_what_cannot_become_a_task_is_named_and_nothing_is_written(mine, tmp_path, name, line, message):
    audio, text = mine
    audio.joinpath("text.txt").write_text("no audio at all")
    audio.joinpath("cut.wav").write_bytes(encode(1.0)[:-10_000])
    text.write_text(text.read_text() + line)
    with pytest.raises(SpeechIQError, match=message):
        create(name, audio, text, tmp_path / "out", EMBEDDER)
    assert not tmp_path.joinpath("out").exists()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"audio": 5, "text": "a"}, "row 1: audio is 5, not a text"),
        ({"audio": "a.wav", "text": 5}, "row 1: text is 5, not a text"),
        ({"audio": "a.wav", "text": "a", "\udc00": "a"}, "line 1 is not .* half a surrogate pair, in '.udc00'"),
        ({"audio": "a.wav", "text": "a", "id": {}}, "row 1: id is {}, not a text"),
        ({"audio": "\0.wav", "text": "a"}, "row 1: no file"),
        ({"audio": "a.wav", "text": "uh..."}, r"row 1: 'uh\.\.\.' has no word to score; correct or leave out the row"),
        ({"file": "a.wav", "words": "a"}, "no column 'audio'; it has file, words"),
    ],
)
def test_a_line_of_the_wrong_kind_is_named(mine, tmp_path, row, message):
    lines = write_lines(tmp_path / "text.jsonl", row)
    with pytest.raises(SpeechIQError, match=message):
        create("harbour", mine[0], lines, tmp_path / "out", EMBEDDER)
    assert not tmp_path.joinpath("out").exists()


def test_ids_are_those_of_the_rows_or_the_names_of_the_files(mine, tmp_path):
    lines = write_lines(
        tmp_path / "text.jsonl",
        {"audio": "a.wav", "text": "one", "id": 7},
        {"audio": "b.mp3", "text": "um", "id": ""},
        {"audio": "a.wav", "text": "two", "id": "again"},
    )
    made = create("harbour", mine[0], lines, tmp_path / "out", EMBEDDER, language="pt")
    assert made.ids == ["harbour/7", "harbour/b", "harbour/again"]
    assert made.warnings == ["2 clips, 'harbour/7' and 'harbour/again', are the same audio with different references"]
    assert [clip["id"] for clip in list_clips(str(tmp_path / "out"))] == ["harbour/b", "harbour/7", "harbour/again"]


def test_the_check_of_a_folder_names_a_reference_without_a_word(mine, tmp_path):
    create("harbour", *mine, tmp_path / "harbour", EMBEDDER)
    rows = read_lines(tmp_path / "harbour" / "clips.jsonl")
    write_lines(tmp_path / "harbour" / "clips.jsonl", rows[0], rows[1] | {"text": "[inaudible] ..."})
    ((_, outcome),) = check_sources(str(tmp_path / "harbour"), {})
    assert "clips.jsonl row 1: '[inaudible] ...' has no word to score; correct the row" in str(outcome)


def test_show_lists_tasks_columns_questions_and_clips(mine, tmp_path):
    create("harbour", *mine, tmp_path / "harbour", EMBEDDER)
    shown = "\n".join(describe_data_set(str(tmp_path / "harbour")))
    assert "siq_harbour_remember, siq_harbour_understand, siq_harbour_apply" in shown
    assert "columns read: audio (audio), text (text), id (id)\n" in shown and "number of rows: 2" in shown
    assert "questions.jsonl; write it with `siq data questions --dataset" in shown
    assert "  harbour/b  2.00 s, 0 questions\n  harbour/a  1.00 s, 0 questions" in shown
    write_questions(tmp_path / "harbour" / "questions.jsonl", "a", "c")
    shown = "\n".join(describe_data_set(str(tmp_path / "harbour")))
    assert "questions: 6 lines in " in shown and "1 of 2 clips have fewer than 3" in shown
    assert "questions about clips that are not in the subset: 1" in shown and "harbour/a  1.00 s, 3 questions" in shown
    assert "0 of 14 clips have fewer than 3" in "\n".join(describe_data_set("demo"))
    assert "clips: on the Hub" in list(describe_data_set("medasr"))[-1]


def test_folders_of_earlier_versions_keep_their_ids(mine, tmp_path):
    folder = tmp_path / "harbour"
    create("harbour", *mine, folder, EMBEDDER)
    for file in folder.glob("*.yaml"):
        file.write_text(file.read_text().replace("  id_column: id\n", ""))
    rows = read_lines(folder / "clips.jsonl")
    write_lines(folder / "clips.jsonl", *({"text": row["text"], "audio": row["audio"]} for row in rows))
    assert [clip["id"] for clip in list_clips(str(folder))] == ["harbour/00001", "harbour/00000"]


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        ("custom_dataset: .*", "", r"siq_harbour_remember: custom_dataset: None is not a loader"),
        ("  level: .*", "", r"metadata\.level: None is not one of remember, understand, apply"),
        ("  level: .*", "  level: [a]", r"metadata\.level: \['a'\] is not one of"),
        ("  dataset_path: .*", "  dataset_path: /nowhere/c.jsonl", "or make it: tasks by `siq data new`"),
        ("  questions: .*", "  questions: 5", r"questions=5: not a text; give one"),
        ("(?sm)^metadata:.*", "", r"metadata\.level: None"),
    ],
)
def test_a_task_file_that_was_edited_wrongly_is_named_by_its_key(mine, tmp_path, line, instead, message):
    create("harbour", *mine, tmp_path / "harbour", EMBEDDER)
    file = tmp_path / "harbour" / "siq_harbour_remember.yaml"
    file.write_text(re.sub(line, instead, file.read_text()))
    manager = TaskManager(include_path=str(file.parent), include_defaults=False)
    with pytest.raises(SpeechIQError, match=message):
        manager.load("siq_harbour_remember")


def test_a_task_without_a_file_has_no_folder():
    with pytest.raises(SpeechIQError, match=r"metadata\.questions: folder:q\.jsonl needs a task file.*; give a path"):
        resolve_folder({"questions": "folder:q.jsonl"}, "inline")


def test_a_folder_has_its_audio_and_may_be_moved(mine, tmp_path):
    audio, text = mine
    create("harbour", audio, text, tmp_path / "harbour", EMBEDDER)
    for name in TEXTS:
        audio.joinpath(name).unlink()
    moved = (tmp_path / "harbour").rename(tmp_path / "moved")
    assert {clip["id"] for clip in list_clips(str(moved))} == {"harbour/a", "harbour/b"}
    assert str(tmp_path) not in "".join(file.read_text() for file in (*moved.glob("*.yaml"), moved / "clips.jsonl"))


def test_a_disk_that_takes_no_more_leaves_no_folder(mine, tmp_path):
    audio, text = mine
    out = tmp_path / "place" / "out"
    with (
        full_disk(),
        pytest.raises(SpeechIQError, match="place/out': File too large; free disk space, or name another folder"),
    ):
        create("harbour", audio, text, out, EMBEDDER)
    assert not list(out.parent.iterdir())
    assert create("harbour", audio, text, out, EMBEDDER).tasks


def test_an_output_that_cannot_be_a_folder_is_named(mine, tmp_path):
    audio, table = mine
    places = {
        table: "is a file, not a folder",
        table / "below": "cannot write",
        audio: "contains files; choose another",
    }
    for out, message in places.items():
        with pytest.raises(SpeechIQError, match=message):
            create("harbour", *mine, out, EMBEDDER)
    tmp_path.joinpath("empty").mkdir()
    assert create("harbour", *mine, tmp_path / "empty", EMBEDDER).tasks


def test_the_command_says_its_choices_and_what_to_type_next(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["data", "new", "Old-Harbour", "--audio", "mine", "--text", "text.csv"])
    assert result.exit_code == 0, result.output
    assert "the data set is called old_harbour: names of tasks have no capitals" in result.stderr
    assert f"Understand compares texts with {EMBEDDER}; that of the paper is" in result.stderr
    *_, fetch, first, _, template, last = result.stdout.splitlines()
    assert fetch == "  siq demo fetch"
    run_all = "  siq eval demo --include-path old_harbour --output runs/old_harbour --tasks siq_old_harbour"
    assert (first, last) == (f"{run_all}_remember,siq_old_harbour_understand", run_all)
    check = siq(*shlex.split(template)[1:]).splitlines()[-1]
    assert check == "  siq data check old_harbour/questions.csv --dataset old_harbour"
    assert "exists; name another file, or add --force" in refusal(*shlex.split(template)[1:])
    few = "2 of 2 clips have too few questions, old_harbour/b among them with 0 of 3; write them by hand"
    assert few in refusal(*shlex.split(check)[1:])


def test_a_folder_of_tasks_is_replaced_on_request_and_keeps_its_questions(mine, tmp_path):
    audio, text = mine
    folder = tmp_path / "tasks"
    create("harbour", audio, text, folder, EMBEDDER, EMBEDDER)
    folder.joinpath("questions.csv").write_text("mine")
    text.write_text("audio,text\na.wav,Another text.\n")
    create("harbour", audio, text, folder, EMBEDDER, force=True)
    levels = {f"siq_harbour_{level}.yaml" for level in ("remember", "understand", "apply")}
    assert {file.name for file in folder.iterdir()} == levels | {"audio", "clips.jsonl", "questions.csv"}
    assert [clip["text"] for clip in list_clips(str(folder))] == ["Another text."]
    assert [file.name for file in folder.joinpath("audio").iterdir()] == ["a.wav"]
    with pytest.raises(SpeechIQError, match=r"contains files; choose another one with --output, or replace one that"):
        create("harbour", audio, text, audio, EMBEDDER, force=True)
    assert not list(tmp_path.glob(".siq-*"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text", "a The boats stay.\nb Copper is dear.\n"),
        ("table.csv", "id,text\na,The boats stay.\nb,Copper is dear.\n"),
        ("manifest.json", '{"audio_filepath": "a.wav", "offset": 0, "duration": 1, "text": "The boats stay."}\n'
         '{"audio_filepath": "b.mp3", "pred_text": "no", "text": "Copper is dear."}\n'),
    ],
)  # fmt: skip
def test_references_of_other_programs_become_tasks(mine, tmp_path, name, content):
    tmp_path.joinpath(name).write_text(content)
    create("harbour", mine[0], tmp_path / name, tmp_path / "tasks", EMBEDDER)
    found = {clip["id"]: clip["text"] for clip in list_clips(str(tmp_path / "tasks"))}
    assert found == {"harbour/a": "The boats stay.", "harbour/b": "Copper is dear."}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "id,text\na,one\nc,two\n",
            r"row 2: 'c' is the name of no audio file below --audio; name the file in a column",
        ),
        ("id,text\na,one\nb,two\n", r"row 2: 'b' is the name of b\.mp3 and more/b\.wav; name the file in a column"),
        ("text\none\n", "no column 'audio'"),
        ("audio,text,offset\na.wav,one,2.5\n", r"row 1: offset is '2\.5', and a clip is a whole file; cut the audio"),
    ],
)
def test_a_reference_without_its_file_is_named(mine, tmp_path, content, message):
    audio, text = mine
    audio.joinpath("more").mkdir()
    audio.joinpath("more", "b.wav").write_bytes(encode(1.0))
    text.write_text(content)
    with pytest.raises(SpeechIQError, match=message):
        create("harbour", audio, text, tmp_path / "tasks", EMBEDDER)


def test_a_name_is_found_however_the_disk_writes_its_accents(mine, tmp_path):
    audio, text = mine
    audio.joinpath("Ma\u0308rz").mkdir()
    audio.joinpath("Ma\u0308rz", "cafe\u0301.wav").write_bytes(encode(1.0))
    text.write_text("audio,text\nMärz/café.wav,one\n")
    made = create("harbour", audio, text, tmp_path / "tasks", EMBEDDER)
    assert made.ids == ["harbour/café"] and list_clips(str(tmp_path / "tasks"))[0]["id"] == "harbour/café"


def test_a_missing_folder_of_audio_is_named_before_any_row(tmp_path):
    tmp_path.joinpath("text.csv").write_text("audio,text\na.wav,hello\n")
    with pytest.raises(SpeechIQError, match=r"^--audio .*recodings: no such folder; give the folder"):
        create("harbour", tmp_path / "recodings", tmp_path / "text.csv", tmp_path / "tasks", "demo:x")
