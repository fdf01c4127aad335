"""Files with an id and its words per line."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.kaldi import FORM
from tests.records import write_each

REFERENCE = "utt1 good day\nutt2  see you  \n"


def read(*paths):
    return [(row.system, row.clip, row.reference, row.transcript) for row in FORM.read([*paths])]


def test_a_pair_of_files(tmp_path):
    reference, hypothesis = write_each(tmp_path, {"ref": REFERENCE, "hyp_whisper-v3.5": "utt2 see\n\nutt1\tGood day\n"})
    rows = [*FORM.read([hypothesis, reference])]
    assert [row.where for row in rows] == [f"'{hypothesis}' line 1", f"'{hypothesis}' line 3"]
    assert read(hypothesis, reference) == [
        ("whisper-v3.5", "utt2", "see you", "see"),
        ("whisper-v3.5", "utt1", "good day", "Good day"),
    ]


@pytest.mark.parametrize(
    ("names", "systems"),
    [
        (["ref", "hyp"], ["data"]),
        (["ref.txt", "hyp.txt"], ["data"]),
        (["text", "hyp_b.1", "hyp_a.txt"], ["a", "b.1"]),
        (["text", "b/text", "a/text"], ["a", "b"]),
        (["ref", "a/hyp", "a/notes"], ["a"]),
        (["ref", "text", "hyp_a"], ["a"]),
    ],
)
def test_a_folder_has_references_and_a_file_per_system(tmp_path, names, systems):
    write_each(tmp_path / "data", dict.fromkeys(names, REFERENCE))
    assert FORM.fits(tmp_path / "data")
    rows = read(tmp_path / "data")
    assert [*dict.fromkeys(row[0] for row in rows)] == systems and len(rows) == 2 * len(systems)


def test_files_with_other_names_are_read_with_the_first_as_reference(tmp_path):
    paths = write_each(tmp_path, {"dev.txt": REFERENCE, "canary.txt": "utt1 good", "a/text": "utt1 day"})
    assert read(*paths[:2])[0] == ("canary", "utt1", "good day", "good")
    assert read(paths[0], paths[1], paths[2])[0][0] == "dev"


def test_words_in_brackets_at_the_end_of_lines_are_no_ids(tmp_path):
    reference = "utt1 good day (laughter)\nutt2 (laughter)\n"
    assert read(*write_each(tmp_path, {"ref": reference, "hyp_a": "utt1 good (day)"}))[0][2] == "good day (laughter)"


def test_each_folder_has_references_of_its_own(tmp_path):
    write_each(tmp_path, {"a/ref": "utt1 good", "a/hyp_x": "utt1 god", "b/ref": "utt2 day", "b/hyp_x": "utt2 day"})
    assert read(tmp_path / "a", tmp_path / "b") == [("x", "utt1", "good", "god"), ("x", "utt2", "day", "day")]


def test_ids_without_a_partner_are_yielded_with_what_they_have(tmp_path):
    paths = write_each(tmp_path, {"ref": REFERENCE, "hyp_a": "utt3 hello\nutt2\n"})
    rows = [*FORM.read(paths)]
    assert read(*paths) == [("a", "utt3", None, "hello"), ("a", "utt2", "see you", ""), ("a", "utt1", "good day", None)]
    assert rows[-1].where == f"'{paths[1]}' at '{paths[0]}' line 1"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"ref": REFERENCE},
            "ref: no pair of references and hypotheses; name both files, or a folder with ref and hyp",
        ),
        (
            {"ref": REFERENCE + "utt1 again", "hyp": REFERENCE},
            "ref' line 3: the id 'utt1' occurs in .*ref' line 1 too; rem",
        ),
        (
            {"ref": REFERENCE, "hyp": "a b\nc d"},
            "hyp': none of its ids is in .*ref: 'c' here, 'utt1' there; name a pair",
        ),
        ({"ref": REFERENCE, "hyp": "\n"}, "hyp': has no rows"),
        ({"ref": "", "hyp": REFERENCE}, "ref': has no rows"),
        (
            {"ref.trn": "hello world (a-1)\nhello (a-2)", "hyp.trn": "hello (a-1)\nhello (a-2)"},
            r"ref.trn': a .trn is not of the form kaldi; write the id before the words instead of \(id\) behind",
        ),
        (
            {"ref.txt": "hello world (a-1)\nhello (a-2)\n(a-3)", "hyp.txt": "hello (a-1)"},
            "ref.txt': each line ends in an id, such as 'a-1', as in sclite's trn; write the id before",
        ),
        ({"ref": REFERENCE, "hyp_a.JSON": REFERENCE}, "hyp_a.JSON': a .json is not of the form kaldi; name files"),
    ],
)
def test_files_that_are_no_pair_are_refused(tmp_path, files, message):
    with pytest.raises(SpeechIQError, match=message):
        read(*write_each(tmp_path, files))


def test_a_folder_without_references_is_refused(tmp_path):
    write_each(tmp_path, {"a/hyp": REFERENCE, "a/ref": REFERENCE})
    assert not FORM.fits(tmp_path)
    with pytest.raises(SpeechIQError, match="no pair of references and hypotheses"):
        read(tmp_path)
