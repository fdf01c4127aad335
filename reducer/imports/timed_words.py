"""Read NIST's forms: references as segments of a recording in `.stm`, hypotheses as timed words in `.ctm` or `.stm`."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import read_number
from speechiq.reducer.imports.rows import Form, OutputRow, name_systems, read_text_lines, say_once

#: Channels that one program numbers and another names.
CHANNELS = {"A": "1", "B": "2"}
#: Alternatives of sclite, in references `{ they're / they are }`, and between lines of their own in hypotheses.
ALTERNATIVES, ALTERNATIVE_LINE = re.compile(r"\{[^{}]*/[^{}]*\}"), "<ALT"
COMMENT, IGNORED, NO_WORD = ";;", "ignore_time_segment_in_scoring", "<eps>"
STM_FIELDS, CTM_FIELDS = "waveform channel speaker begin end words", "waveform channel begin duration word"


class TimedSegment(NamedTuple):
    """Hold a line of either form, with its times in seconds; label and speaker only of `.stm`."""

    where: str
    waveform: str
    channel: str
    begin: float
    end: float
    words: str
    groups: dict[str, str]

    @property
    def track(self) -> tuple[str, str]:
        """Return the recording and its channel as a number."""
        return self.waveform, CHANNELS.get(self.channel.upper(), self.channel)

    @property
    def is_ignored(self) -> bool:
        """Return whether its authors marked it as not to be scored."""
        return self.words.casefold() == IGNORED

    @property
    def has_alternatives(self) -> bool:
        """Tell whether its authors accept several texts for some of its words."""
        return ALTERNATIVES.search(self.words) is not None


class Channel:
    """Hold the segments of one channel of a recording, and find the one at a time.

    Args:
        segments: Number of each segment in the file, and the segment.
    """

    def __init__(self, segments: list[tuple[int, TimedSegment]]) -> None:
        self.segments = sorted(segments, key=lambda numbered: numbered[1].begin)
        self.begins = [segment.begin for _, segment in self.segments]
        self.latest_ends = [*accumulate((segment.end for _, segment in self.segments), max)]

    def find(self, middle: float) -> int | None:
        """Return the number of the segment at a time, the one that begins last if there are several; None without."""
        place = bisect_right(self.begins, middle) - 1
        while place >= 0 and self.latest_ends[place] > middle:
            number, segment = self.segments[place]
            if segment.end > middle:
                return number
            place -= 1
        return None


def _read_segments(path: Path) -> Iterator[TimedSegment]:
    is_stm = path.suffix.lower() == ".stm"
    for where, line in read_text_lines(path):
        if not line.lstrip().startswith(COMMENT):
            yield _read_stm_line(line, where) if is_stm else _read_ctm_line(line, where)


def _read_stm_line(line: str, where: str) -> TimedSegment:
    fields = line.split(maxsplit=5)
    if len(fields) < 5:
        raise SpeechIQError(where, f"has {count_of(len(fields), 'field')}", f"write {STM_FIELDS}")
    waveform, channel, speaker, begin, end, *rest = fields
    words = "".join(rest).strip()
    groups = {"speaker": speaker}
    if words.startswith("<") and ">" in words:
        groups["label"], _, words = words[1:].partition(">")
    return _check_times(
        TimedSegment(where, waveform, channel, read_number(begin), read_number(end), words.strip(), groups)
    )


def _read_ctm_line(line: str, where: str) -> TimedSegment:
    fields = line.split()
    if len(fields) < 5:
        raise SpeechIQError(where, f"has {count_of(len(fields), 'field')}", f"write {CTM_FIELDS}")
    waveform, channel, begin, duration, word = fields[:5]
    if word.upper().startswith(ALTERNATIVE_LINE):
        raise SpeechIQError(
            where, f"{word} begins alternatives, which are not read", "keep the words of one, and no <ALT lines"
        )
    start = read_number(begin)
    words = "" if word == NO_WORD else word
    return _check_times(TimedSegment(where, waveform, channel, start, start + read_number(duration), words, {}))


def _check_times(segment: TimedSegment) -> TimedSegment:
    if not 0 <= segment.begin <= segment.end < float("inf"):
        raise SpeechIQError(
            segment.where, f"runs from {segment.begin} to {segment.end}", "write seconds, the end not before the begin"
        )
    return segment


def _read_ctm(paths: list[Path]) -> Iterator[OutputRow]:
    references = [path for path in paths if path.suffix.lower() == ".stm"]
    return _read(references, [path for path in paths if path not in references])


def _read_stm(paths: list[Path]) -> Iterator[OutputRow]:
    first = next((path for path in paths if path.stem.casefold() in ("ref", "reference")), paths[0])
    return _read([first], [path for path in paths if path != first])


def _read(references: list[Path], hypotheses: list[Path]) -> Iterator[OutputRow]:
    """Yield a row per system and segment of the references; these and the words of one system at a time are kept."""
    if not references or not hypotheses:
        named = ", ".join(map(str, references + hypotheses))
        missing = "hypotheses" if references else "references (.stm)"
        raise SpeechIQError(named, f"no {missing} beside it", "name the references and a file per system")
    segments = [segment for path in references for segment in _read_segments(path)]
    _say_alternatives(references, segments)
    numbered = defaultdict(list)
    for number, segment in enumerate(segments):
        numbered[segment.track].append((number, segment))
    tracks = {name: Channel(numbers) for name, numbers in numbered.items()}
    systems = name_systems(hypotheses)
    for path in hypotheses:
        words = _assign_words(path, tracks)
        for number, segment in enumerate(segments):
            if not segment.is_ignored:
                transcript = _join(words.texts.get(number, [])) if segment.track in words.tracks else None
                yield _make_row(path, segment, systems[path], transcript)


def _say_alternatives(references: list[Path], segments: list[TimedSegment]) -> None:
    count = sum(segment.has_alternatives for segment in segments)
    if count:
        named = ", ".join(map(str, references))
        say_once(
            f"{named}: {count} of {count_of(len(segments), 'segment')} have alternatives such as {{ a / b }}, which "
            "are not read; they are left out as without a reference"
        )


@dataclass
class AssignedWords:
    """Hold what one system wrote: number of a segment -> times and words, and the channels it wrote about."""

    texts: dict[int, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    tracks: set[tuple[str, str]] = field(default_factory=set)


def _assign_words(path: Path, tracks: dict[tuple[str, str], Channel]) -> AssignedWords:
    """Return the words of a system by the segment that has their middle; say how many are in none."""
    words, count, outside = AssignedWords(), 0, 0
    for part in _read_segments(path):
        words.tracks.add(part.track)
        count += len(part.words.split())
        track = tracks.get(part.track)
        number = track.find((part.begin + part.end) / 2) if track else None
        if number is None:
            outside += len(part.words.split())
        else:
            words.texts[number].append((part.begin, part.words))
    if not words.texts:
        names = ", ".join(dict.fromkeys(waveform for waveform, _ in tracks))
        raise SpeechIQError(
            path, "no word is in a segment of the references", f"name a pair; they are about {names:.80}"
        )
    if outside:
        say_once(f"{path}: {outside} of {count_of(count, 'word')} are in no segment of the references and are left out")
    return words


def _join(parts: list[tuple[float, str]]) -> str:
    return " ".join(words for _, words in sorted(parts, key=itemgetter(0)) if words)


def _make_row(path: Path, segment: TimedSegment, system: str, transcript: str | None) -> OutputRow:
    """Return the row of a segment; without a transcript if the system wrote nothing about its recording.

    A reference with alternatives is left out: which of them counts would differ between systems.
    """
    return OutputRow(
        f"{str(path)!r} at {segment.where}",
        system,
        f"{segment.waveform}-{segment.channel}-{segment.begin:g}-{segment.end:g}",
        reference=None if segment.has_alternatives else segment.words,
        transcript=transcript,
        cluster=segment.waveform,
        groups=segment.groups,
        duration=segment.end - segment.begin,
    )


def _fits(path: Path, *endings: str) -> bool:
    try:
        return path.suffix.lower() in endings and next(_read_segments(path), None) is not None
    except SpeechIQError:
        return False


CTM = Form("ctm", "`.stm` of references and a `.ctm` per system", lambda path: _fits(path, ".ctm", ".stm"), _read_ctm)
STM = Form("stm", "`ref.stm` and a `.stm` per system", lambda path: _fits(path, ".stm"), _read_stm)
