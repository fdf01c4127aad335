"""Odd rows of published data: every set repairs or leaves out the same kinds, counts them and goes on."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders import clips, passages
from speechiq.siq_tasks.loaders.odd_rows import describe_odd_rows
from speechiq.siq_tasks.loaders.question_columns import find_right
from tests.siq_tasks.belebele import question, record, sentence, write_set
from tests.siq_tasks.conftest import write_lines, write_table
from tests.siq_tasks.published_rows import AUDIO, ID, OPTIONS, SETS, SETTINGS, find_columns, make_row, read_about

pytestmark = pytest.mark.slow

GOOD = 160
#: Kind -> values of an odd row by role, whether it is repaired or left out, and the reason by which it is counted. A
#: set without one of the roles has no such row.
KINDS = {
    "equal options": ({"choices": ["at sea", *OPTIONS[1:]], "answer": "At sea."}, "repaired", "equal options"),
    "an empty option": ({"choices": [None, *OPTIONS[1:]]}, "repaired", "empty options"),
    "an option too few": ({"choices": [None, "nowhere", "", None]}, "left_out", "fewer than two options"),
    "a strange answer": ({"choices": OPTIONS, "answer": "west"}, "left_out", "an answer that is in no option"),
    "no answer": ({"answer": " "}, "left_out", "no answer"),
    "no question": ({"question": None}, "left_out", "no question"),
    "a strange label": ({"label": "Hard to say."}, "left_out", "an answer that names no label"),
    "no reference": ({"text": None}, "left_out", "no text"),
    "a blank reference": ({"text": "  "}, "left_out", "no text"),
    "no word": ({"words": "[inaudible] ... $"}, "left_out", "no word to score"),
    "fillers": ({"words": "Uh..."}, "left_out", "no word to score"),
    "a marked segment": ({"words": "ignore_time_segment_in_scoring"}, "left_out", "marked as not to be scored"),
    "no group": ({"group": None}, "repaired", "no group"),
    "no cluster": ({"cluster": None}, "left_out", "no cluster"),
    "no id": ({"id": None}, "left_out", "no id"),
    "an id twice": ({"id": ID.format(0, 0)}, "left_out", "the id of an earlier row"),
    "no length": ({"length": -1.0}, "repaired", "no length"),
    "no audio": ({"audio": None}, "left_out", "no audio"),
    "damaged audio": ({"audio": AUDIO[:60]}, "left_out", "audio that cannot be read"),
}


def write_rows(folder, about, changes):
    """Write good rows and one for each change; return the metadata of a task that reads them."""
    rows = [make_row(about, number, change) for number, change in enumerate([*[{}] * GOOD, *changes])]
    table = {name: [row[name] for row in rows] for name in rows[0]}
    audio = find_columns(about)["audio"]
    write_table(folder / "data" / "test-00000-of-00001.parquet", table, {audio: table.pop(audio)})
    return about | {"dataset_path": str(folder), "dataset_name": None, "split": "test"} | SETTINGS


@pytest.mark.parametrize("task", SETS)
def test_every_set_survives_the_same_kinds_of_rows(own_cache, tmp_path, caplog, task):
    about = read_about(task)
    columns = find_columns(about)
    kinds = {kind: odd for kind, odd in KINDS.items() if odd[0].keys() <= columns.keys()}
    assert {"no audio", "damaged audio"} < kinds.keys() and len(kinds) >= 3
    test = clips.prepare(**write_rows(tmp_path, about, [change for change, _, _ in kinds.values()]))
    expected = {"repaired": {}, "left_out": {}}
    for change, fate, reason in kinds.values():
        in_column = {
            f"no {role}": f"no {columns[role]}" for role in change if role in ("text", "id", "length", "cluster")
        }
        in_column |= {"no group": f"no group in {columns.get('group')}"}
        named = in_column.get(reason, reason)
        expected[fate][named] = expected[fate].get(named, 0) + 1
    assert {fate: test.record[fate] for fate in expected} == expected
    left = sum(expected["left_out"].values())
    assert test.record["rows"] == GOOD + len(kinds) and len(test.clips) == GOOD + len(kinds) - left
    shown = [line for line in caplog.messages if "left out: " in line]
    assert shown == [f"{about['dataset']}: {describe_odd_rows(test.record)}"]


def test_passages_survive_the_same_kinds_of_rows(own_cache, tmp_path):
    speech = record("kennedy", 0.4)

    def spoken(*recordings, **parts):
        return {"sentence_data": [sentence(1, "Ein Satz.", *(recordings or [speech]), **parts)]}

    unread, no_audio = "a sentence that cannot be read", [{"bytes": None, "path": None}]
    changes = {
        "equal options": ({"mc_answer2": "Antwort 1"}, "not four different options"),
        "an empty option": ({"mc_answer3": None}, "not four different options"),
        "a strange answer": ({"correct_answer_num": "5"}, "an answer that is in no option"),
        "no answer": ({"correct_answer_num": None}, "no answer"),
        "no question": ({"question": " "}, "no question"),
        "no number": ({"question_number": None}, "no question_number"),
        "no link": ({"link": None}, "no link"),
        "another language": ({"dialect": "fra_Latn"}, "of another language"),
        "a number twice": ({"link": "link 0"}, "a question that an earlier row has"),
        "no sentence": ({"sentence_data": []}, "a passage without recordings"),
        "no recording": (spoken(audio=[]), unread),
        "no audio": (spoken(audio=no_audio), "no audio"),
        "damaged audio": (spoken(AUDIO[:60], num_samples=[9]), "audio that cannot be read"),
        "two genders": (spoken(gender=["MALE", "MALE"]), unread),
        "two error rates": (spoken(whisper_asr_cer=[0.1, 0.1]), unread),
        "no samples": (spoken(num_samples=[0]), unread),
        "no number of a sentence": (spoken(id=None), unread),
        "no text": (spoken(raw_transcription=" "), unread),
        "no word": (spoken(raw_transcription="..."), "no word to score"),
        "no dialect": ({"dialect": None}, None),
        "an answer by its letter": ({"correct_answer_num": "(B)"}, None),
    }
    said = spoken()["sentence_data"]
    good = [question(f"link {number}", 1, said) for number in range(3 * GOOD)]
    odd = [question(kind, 1, said) | change for kind, (change, _) in changes.items()]
    about = {"dataset_name": "deu_Latn", "recording": "first", "pause_s": 0.5}
    test = passages._prepare("belebele_deu_Latn", about | {"dataset_path": str(write_set(tmp_path, good + odd))})
    reasons = [reason for _, reason in changes.values() if reason]
    assert test.record["left_out"] == {reason: reasons.count(reason) for reason in reasons}
    assert test.record["rows"] == 3 * GOOD + len(changes) and not test.record["repaired"]
    assert sum(len(clip["questions"]) for clip in test.clips) == 3 * GOOD + 2


def write_own(folder, lines):
    folder.joinpath("a.wav").write_bytes(AUDIO)
    file = write_lines(folder / "own.jsonl", *({"audio": "a.wav"} | line for line in lines))
    return {"dataset": "own", "dataset_path": str(file), "subset": "all"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answer": "west"}, "own.jsonl row 1: the answer 'west' is not one of the options"),
        (
            {"choices": ["at sea", *OPTIONS[1:]], "answer": "C"},
            "row 1: the answer is the text of the options A and C; c",
        ),
        ({"choices": ["", *OPTIONS[1:]]}, "row 1: an option of ['', 'in the south', 'at sea', 'nowhere'] is empty"),
        ({"question": ""}, "row 1: the question is '', not a text; correct the row, or leave it out with --metadata"),
        ({"kind": None}, "row 1: kind is None; write one in every row, such as unknown"),
        ({"audio": "gone.wav"}, "row 1: "),
    ],
)
def test_an_own_table_is_refused_at_its_first_odd_row(own_cache, tmp_path, line, message):
    good = {"question": "Where?", "choices": OPTIONS, "answer": "nowhere", "kind": "a"}
    about = write_own(tmp_path, [good, good | line, good | {"kind": "b"}])
    about |= {f"{role}_column": role for role in ("question", "choices", "answer")}
    with pytest.raises(SpeechIQError) as refused:
        clips.prepare(**about, text_column=None, task_type="choice", group_columns=["kind"])
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        ("...", {}),
        ("Uh...", {}),
        ("[inaudible] ...", {}),
        ("$", {}),
        ("...", {"language": "pt"}),
        ("。", {"language": "zh"}),
        ("!?", {"language": "th"}),
        ("[inaudible]", {"normalizer": "basic"}),
    ],
)
def test_an_own_reference_without_a_word_is_refused(own_cache, tmp_path, text, metadata):
    about = write_own(tmp_path, [{"text": "so it goes"}, {"text": text}]) | metadata
    with pytest.raises(SpeechIQError, match=r"own\.jsonl row 1: .* has no word to score; correct the row"):
        clips.prepare(**about, level="remember")


@pytest.mark.parametrize(
    ("text", "metadata"),
    [("Um.", {"language": "pt"}), ("Hm, um.", {"language": "de"}), ("嗯。", {"language": "zh"}), ("7", {})],
)
def test_what_is_a_word_in_its_language_counts(own_cache, tmp_path, text, metadata):
    about = write_own(tmp_path, [{"text": text}]) | metadata
    assert len(clips.prepare(**about, level="remember").clips) == 1


def test_too_many_odd_rows_stop_the_run_in_one_line(own_cache, tmp_path):
    about = read_about("mmsu_choice")
    wrong = [{"answer": "west"}] * 8 + [{"question": None}]
    with pytest.raises(SpeechIQError) as refused:
        clips.prepare(**write_rows(tmp_path, about, wrong))
    assert str(refused.value).startswith(
        f"{tmp_path}: 9 of 169 rows cannot be scored, more than 5 %: an answer that is in no option 8 (mmsu/00160, "
        f"mmsu/00161, mmsu/00162 and 5 more), no question 1 (mmsu/00168); {tmp_path} row 160: the answer 'west' is not "
    )
    assert str(refused.value).endswith("or leave rows out with --metadata leave_out=ID")


def test_an_odd_row_is_replaced_by_the_next_longest(own_cache, tmp_path):
    about = read_about("siq_earnings22_remember")
    test = clips.prepare(**write_rows(tmp_path, about, [{"audio": AUDIO[:60], "length": 9.0}]) | {"subset": 3})
    assert len(test.clips) == 3 and test.record["left_out"] == {"audio that cannot be read": 1}


@pytest.mark.parametrize(
    ("answer", "base", "right"),
    [
        ("B", None, [1]),
        ("(b)", None, [1]),
        ("B. in the South", None, [1]),
        (" IN  THE SOUTH. ", None, [1]),
        ('"in the south"', None, [1]),
        ("1", 0, [1]),
        ("2", 1, [1]),
        ("at sea", None, [2, 4]),
        ("C", None, [2, 4]),
        ("5", 1, [2, 4]),
    ],
)
def test_an_answer_is_found_by_letter_number_or_text(answer, base, right):
    assert find_right(answer, [*OPTIONS[:3], "", "At sea."], base) == right


@pytest.mark.parametrize(
    ("answer", "base"), [("F", None), ("2", None), ("0", 1), ("9", 1), ("4", 1), ("D", None), ("(A) at sea", None)]
)
def test_an_answer_that_is_in_no_option_is_refused(answer, base):
    with pytest.raises(SpeechIQError, match="is not one of the options"):
        find_right(answer, [*OPTIONS[:3], "", "At sea."], base)


def test_a_base_that_cannot_be_is_refused(own_cache, tmp_path):
    with pytest.raises(SpeechIQError, match="answer_base=2: unknown; give 0 or 1"):
        clips.prepare(**read_about("mmsu_choice") | {"dataset_path": str(tmp_path), "answer_base": 2})
