"""Folders in the place of files."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.audiobench import FORM as AUDIOBENCH
from speechiq.reducer.imports.timed_words import CTM


def test_the_files_of_a_form_in_a_folder_are_read_in_order(tmp_path):
    for system in ("whisper", "canary"):
        for name in ("b_wer_score.json", "a_wer_score.json", "a_bleu_score.json", "a.txt", "._a_wer_score.json"):
            (tmp_path / system).mkdir(exist_ok=True)
            (tmp_path / system / name).write_text(json.dumps({"sample_wer": [["one", "two", 1.0]]}))
    assert AUDIOBENCH.fits(tmp_path)
    rows = [*AUDIOBENCH.read([tmp_path])]
    assert [f"{row.system} {row.category}" for row in rows] == ["canary a", "canary b", "whisper a", "whisper b"]


def test_a_folder_may_have_references_and_hypotheses(tmp_path):
    (tmp_path / "dev.stm").write_text("call 1 anna 0 2 good day")
    (tmp_path / "whisper.ctm").write_text("call 1 0.5 0.5 good")
    (tmp_path / "notes.txt").write_text("call 1 0.5 0.5 good")
    (row,) = CTM.read([tmp_path])
    assert (row.system, row.reference, row.transcript) == ("whisper", "good day", "good")


def test_a_folder_without_such_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    assert not CTM.fits(tmp_path)
    with pytest.raises(SpeechIQError, match=f"{tmp_path.name}: no file in it is of the form ctm; name the files"):
        [*CTM.read([tmp_path])]
