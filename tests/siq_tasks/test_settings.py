"""Metadata for one data set of a run, on the command line and in a file."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.conditions.spec import QuestionSettings, RunSettings
from speechiq.siq_tasks.loaders.question_columns import LabelSettings
from speechiq.siq_tasks.loaders.row_choice import ChoiceSettings
from speechiq.siq_tasks.settings import expand_sets, for_dataset, refuse


def test_a_file_lists_the_keys_of_several_sets(tmp_path):
    file = tmp_path / "sets.yaml"
    file.write_text("earnings22: {dataset_path: here, subset: 2}\nmedasr:\n  dataset_path: there\n")
    given = expand_sets({"sets": str(file), "earnings22.subset": 5, "subset": 9})
    assert for_dataset(given, "earnings22") == {"dataset_path": "here", "subset": 5}
    assert for_dataset(given, "medasr") == {"dataset_path": "there", "subset": 9}
    assert for_dataset(given, "voxpopuli") == {"subset": 9}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("a: [", "not valid YAML"),
        ("- a\n- b\n", "not a mapping of keys to values"),
        ("earnings22: here\n", "not a mapping of data sets to keys and values"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path, text, message):
    file = tmp_path / "sets.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SpeechIQError, match=message) as refused:
        expand_sets({"sets": str(file)})
    assert "\n" not in str(refused.value) and "--metadata sets=" in str(refused.value)


@pytest.mark.parametrize(
    ("record", "given", "message"),
    [
        (QuestionSettings, {"timing": "all"}, "timing=all: unknown; give stream"),
        (RunSettings, {"condition": 10}, "condition=10: not a text; give one"),
        (
            LabelSettings,
            {},
            "labels: missing; give two or more labels with their words, such as {joy: [happy], anger: []}",
        ),
    ],
)
def test_a_value_that_a_run_does_not_know_is_refused(record, given, message):
    with pytest.raises(SpeechIQError) as refused:
        read_record(record, given)
    assert str(refused.value) == message


def test_a_key_of_other_tasks_is_to_be_left_out():
    with pytest.raises(SpeechIQError, match=r"no task of this run reads it; leave it out \(known: subset\)"):
        refuse({"reader": "hf:m"}, ["subset"])


def test_half_a_surrogate_pair_in_a_setting_is_one_line():
    with pytest.raises(SpeechIQError, match="ties=\N{REPLACEMENT CHARACTER}: unknown; give id or order"):
        read_record(ChoiceSettings, {"ties": "\ud800"})
