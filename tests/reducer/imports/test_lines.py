"""Lines of files of any size."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports import lines


def test_blank_lines_are_skipped_and_others_keep_their_numbers(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\n  \ntwo")
    assert [*lines.read_text_lines(path)] == [(f"{path} line 1", "one"), (f"{path} line 4", "two")]


def test_a_line_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 8)
    path = tmp_path / "text"
    path.write_text("1234567\n123456789\n")
    read = lines.read_text_lines(path)
    assert next(read)[1] == "1234567"
    with pytest.raises(SpeechIQError, match="text line 2: is longer than 8 bytes; write a line per clip"):
        next(read)
