"""Test controls and transcript files as recognizers, run by lm-eval."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.engines.asr.controls import TranscriptFile
from speechiq.siq_tasks.catalog.data_sets import list_clips
from tests import runs
from tests.engines.opener import open_engine
from tests.records import named, texts


def evaluate(*tasks, **system):
    results = runs.evaluate("hf-audio", [f"siq_demo_{task}" for task in tasks], model_args=system)
    return {name: value for scores in results["results"].values() for name, value in scores.items()}


def test_a_constant_letter_scores_its_share_of_the_questions():
    scores = evaluate("remember", "apply", pretrained="letter:B")
    assert scores["wer,transcript"] == 1
    assert scores["acc,vote"] == pytest.approx(11 / 42) and scores["agreement,vote"] == 1
    assert evaluate("apply", pretrained="letter:E")["none_of_the_above,vote"] == 1


def test_transcripts_made_elsewhere_are_scored_by_the_docs_ids(tmp_path):
    file = tmp_path / "mine.jsonl"
    lines = [{"id": clip["id"], "nbest": [clip["text"], "worse"]} for clip in reversed(list_clips("demo"))]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    assert evaluate("remember", pretrained=f"transcripts:{file}")["wer,transcript"] == 0


def test_transcripts_of_other_clips_are_an_error_with_the_count(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "demo/earnings-1", "text": "hello"}\n{"id": "other/1", "text": "hello"}')
    with pytest.raises(SpeechIQError, match=r"13 of 14 clips have no transcript, 'demo/earnings-2' among them"):
        evaluate("remember", pretrained=f"transcripts:{file}")


LINES = {
    '{"id": "a", "text": ': " is not a whole JSON object",
    '{"id": "a", "text": "x", "text": "y"}': " is not .* key 'text' occurs twice in an object",
    '{"id": "a"}': ": not a transcript: None is not a text; write .*nbest",
    '{"id": "a", "nbest": []}': ": nbest is not a list of texts; write",
    '{"id": "a", "nbest": ["x", 7]}': ": not a transcript: 7 is not a text; write",
    '{"id": 0.5, "text": "x"}': ": id is 0.5, not a text",
    '{"text": "x"}': ": no column 'id'; it has text; give a CSV",
    '{"ID": "a", "Text": "x"}': ": no column 'id'; it has ID, Text; did you mean ID. give a CSV",
    json.dumps({f"demo/{number}": "x" for number in range(60)}): ": no column 'id'; .*demo/39 and 20 more; give a CSV",
    '{"audio": null, "text": "x"}': ": audio is None, not a text",
    '{"audio": "x/b.wav", "text": "x"}': ": id 'b' is a duplicate; delete a line, or give each",
    '{"id": "a", "nbest": ["x"], "text": "y"}': ": text is not the first of nbest",
    '{"id": "a", "text": "x", "audio_coverage": 2}': ": audio_coverage=2; give a share of the clip",
}
FIRST = b'{"id": "b", "text": "x"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(("mine.jsonl", FIRST + line.encode(), f"mine.jsonl' line 2{fault}") for line, fault in LINES.items()),
        ("hyp.trn", b"so it goes (a)", "hyp.trn': not one of .*; give a CSV, TSV or JSONL file with the columns id"),
        ("mine.csv", b"name,transcript\na,so\n", "line 2: no column 'id'; it has name, transcript; give a CSV"),
        ("text", b"", "text': has no rows; give a CSV"),
        ("text", "é a".encode("latin-1"), "text': not UTF-8"),
        ("mine.csv", b"id,text,ID\na,yes,b\n", "mine.csv' line 1: columns 1 and 3 have the same name, 'ID'; rename"),
    ],
)
def test_what_is_not_a_file_of_transcripts_is_named_before_anything_runs(tmp_path, name, content, message):
    tmp_path.joinpath(name).write_bytes(content)
    with pytest.raises(SpeechIQError, match=message):
        open_engine(TranscriptFile, str(tmp_path / name), batch_size=1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", "id,text\ncalls/a,so it goes\ncafé,\n"),
        ("mine.csv", "sep=;\naudio;text;audio_coverage\nmonday/a.wav;so it goes;0\ncafe\u0301.mp3;;\n"),
        ("mine.tsv", "audio_filepath\tpred_text\ttext\n/data/a.wav\tso it goes\tSo it goes on.\ncafé.wav\t\tYes.\n"),
        ("mine.json", '{"audio_filepath": "a.wav", "duration": 2.5, "text": "Yes.", "pred_text": "so it goes"}\n'
         '{"audio_filepath": "café.wav", "duration": 2.5, "pred_text": ""}\n'),
        ("manifest", '{"audio_filepath": "a.wav", "text": "so it goes"}\n{"audio_filepath": "café.wav", "text": ""}'),
        ("text", "a so it goes\ncafé\n"),
        ("text.txt", "\ufeffcalls/a\tso it goes\r\ncalls/cafe\u0301 \r\n"),
    ],
)  # fmt: skip
def test_the_transcripts_of_other_programs_are_read(tmp_path, name, content):
    tmp_path.joinpath(name).write_bytes(content.encode())
    engine = open_engine(TranscriptFile, str(tmp_path / name), batch_size=1)
    assert texts(engine.transcribe([named("calls/a"), named("calls/café")])) == ["so it goes", ""]
    assert texts(engine.transcribe([named("calls/cafe\u0301")])) == [""]


def test_a_transcript_has_its_nbest_list_and_its_coverage(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "a", "nbest": ["so it goes", "so it  goes", "so it grows"], "audio_coverage": 0.5}')
    (response,) = open_engine(TranscriptFile, str(file), batch_size=1).transcribe([named("a")])
    assert (response.text, response.coverage, response.hypotheses) == ("so it goes", 0.5, ("so it goes", "so it grows"))


def test_a_clip_is_found_without_its_data_set(tmp_path):
    file = tmp_path / "transcripts.jsonl"
    file.write_text('{"id": "a", "text": "short"}\n{"id": "calls/b", "text": "long"}\n{"id": "b", "text": "no"}\n')
    engine = open_engine(TranscriptFile, str(file), batch_size=1)
    assert texts(engine.transcribe([named("calls/a"), named("calls/b")])) == ["short", "long"]
    with pytest.raises(SpeechIQError, match=r"id 'a' could be 'calls/a' or 'other/a'; write the data set before it"):
        engine.transcribe([named("calls/a"), named("other/a")])
    with pytest.raises(SpeechIQError, match=r"1 of 2 clips have no transcript, 'calls/c' among them; .*'a'"):
        engine.transcribe([named("calls/a"), named("calls/c")])
