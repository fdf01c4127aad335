"""A file of one form fits no other, a folder stands for its files, and lines are read one at a time."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports import audiobench, rows, timed_words
from speechiq.reducer.imports.forms import FORMS

MANIFEST = {"audio_filepath": "a.wav", "duration": 1.0, "text": "good day", "pred_text": "good day"}
SAMPLE = {"doc_id": 0, "target": "good day", "filtered_resps": ["good day"], "wer": 0.0}
UNTIMED = {"audio_filepath": "a", "text": "b", "pred_text": "c"}
LEADERBOARD = "MODEL_a-b_DATASET_c_d_test.jsonl"
KALDI, CTM, STM = "utt1 good day", "call 1 0.0 0.5 good 0.9", "call 1 anna 0.0 1.5 <o> good day"
RESPONSE = {"prompt": "Who?", "response": "I."}
#: Name of a file, what it contains, and the forms that it fits.
FILES = [
    (LEADERBOARD, MANIFEST, ["openasr"]),
    (LEADERBOARD, UNTIMED, ["openasr"]),
    (LEADERBOARD, {"text": "b", "pred_text": "c"}, []),
    ("manifest.jsonl", MANIFEST, ["nemo"]),
    ("manifest.json", UNTIMED | {"duration": 1}, ["nemo"]),
    ("manifest.json", MANIFEST | {"time": 0.1}, ["openasr"]),
    ("hyp_a", KALDI, ["kaldi"]),
    ("hyp_a.b.txt", KALDI, ["kaldi"]),
    ("ref", KALDI, ["kaldi"]),
    ("text", KALDI, ["kaldi"]),
    ("text", '{"audio_filepath": "a.wav"}', []),
    ("notes.txt", KALDI, []),
    ("hypothesis", KALDI, []),
    ("ref", "", []),
    ("a.ctm", f";; by hand\n{CTM}", ["ctm"]),
    ("hyp_a.ctm", CTM, ["ctm"]),
    ("a.ctm", KALDI, []),
    ("a.ctm", ";; nothing", []),
    ("a.stm", f";; by hand\n{STM}", ["ctm", "stm"]),
    ("a.STM", STM, ["ctm", "stm"]),
    ("a.stm", CTM, []),
    ("a.txt", STM, []),
    ("samples_asr_2026-11-27T16-19-18.1.jsonl", SAMPLE, ["lm-eval"]),
    ("results_2026-11-27T16-19-18.1.json", SAMPLE, []),
    ("20261127_161918_samples_asr.jsonl", SAMPLE, ["lmms-eval"]),
    ("samples.jsonl", SAMPLE, []),
    ("a-commoneval-test-audio.jsonl", RESPONSE, ["voicebench"]),
    ("mine.jsonl", RESPONSE, ["voicebench"]),
    ("mine.json", RESPONSE, []),
    ("calls_test_wer_score.json", {"wer": 0.0, "sample_wer": [["a", "a", 0.0]]}, ["audiobench"]),
    ("calls_test_qwen2.5_72b_judge_score.json", {}, ["audiobench"]),
    ("mini_string_match_score.json", {}, ["audiobench"]),
    ("calls_test_wer_score.json", "[1]", []),
    ("calls_test_bleu_score.json", {}, []),
    ("calls_test.json", {}, []),
    ("table.csv", "id,reference,transcript\na,b,c\n", ["table"]),
    ("table.jsonl", {"id": "a", "reference": "b", "transcript": "c"}, ["table"]),
    ("empty.jsonl", "", []),
    ("text.zip", "PK\x03\x04\x00", []),
]


@pytest.mark.parametrize(("name", "content", "forms"), FILES)
def test_a_file_fits_its_own_form(tmp_path, name, content, forms):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert [form.name for form in FORMS.values() if form.fits(path)] == forms


def test_a_folder_or_a_file_that_is_missing_fits_no_form(tmp_path):
    assert [form.name for form in FORMS.values() for path in (tmp_path, tmp_path / "a.ctm") if form.fits(path)] == []


def test_the_files_of_a_form_in_a_folder_are_read_in_order(tmp_path):
    for system in ("whisper", "canary"):
        for name in ("b_wer_score.json", "a_wer_score.json", "a_bleu_score.json", "a.txt", "._a_wer_score.json"):
            (tmp_path / system).mkdir(exist_ok=True)
            (tmp_path / system / name).write_text(json.dumps({"sample_wer": [["one", "two", 1.0]]}))
    assert audiobench.FORM.fits(tmp_path)
    rows = [*audiobench.FORM.read([tmp_path])]
    assert [f"{row.system} {row.category}" for row in rows] == ["canary a", "canary b", "whisper a", "whisper b"]


def test_a_folder_may_have_references_and_hypotheses(tmp_path):
    (tmp_path / "dev.stm").write_text("call 1 anna 0 2 good day")
    (tmp_path / "whisper.ctm").write_text("call 1 0.5 0.5 good")
    (tmp_path / "notes.txt").write_text("call 1 0.5 0.5 good")
    (row,) = timed_words.CTM.read([tmp_path])
    assert (row.system, row.reference, row.transcript) == ("whisper", "good day", "good")


def test_a_folder_without_such_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    assert not timed_words.CTM.fits(tmp_path)
    with pytest.raises(SpeechIQError, match=f"{tmp_path.name}': no file in it is of the form ctm; name the files"):
        [*timed_words.CTM.read([tmp_path])]


def test_blank_lines_are_skipped_and_others_keep_their_numbers(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\n  \ntwo")
    assert [*rows.read_text_lines(path)] == [(f"'{path}' line 1", "one"), (f"'{path}' line 4", "two")]


def test_a_line_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST", 8)
    path = tmp_path / "text"
    path.write_text("1234567\n123456789\n")
    read = rows.read_text_lines(path)
    assert next(read)[1] == "1234567"
    with pytest.raises(SpeechIQError, match="text' line 2: is longer than 8 bytes; write a line per clip"):
        next(read)
