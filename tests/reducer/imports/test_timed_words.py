"""Segments of references, and timed words."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.timed_words import CTM, STM
from tests.records import write_each

REFERENCE = """;; LABEL "o" "Overall" "all"
call A anna 0.0 2.0 <o,f0,female> good day
call A bert 2.0 5.5 <o,f0,male> see you soon

call A x 5.5 6.0 ignore_time_segment_in_scoring
call B carl 1.0 3.0 what
talk 1 dora 0 4 hello
"""
WORDS = """;; made by hand
call 1 0.1 0.5 good 0.9
call 1 1.8 0.3 day 0.5
call 1 2.4 0.2 <eps> 1
call 1 2.1 0.2 see
call A 5.6 0.2 noise
call 2 1.5 0.2 what
call 2 9 1 um
"""


def test_words_go_to_the_segment_that_has_their_middle(tmp_path, capsys):
    reference, words = write_each(tmp_path, {"dev.stm": REFERENCE, "whisper.ctm": WORDS})
    rows = [*CTM.read([words, reference])]
    assert [(row.clip, row.reference, row.transcript) for row in rows] == [
        ("call-A-0-2", "good day", "good day"),
        ("call-A-2-5.5", "see you soon", "see"),
        ("call-B-1-3", "what", "what"),
        ("talk-1-0-4", "hello", None),
    ]
    assert {row.system for row in rows} == {"whisper"}
    assert [row.cluster for row in rows] == ["call", "call", "call", "talk"]
    assert rows[0].groups == {"speaker": "anna", "label": "o,f0,female"} and rows[2].groups == {"speaker": "carl"}
    assert rows[0].where == f"'{words}' at '{reference}' line 2" and rows[1].duration == 3.5
    assert (
        capsys.readouterr().err == f"siq: {words}: 1 of 6 words are in no segment of the references and are left out\n"
    )


def test_a_system_that_wrote_nothing_about_a_segment_has_an_empty_transcript(tmp_path):
    paths = write_each(tmp_path, {"a.stm": "call 1 x 0 1 one\ncall 1 x 1 2 two\n", "b.ctm": "call 1 0.2 0.2 one\n"})
    assert [row.transcript for row in CTM.read(paths)] == ["one", ""]


@pytest.mark.parametrize(
    ("begin", "duration", "found"),
    [(0, 1, "a"), (1.9, 0.2, "b"), (1.9, 0.1, "a"), (3, 2, "b"), (4.8, 0.2, "c"), (6.2, 0.2, "c"), (9.9, 0.1, "a")],
)
def test_where_segments_overlap_the_one_that_begins_last_gets_the_word(tmp_path, begin, duration, found):
    segments = "f 1 x 0 10 a\nf 1 y 4.5 7 c\nf 1 z 2 5 b\n"
    paths = write_each(tmp_path, {"r.stm": segments, "s.ctm": f"f 1 {begin} {duration} w\n"})
    assert [row.reference for row in CTM.read(paths) if row.transcript] == [found]


def test_a_reference_with_alternatives_is_not_read_as_their_words(tmp_path, capsys):
    segments = "f 1 x 0 1 { they're / they are } going\nf 1 x 1 2 to the {play} (uh) and/or\nf 1 x 2 3 { uh / @ }\n"
    paths = write_each(tmp_path, {"r.stm": segments, "s.ctm": "f 1 0 1 they're\nf 1 1 1 to\n"})
    rows = [*CTM.read(paths)]
    assert [row.reference for row in rows] == [None, "to the {play} (uh) and/or", None]
    line = f"{paths[0]}: 2 of 3 segments have alternatives such as {{ a / b }}, which are not read; they are left out"
    assert line in capsys.readouterr().err


def test_words_are_ordered_by_time(tmp_path):
    paths = write_each(tmp_path, {"r.stm": "f 1 x 0 9 a b c", "s.ctm": "f 1 3 1 c\nf 1 1 1 a\nf 1 2 1 b"})
    assert [row.transcript for row in CTM.read(paths)] == ["a b c"]


def test_several_systems_and_references(tmp_path):
    files = {"a.stm": "a 1 x 0 9 one", "b.stm": "b 1 x 0 9 two", "x/dev.ctm": "a 1 0 1 one", "y/dev.ctm": "b 1 0 1 two"}
    rows = [*CTM.read(write_each(tmp_path, files))]
    assert [(row.system, row.transcript) for row in rows] == [("x", "one"), ("x", None), ("y", None), ("y", "two")]


def test_hypotheses_may_be_segments_too(tmp_path):
    segments = "call 1 s1 0.2 1.5 Good day.\ncall 1 s2 2.5 5 <o> See you\ncall 1 s2 5 5.2 soon\n"
    system, reference = write_each(tmp_path, {"canary.stm": segments, "ref.stm": REFERENCE})
    rows = [*STM.read([system, reference])]
    assert [(row.system, row.transcript) for row in rows][:2] == [("canary", "Good day."), ("canary", "See you soon")]


def test_without_a_file_named_ref_the_first_has_the_references(tmp_path):
    first, second = write_each(tmp_path, {"b.stm": "f 1 x 0 9 one", "a.stm": "f 1 x 0 9 two"})
    (row,) = STM.read([first, second])
    assert (row.system, row.reference, row.transcript) == ("a", "one", "two")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.stm": REFERENCE}, r"a.stm: no hypotheses beside it; name the references and a file per system"),
        ({"a.ctm": WORDS}, r"a.ctm: no references \(.stm\) beside it; name the references"),
        (
            {"a.stm": "f 1 x 0\n", "b.ctm": WORDS},
            "a.stm' line 1: has 4 fields; write waveform channel speaker begin end",
        ),
        (
            {"a.stm": "f 1 x 2 1 a", "b.ctm": WORDS},
            "a.stm' line 1: runs from 2.0 to 1.0; write seconds, the end not befo",
        ),
        ({"a.stm": "f 1 x 0 inf a", "b.ctm": WORDS}, "a.stm' line 1: runs from 0.0 to inf"),
        (
            {"a.stm": REFERENCE, "b.ctm": "f 1 0 1"},
            "b.ctm' line 1: has 4 fields; write waveform channel begin duration w",
        ),
        ({"a.stm": REFERENCE, "b.ctm": "f 1 * 1 a"}, "b.ctm' line 1: runs from nan to nan"),
        (
            {"a.stm": REFERENCE, "b.ctm": "f 1 * * <ALT_BEGIN>"},
            "b.ctm' line 1: <ALT_BEGIN> begins alternatives, which are not read; keep",
        ),
        (
            {"a.stm": REFERENCE, "b.ctm": "f 1 0 1 a"},
            "b.ctm': no word is in a segment of .*a pair; they are about call, ta",
        ),
        ({"a.stm": REFERENCE, "b.ctm": ""}, "b.ctm': has no rows"),
    ],
)
def test_files_that_are_no_pair_are_refused(tmp_path, files, message):
    with pytest.raises(SpeechIQError, match=message):
        [*CTM.read(write_each(tmp_path, files))]
