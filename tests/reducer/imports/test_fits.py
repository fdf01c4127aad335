"""A file of one form fits no other, so that a command can name the right one."""

import json

import pytest

from speechiq.reducer.imports import audiobench, harness_samples, kaldi, manifests, timed_words, voicebench

FORMS = (
    *(manifests.OPENASR, manifests.NEMO, kaldi.FORM, timed_words.CTM, timed_words.STM),
    *(harness_samples.LM_EVAL, harness_samples.LMMS_EVAL, voicebench.FORM, audiobench.FORM),
)
MANIFEST = {"audio_filepath": "a.wav", "duration": 1.0, "text": "good day", "pred_text": "good day"}
SAMPLE = {"doc_id": 0, "target": "good day", "filtered_resps": ["good day"], "wer": 0.0}
#: Name of a file -> what it contains, and the forms that it fits.
FILES = {
    "MODEL_a-b_DATASET_c_d_test.jsonl": (json.dumps(MANIFEST), ["openasr"]),
    "manifest.jsonl": (json.dumps(MANIFEST), ["nemo"]),
    "hyp_a": ("utt1 good day", ["kaldi"]),
    "a.ctm": ("call 1 0.0 0.5 good 0.9", ["ctm"]),
    "a.stm": ("call 1 anna 0.0 1.5 <o> good day", ["ctm", "stm"]),
    "samples_asr_2026-11-27T16-19-18.1.jsonl": (json.dumps(SAMPLE), ["lm-eval"]),
    "20261127_161918_samples_asr.jsonl": (json.dumps(SAMPLE), ["lmms-eval"]),
    "a-commoneval-test-audio.jsonl": ('{"prompt": "Who?", "response": "I."}', ["voicebench"]),
    "calls_test_wer_score.json": ('{"wer": 0.0, "sample_wer": [["a", "a", 0.0]]}', ["audiobench"]),
    "table.csv": ("id,reference,transcript\na,b,c\n", []),
    "table.jsonl": ('{"id": "a", "reference": "b", "transcript": "c"}', []),
    "empty.jsonl": ("", []),
    "text.zip": ("PK\x03\x04\x00", []),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_fits_its_own_form(tmp_path, name):
    content, forms = FILES[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert [form.name for form in FORMS if form.fits(path)] == forms


def test_a_folder_or_a_file_that_is_missing_fits_no_form(tmp_path):
    assert [form.name for form in FORMS for path in (tmp_path, tmp_path / "a.ctm") if form.fits(path)] == []
