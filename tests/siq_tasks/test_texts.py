"""Sets without audio: the same scores from the same transcripts, and what needs sound is refused by its name."""

import json

import pytest
from lm_eval.tasks._yaml_loader import load_yaml

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.siq_tasks.catalog.data_sets import describe_data_set
from speechiq.siq_tasks.catalog.folders import list_contents
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.catalog.sources import check_sources
from speechiq.siq_tasks.index import HERE, resolve_folder
from tests import runs
from tests.commands import refusal, siq
from tests.siq_tasks.conftest import read_lines, write_lines

DEMO = json.loads(HERE.joinpath("demo", "clips.json").read_text(encoding="utf-8"))
TEXTS = [{"id": clip["id"].partition("/")[2], "text": clip["text"], "domain": clip["domain"]} for clip in DEMO]


def write_questions(name, folder):
    """Write the questions of the demo about the clips of a set."""
    written = HERE.joinpath("demo", "questions.jsonl").read_text(encoding="utf-8")
    folder.joinpath("questions.jsonl").write_text(written.replace('"demo/', f'"{name}/'))


@pytest.fixture
def make(tmp_path, own_cache):
    """Return a function that makes a set of the demo's texts, with its clusters and groups, or of other rows."""

    def make_set(rows=None, name="texts", embedder="demo:SmolLM2-135M-Instruct", **options):
        rows = rows or [row | {"cluster": f"{row['domain']}-{i % 3}"} for i, row in enumerate(TEXTS)]
        table = write_lines(tmp_path / f"{name}.jsonl", *rows)
        made = create(name, options.pop("audio", None), table, tmp_path / name, embedder, **options)
        write_questions(name, tmp_path / name)
        return tmp_path / name, made

    return make_set


def load_docs(folder, level, **metadata):
    file = next(folder.glob(f"siq_*_{level}.yaml"))
    task = load_yaml(file, resolve_func=True)
    return list(task["custom_dataset"](**resolve_folder(task["metadata"] | metadata, file)).docs)


def test_docs_have_no_audio_and_all_else(make):
    folder, made = make(group_by=["domain"])
    assert sorted(path.name for path in folder.iterdir()) == [
        *("clips.jsonl", "questions.jsonl", "siq_texts_apply.yaml"),
        *("siq_texts_remember.yaml", "siq_texts_understand.yaml"),
    ]
    assert made.ids == [f"texts/{row['id']}" for row in TEXTS] and not made.warnings
    docs = load_docs(folder, "remember")
    assert {doc["id"]: doc["text"] for doc in docs} == {f"texts/{row['id']}": row["text"] for row in TEXTS}
    assert all(not doc["audio"] and doc["cluster"].startswith(f"texts/{doc['domain']}-") for doc in docs)
    assert len(load_docs(folder, "apply")) == 3 * len(TEXTS)


def test_a_subset_takes_the_longest_texts(make):
    folder, _ = make()
    lengths = sorted((len(row["text"]) for row in TEXTS), reverse=True)
    assert [len(doc["text"]) for doc in load_docs(folder, "remember", subset=3)] == lengths[:3]


def test_a_set_is_prepared_once_and_again_if_its_texts_change(make, own_cache):
    folder, _ = make()
    load_docs(folder, "remember")
    (prepared,) = own_cache.rglob("texts-*.json")
    before = prepared.stat().st_mtime_ns
    load_docs(folder, "remember")
    assert prepared.stat().st_mtime_ns == before
    write_lines(folder / "clips.jsonl", {"id": "a", "text": "Other words.", "cluster": "x"})
    assert [doc["text"] for doc in load_docs(folder, "remember")] == ["Other words."]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "a"}, "no column 'audio'; it has text"),
        ({"id": "a"}, "no column 'text'; it has id"),
    ],
)
def test_a_row_that_cannot_be_scored_is_named_and_nothing_is_written(make, tmp_path, row, message):
    with pytest.raises(SpeechIQError, match=message):
        make([row])
    assert not tmp_path.joinpath("texts").exists()


def test_the_names_of_audio_files_are_ids_and_their_files_are_not_read(make):
    folder, made = make([{"audio": "monday/call1.wav", "text": "Good morning."}])
    assert made.ids == ["texts/call1"]
    assert json.loads(folder.joinpath("clips.jsonl").read_text()) == {"id": "call1", "text": "Good morning."}


def test_a_key_that_no_task_reads_is_refused_by_every_command_about_data(make, tmp_path):
    folder, _ = make()
    questions, page = tmp_path / "q.csv", tmp_path / "exam.html"
    template = ("data", "questions", "--dataset", folder, "--template", "-o", questions, "--metadata")
    for command in (
        template,
        ("data", "check", folder, "--metadata"),
        ("data", "check", folder / "questions.jsonl", "--dataset", folder, "--metadata"),
        ("data", "exam", "siq_texts_remember", "--include-path", folder, "-o", page, "--allow-code", "--metadata"),
    ):
        assert "subst=2: no task of this run reads it; did you mean subset?" in refusal(*command, "subst=2")
    assert not questions.exists() and not page.exists()
    for key in ("subset", "texts.subset"):
        assert "6 rows for 2 clips" in siq(*template, f"{key}=2", "--force")


def test_the_overview_the_check_and_the_archive_name_no_audio(make):
    folder, _ = make()
    lines = list(describe_data_set(str(folder)))
    assert "clips: 14, without audio" in lines and "subset: all, longest-text" in lines
    assert any(line.endswith("words, 3 questions") for line in lines)
    ((_, outcome),) = check_sources(str(folder), {})
    assert "14 rows, with text, id" in str(outcome)
    contents = list_contents(folder)
    assert contents.clips == 0 and len(contents.files) == 5


@pytest.mark.slow
def test_the_command_says_which_systems_a_set_without_audio_has(tmp_path, own_cache, demo_models):
    table = write_lines(tmp_path / "refs.jsonl", *TEXTS)
    printed = siq("data", "new", "texts", "--text", table, "-o", tmp_path / "texts")
    assert "siq eval transcripts:FILE+demo:SmolLM2-135M-Instruct,llm_answer=likelihood" in printed
    write_questions("texts", tmp_path / "texts")
    checked = siq("data", "check", tmp_path / "texts" / "questions.jsonl", "--dataset", tmp_path / "texts")
    assert checked.startswith("42 questions")


def run(folder, spec, tasks=("siq_texts_remember",), **metadata):
    model = HFAudio(pretrained=spec, device="cpu", store="off")
    return runs.evaluate(model, tasks, include=folder, metadata=metadata)


@pytest.mark.slow
def test_a_system_that_needs_sound_is_refused_by_the_clip(make, tiny_cascade):
    folder, _ = make()
    fix = r"which this system needs; give transcripts:FILE, or make the set with --audio$"
    for spec in (tiny_cascade.asr, tiny_cascade.spec):
        with pytest.raises(SpeechIQError, match=f"^clip texts/.*: has no audio, {fix}"):
            run(folder, spec)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metadata", "task"),
    [
        ({"condition": "white@10dB"}, "siq_texts_remember"),
        ({"listen": "muted"}, "siq_texts_apply"),
        ({"listen": "swapped"}, "siq_texts_apply"),
    ],
)
def test_a_change_of_the_sound_is_refused(make, tiny_cascade, metadata, task):
    folder, _ = make()
    with pytest.raises(SpeechIQError, match=r"clip texts/\S+ has no audio to change; leave it out"):
        run(folder, f"gold+{tiny_cascade.llm}", [task], **metadata)


@pytest.mark.slow
def test_a_system_that_reads_the_references_needs_no_sound(make, tiny_cascade):
    folder, _ = make()
    answers = []
    for spec, metadata in ((tiny_cascade.spec, {"listen": "text"}), (f"gold+{tiny_cascade.llm}", {})):
        model = HFAudio(pretrained=spec, device="cpu", llm_answer="argmax", store="off")
        only = {"samples": {"siq_texts_apply": [0, 1]}, "include": folder, "metadata": metadata}
        found = runs.evaluate(model, ["siq_texts_apply"], **only)
        answers.append([row["resps"] for row in found["samples"]["siq_texts_apply"]])
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_another_model_type_is_refused_the_sound(make):
    folder, _ = make()
    (doc, *_) = load_docs(folder, "remember")
    task = load_yaml(folder / "siq_texts_remember.yaml", resolve_func=True)
    with pytest.raises(SpeechIQError, match="has no audio"):
        task["doc_to_audio"](doc)[0]["array"]


def scores(found, task, name):
    """Return the scores of a run by clip and question, without the name of its set."""
    rows = {}
    for row in found["samples"][task]:
        key = row["doc"]["id"].removeprefix(f"{name}/"), row["doc"].get("question_id")
        rows[key] = {metric: repr(row[metric]) for metric in row["metrics"]}
    return rows


@pytest.mark.slow
def test_scores_are_those_of_the_set_with_audio_to_the_last_digit(make, tiny_cascade, tmp_path):
    wrong = [row | {"text": row["text"].replace("the", "a")} for row in TEXTS]
    files = [write_lines(tmp_path / f"{n}.jsonl", *rows) for n, rows in enumerate((wrong, TEXTS[::-1]))]
    specs = [f"transcripts:{file}+{tiny_cascade.llm}" for file in files]
    ranked = {}
    for name, audio in (("texts", None), ("sound", HERE / "demo")):
        rows = [row | {"cluster": row["domain"], "audio": clip["file"]} for row, clip in zip(TEXTS, DEMO, strict=True)]
        folder, made = make(rows[::3], name, tiny_cascade.llm, audio=audio, group_by=["domain"])
        asked = read_lines(folder / "questions.jsonl")
        write_lines(folder / "questions.jsonl", *(row for row in asked if row["id"] in made.ids))
        for spec in specs:
            model = HFAudio(pretrained=spec, device="cpu", llm_answer="argmax", store="off")
            ranked[name, spec] = runs.evaluate(model, [f"siq_{name}"], include=folder, output=tmp_path / "runs" / name)
    for spec in specs:
        for level in ("remember", "understand", "apply"):
            texts, sound = (scores(ranked[name, spec], f"siq_{name}_{level}", name) for name in ("texts", "sound"))
            assert texts == sound and len(texts) in (5, 15)
    printed = [siq("score", tmp_path / "runs" / name, "-o", tmp_path / f"{name}.json") for name in ("texts", "sound")]
    assert printed[0].replace("texts", "sound") == printed[1] and "SIQ" in printed[0]
    page = tmp_path / "texts.html"
    siq("score", tmp_path / "runs" / "texts", "-o", page)
    assert "<audio" not in page.read_text(encoding="utf-8")
    assert "Remember" in siq("compare", files[0].name, files[1].name, tmp_path / "runs" / "texts")
