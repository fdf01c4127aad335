"""Read outputs in Kaldi's form, an id and its words per line: a file of references and one of hypotheses per system."""

import re
from collections.abc import Iterator
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file, is_folder
from speechiq.reducer.imports.rows import Form, OutputRow, read_text_lines

#: Names of the file of references, best first.
REFERENCES = ("ref", "text")
HYPOTHESIS = "hyp"
#: The only ending of these files, if they have one, and those of other forms.
ENDING, OTHER_ENDINGS = ".txt", (".csv", ".ctm", ".json", ".jsonl", ".stm", ".trn", ".tsv")
#: How lines of sclite's trn end: with the id.
TRN_ID = re.compile(r"\((\S+)\)\s*$")
TRN_FIX = "write the id before the words instead of (id) behind them, in a .txt"


def _name(path: Path) -> str:
    """Return the name of a file without its ending; names of systems have dots."""
    return path.name.removesuffix(ENDING)


def _fits(path: Path) -> bool:
    if is_folder(path):
        return len(_list_files(path)) > 1
    name = _name(path)
    if name not in (*REFERENCES, HYPOTHESIS) and not name.startswith(f"{HYPOTHESIS}_"):
        return False
    try:
        _, line = next(read_text_lines(path))
    except SpeechIQError:
        return False
    return path.suffix not in OTHER_ENDINGS and not line.lstrip().startswith(("{", "["))


def _read(paths: list[Path]) -> Iterator[OutputRow]:
    """Yield a row per line of each hypothesis, then those of its references without one; references are kept."""
    files = [path for path in paths if not is_folder(path)]
    groups = [_list_files(path) for path in paths if is_folder(path)]
    for group in [*groups, files] if files else groups:
        if len(group) < 2:
            raise SpeechIQError(
                ", ".join(map(str, group or paths)),
                "no pair of references and hypotheses",
                "name both files, or a folder with ref and hyp_NAME",
            )
        for path in group:
            _refuse_other_ending(path)
        reference = _find_reference(group)
        _refuse_trn(reference)
        lines = _read_references(reference)
        for path in group:
            if path != reference:
                yield from _read_system(path, reference, lines)


def _refuse_other_ending(path: Path) -> None:
    ending = path.suffix.lower()
    if ending in OTHER_ENDINGS:
        fix = TRN_FIX if ending == ".trn" else "name files with an id and its words per line"
        raise SpeechIQError(path, f"a {ending} is not of the form kaldi", fix)


def _refuse_trn(path: Path) -> None:
    """Refuse a file of which each line ends in another id in parentheses, if it has several lines."""
    ids: set[str] = set()
    for _, line in read_text_lines(path):
        found = TRN_ID.search(line)
        if found is None or found[1] in ids:
            return
        ids.add(found[1])
    if len(ids) > 1:
        raise SpeechIQError(path, f"each line ends in an id, such as {min(ids)!r:.80}, as in sclite's trn", TRN_FIX)


def _list_files(folder: Path) -> list[Path]:
    """Return the references in a folder, then the hypotheses in it and in its folders; empty without a pair."""
    references = [folder / f"{name}{ending}" for name in REFERENCES for ending in ("", ENDING)]
    reference = next(filter(is_file, references), None)
    patterns = (HYPOTHESIS, f"{HYPOTHESIS}{ENDING}", f"{HYPOTHESIS}_*", f"*/{HYPOTHESIS}", "*/text")
    hypotheses = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return [reference, *filter(is_file, hypotheses)] if reference and hypotheses else []


def _find_reference(group: list[Path]) -> Path:
    """Return the file named `ref`, else the one named `text`, else the first."""
    named = (path for name in REFERENCES for path in group if _name(path) == name)
    return next(named, group[0])


def _read_references(path: Path) -> dict[str, tuple[str, str]]:
    """Return id -> file and line, and words; refuse an id that occurs twice."""
    lines: dict[str, tuple[str, str]] = {}
    for where, line in read_text_lines(path):
        clip, words = _split(line)
        if clip in lines:
            raise SpeechIQError(where, f"the id {clip!r:.80} occurs in {lines[clip][0]} too", "remove one of the lines")
        lines[clip] = where, words
    return lines


def _split(line: str) -> tuple[str, str]:
    clip, *words = line.split(maxsplit=1)
    return clip, "".join(words).strip()


def _read_system(path: Path, reference: Path, lines: dict[str, tuple[str, str]]) -> Iterator[OutputRow]:
    system = _name_system(path)
    seen = set()
    clip = ""
    for where, line in read_text_lines(path):
        clip, words = _split(line)
        seen.add(clip)
        known = lines.get(clip)
        yield OutputRow(where, system, clip, reference=known[1] if known else None, transcript=words)
    if seen.isdisjoint(lines):
        raise SpeechIQError(
            path,
            f"none of its ids is in {reference}: {clip!r:.80} here, {next(iter(lines))!r:.80} there",
            "name a pair",
        )
    for missing in (clip for clip in lines if clip not in seen):
        yield OutputRow(f"{str(path)!r} at {lines[missing][0]}", system, missing, reference=lines[missing][1])


def _name_system(path: Path) -> str:
    """Return the name after `hyp_`, or that of the folder of a `hyp` or `text`, or else that of the file."""
    name = _name(path)
    if name in (*REFERENCES, HYPOTHESIS):
        return path.absolute().parent.name
    return name.removeprefix(f"{HYPOTHESIS}_")


FORM = Form(
    "kaldi",
    "`ref` and `hyp_NAME`, or `text` and `NAME/text`: an id and its words per line",
    _fits,
    _read,
    takes_folders=False,
)
