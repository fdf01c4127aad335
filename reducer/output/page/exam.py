"""Make the page on which people take the test, offline: they listen, write down what was said, and answer questions.

The page has neither references nor right letters. Its sounds are inside, as the samples that systems get, in FLAC.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec

from speechiq.core.clip import Clip
from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256
from speechiq.metrics.letters.options import ALPHABET
from speechiq.reducer.output.page.clips import encode_sound
from speechiq.reducer.output.page.page import LARGEST, Section, render
from speechiq.siq_tasks.questions.exam import Exam, ExamClip

SCRIPTS = ("base", "theme", "downloads", "exam")


def render_exam(exam: Exam, tasks: Sequence[str], command: str) -> str:
    """Return the page of an exam; it states the tasks, and the command that scores what a person saves."""
    size = count_of(len(exam.clips), "clip")
    if exam.questions:
        size += f", {count_of(exam.questions, 'question')}"
    made = {
        "Tasks": f"{', '.join(tasks)} ({size})",
        "Page": f"speechiq {version('speechiq')}, {datetime.now(UTC):%Y-%m-%d}",
        "Command": command,
    }
    return render(
        [Section("exam", "Exam", "exam", {"exam": exam, "size": size})],
        SCRIPTS,
        title="Listening exam",
        lead="Listen to each clip, write down what is said, then answer its questions."
        if exam.questions
        else "Listen to each clip, and write down what is said.",
        made=made,
        data={"exam": describe_exam(exam.clips), "sounds": _encode_all(exam.sounds)},
        plots=False,
        links={},
    )


def describe_exam(clips: Sequence[ExamClip]) -> dict[str, object]:
    """Return the data of the script: the clips, the letters, and a key for the entries of this exam in a browser."""
    plain = msgspec.to_builtins(clips)
    return {"clips": plain, "letters": ALPHABET, "key": content_sha256(plain)[:16]}


def _encode_all(sounds: Mapping[str, Clip]) -> dict[str, str]:
    """Return the address of each sound; refuse more than a page can have."""
    found, size = dict[str, str](), 0
    for name, clip in sounds.items():
        found[name] = encode_sound(clip.samples, "FLAC", "PCM_16")
        size += len(found[name])
        if size > LARGEST:
            raise SpeechIQError(
                f"exam of {len(sounds)} clips",
                f"the sound of {len(found)} of them has more than {LARGEST / 1e6:.0f} MB, too much for one page",
                "choose fewer clips with --limit",
            )
    return found
