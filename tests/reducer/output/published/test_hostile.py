"""Wrong and hostile submissions, each made of a good one (the published results of the demo): refused in one line."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum
from speechiq.reducer.output.published import registry
from speechiq.reducer.output.published.check import FROM_ELSEWHERE, compare_fields, restore
from speechiq.reducer.output.published.folder import (
    Declaration,
    folder_of_system,
    list_below,
    read_folder,
    read_result,
    write_results,
)
from speechiq.reducer.output.published.record import draft
from speechiq.reducer.scores import norms, suites
from speechiq.reducer.scores.suites import ScoringOptions
from tests.test_docs import REGISTRY

SPHINX = "pocketsphinx_en-us+demo_SmolLM2-135M-Instruct-f88c205a"
APPLY, REMEMBER, UNDERSTAND = "siq_demo_apply", "siq_demo_remember", "siq_demo_understand"
Spoil = Callable[[Path], object]
Content = dict[str, Any]
DEMO = norms.read_norms("demo")


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder with one good result and its norms."""
    shutil.copytree(REGISTRY / "results" / SPHINX, tmp_path / "results" / SPHINX)
    shutil.copytree(REGISTRY / "results" / "norms", tmp_path / "results" / "norms")
    return tmp_path / "results"


def place(results: Path) -> Path:
    """Return the folder of the good result."""
    (folder,) = results.glob("pocket*/*")
    return folder


def seal(content: Content) -> str:
    """Return the text of a result with a fitting sha256."""
    kept = {key: content[key] for key in content if key not in ("schema", "version", "sha256")}
    return json.dumps(add_checksum(content["schema"], content["version"], kept))


def taken_later(function: Callable[..., object]) -> Callable[..., Spoil]:
    """Let a function that changes results take its other arguments first, and the results afterwards."""

    def take(*arguments: Any, **options: Any) -> Spoil:
        return lambda results: function(results, *arguments, **options)

    return take


def change_content(results: Path, change: Callable[[Content], object]) -> None:
    """Change the result, with a fitting sha256."""
    file = place(results) / "result.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(seal(content))


edit = taken_later(change_content)


def put(*keys: Any, value: object) -> Spoil:
    """Return what sets a value of the result, with a fitting sha256."""

    def change(content: Content) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return edit(change)


@taken_later
def rewrite(results: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of the result."""
    file = place(results) / "result.json"
    file.write_bytes(change(file.read_bytes()))


def file_of(results: Path, task: str) -> Path:
    return place(results).joinpath("rows", f"{task}.jsonl.gz")


def store(results: Path, task: str, lines: bytes) -> None:
    """Replace the rows of a task, with fitting digests and counts."""
    file_of(results, task).write_bytes(gzip.compress(lines, mtime=0))

    def describe(content: Content) -> None:
        (record,) = (each for each in content["tasks"] if each["task"] == task)
        count = lines.count(b"\n")
        record["rows"] |= {"sha256": hashlib.sha256(lines).hexdigest(), "bytes": len(lines), "count": count}
        record["docs"] = [count, count]

    change_content(results, describe)


def change_rows(results: Path, task: str, change: Callable[[list[Content]], object]) -> None:
    """Change the rows of a task, with fitting digests and counts."""
    content = [json.loads(line) for line in gzip.decompress(file_of(results, task).read_bytes()).splitlines()]
    change(content)
    store(results, task, msgspec.json.Encoder(order="sorted").encode_lines(content))


rows = taken_later(change_rows)


@taken_later
def lines(results: Path, task: str, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of the rows of a task, with fitting digests and counts."""
    store(results, task, change(gzip.decompress(file_of(results, task).read_bytes())))


@taken_later
def packed(results: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the compressed bytes of the rows of Remember."""
    file = file_of(results, REMEMBER)
    file.write_bytes(change(file.read_bytes()))


def forge_rows(
    results: Path, task: str, change: Callable[[list[Content]], object], system: str | None = None, texts: bool = True
) -> None:
    """Change rows and make the whole result anew, as the honest command does."""
    change_rows(results, task, change)
    old = place(results)
    result = read_result(old)
    if system:
        result = msgspec.structs.replace(result, system=system)
    contents = {each.task: gzip.decompress(file_of(results, each.task).read_bytes()) for each in result.tasks}
    temporary = results.parent / "restored"
    temporary.mkdir()
    restore(result, contents, temporary)
    found = suites.find_suites([temporary], False, ScoringOptions(norms=DEMO))
    declared = {result.system: Declaration(contamination="none known", interests="none")}
    drafts = list(draft(found, DEMO, declared, texts=texts))
    shutil.rmtree(old.parent)
    list(write_results(drafts, results))


forge = taken_later(forge_rows)


@taken_later
def copy_as(
    results: Path, system: str, task: str, change: Callable[[list[Content]], object], texts: bool = True
) -> None:
    """Publish the rows of the good result under the name of another system, too."""
    kept = results.parent / "kept"
    shutil.copytree(results / SPHINX, kept)
    forge_rows(results, task, change, system, texts)
    shutil.copytree(kept, results / SPHINX)


def set_all(column: str, value: float) -> Callable[[list[Content]], None]:
    return lambda content: [row.update({column: value}) for row in content] and None


def set_first(**values: object) -> Callable[[list[Content]], None]:
    return lambda content: content[0].update(values)


def set_doc(**values: object) -> Callable[[list[Content]], None]:
    return lambda content: content[0]["doc"].update(values)


def nothing(content: list[Content]) -> None:
    """Leave rows as they are, which are forged or copied then."""


def drop(content: list[Content]) -> None:
    del content[0]


@taken_later
def edit_norms(results: Path, change: Callable[[Content], object], fitting: bool = True, name: str = "demo@1") -> None:
    file = results / "norms" / "demo@1.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(seal(content) if fitting else json.dumps(content))
    file.rename(file.with_name(f"{name}.json"))


@taken_later
def link(results: Path, source: str, target: str) -> None:
    """Put a link in the place of a file or folder below the result."""
    path = place(results) / source
    moved = results.parent / "moved"
    path.rename(moved)
    path.symlink_to(target or moved)


@taken_later
def rename(results: Path, name: str) -> None:
    place(results).rename(place(results).with_name(name))


@taken_later
def add(results: Path, path: str, content: bytes = b"x") -> None:
    """Add a file to the result, or beside it if the path begins with a slash."""
    file = results / path[1:] if path.startswith("/") else place(results) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def grow(results: Path) -> None:
    with file_of(results, REMEMBER).open("r+b") as file:
        file.truncate(2**30)


@taken_later
def rename_system(results: Path, name: str) -> None:
    """Give the result another name of its system, and its folder the name that goes with it."""
    change_content(results, lambda content: content.update(system=name))
    (results / SPHINX).rename(results / folder_of_system(name))


def future(results: Path) -> None:
    change_content(results, lambda content: content.update(date="2999-01-01T00:00:00Z"))
    rename("2999-01-01T00-00-00Z")(results)


def remove_task(results: Path) -> None:
    change_content(results, lambda content: content["tasks"].pop(2))
    file_of(results, UNDERSTAND).unlink()


SIQ = ("suites", "siq", "siq")
WER = ("suites", "siq", "categories", "remember")
META = ("tasks", 1, "metadata")
AGAIN = "and its rows give"
NOT_JSON = "not standard JSON"
NO_NAME = "characters that no name needs"
HOSTILE: dict[str, tuple[Spoil, str]] = {
    # Numbers, with a fitting sha256 (`test_every_field_is_that_of_the_rows` has all others).
    "SIQ a little higher": (put(*SIQ, "value", value=89.12), AGAIN),
    "one more suite": (edit(lambda c: c["suites"].update(other=c["suites"]["siq"])), AGAIN),
    "one category less": (edit(lambda c: c["suites"]["siq"]["categories"].pop("apply")), AGAIN),
    "no norms but SIQ": (put("norms", value=None), AGAIN),
    # The form of the result.
    "edited by hand": (rewrite(lambda text: text.replace(b"89.", b"99.", 1)), "was changed after it was made"),
    "unknown field": (put("more", value=1), "unknown field `more`"),
    "missing field": (edit(lambda c: c.pop("control")), "missing required field `control`"),
    "wrong type": (put(*SIQ, "value", value="120"), "Expected `float | null`"),
    "negative count": (put(*WER, "clips", value=-1), "Expected `int` >= 0"),
    "other schema": (put("schema", value="other"), "is not a speechiq-result file"),
    "other version": (put("version", value=2), "has version 2"),
    "cut off": (rewrite(lambda text: text[:-30]), "is not JSON"),
    "a list": (rewrite(lambda text: b"[]"), "is not a speechiq-result file"),
    "NaN": (put(*SIQ, "value", value=float("nan")), "is not JSON"),
    "a number above all": (rewrite(lambda text: text.replace(b'"seed": 0', b'"seed": 1e999')), "is not"),
    "many digits": (rewrite(lambda text: text.replace(b'"seed": 0', b'"seed": ' + b"9" * 5000)), "digits"),
    "deeply nested": (rewrite(lambda text: b'{"schema":' + b"[" * 10**5 + b"]" * 10**5 + b"}"), "nested too deeply"),
    "invalid UTF-8": (rewrite(lambda text: text.replace(b"pocket", b"\xff\xfe", 1)), "is not JSON"),
    "half a surrogate": (rewrite(lambda text: text.replace(b"pocket", b"\\ud800", 1)), "surrogate"),
    "no result": (lambda results: place(results).joinpath("result.json").unlink(), "cannot be read"),
    # Norms.
    "unknown norms": (put("norms", "label", value="mine@1"), "norms 'mine@1': not known here"),
    "other digest of norms": (put("norms", "sha256", value="0" * 64), "another sha256 than the known norms"),
    "edited norms": (edit_norms(lambda c: c["levels"]["apply"].update(mean=0.1), False), "was changed after"),
    "edited norms with a fitting digest": (edit_norms(lambda c: c["levels"]["apply"].update(mean=0.1)), "edited: the"),
    "norms under another name": (edit_norms(lambda c: None, name="better@1"), "has norms 'demo@1'"),
    "a draft": (edit_norms(lambda c: c.update(edition=None, example=False), name="demo"), "has norms 'demo'"),
    "norms of few that are no example": (edit_norms(lambda c: c.update(name="my", example=False)), "fewer than 10"),
    "norms that are no JSON": (add("/norms/x@1.json"), "is not JSON"),
    "norms that lead elsewhere": (
        lambda results: results.joinpath("norms", "x@1.json").symlink_to("/etc/passwd"),
        "a link, or above",
    ),
    # Rows that do not fit the result.
    "a lower WER in a row": (rows(REMEMBER, set_first(wer=0.0)), AGAIN),
    "a removed row": (rows(REMEMBER, drop), "are not in system"),
    "an added row": (
        rows(REMEMBER, lambda c: c.append(c[0] | {"doc": c[0]["doc"] | {"id": "demo/z"}})),
        "not in norms",
    ),
    "a row twice": (rows(REMEMBER, lambda c: c.append(c[0])), "is scored twice"),
    "a renamed clip": (rows(REMEMBER, set_doc(id="demo/new")), "are not in system"),
    "another order": (rows(REMEMBER, lambda c: c.reverse()), AGAIN),
    "a further field": (rows(REMEMBER, set_first(payload="x" * 1000)), AGAIN),
    "NaN in a row": (lines(REMEMBER, lambda text: text.replace(b'"wer":0', b'"wer":NaN', 1)), NOT_JSON),
    "1e999 in a row": (lines(REMEMBER, lambda text: text.replace(b'"wer":0', b'"wer":1e999', 1)), "row"),
    "accuracy of 2": (rows(APPLY, set_first(acc=2.0)), "outside"),
    "negative WER": (rows(REMEMBER, set_first(wer=-0.5)), "outside"),
    "a text for a number": (rows(REMEMBER, set_first(wer="0")), "needs doc.id and the number 'wer'"),
    "no column": (rows(REMEMBER, lambda c: c[0].pop("wer")), "needs doc.id and the number 'wer'"),
    "no doc": (rows(REMEMBER, lambda c: c[0].pop("doc")), "scores"),
    "a list in a row": (lines(REMEMBER, lambda text: b"[1]\n" + text), NOT_JSON),
    "an empty line": (lines(REMEMBER, lambda text: b"\n" + text), NOT_JSON),
    "invalid UTF-8 in a row": (lines(REMEMBER, lambda text: text.replace(b"demo/", b"\xff\xfe/", 1)), NOT_JSON),
    "a deep row": (lines(REMEMBER, lambda text: b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n" + text), NOT_JSON),
    "no rows": (lines(REMEMBER, lambda text: b""), "is empty"),
    "rows cut off": (lines(REMEMBER, lambda text: text[:-20]), NOT_JSON),
    # Rows that fit the result, forged with the honest code, beside texts that do not fit.
    "forged WER": (forge(REMEMBER, set_all("wer", 0.01)), "and its texts give"),
    "forged votes": (forge(APPLY, set_first(acc=1.0 - 1.0)), "and its texts give"),
    "forged similarity": (forge(UNDERSTAND, set_all("similarity", 0.999)), "and its texts give"),
    "another question": (forge(APPLY, set_doc(question="What is 1 + 1?")), "another content_sha256"),
    "other options": (forge(APPLY, set_doc(options=["a", "b", "c", "d"])), "another content_sha256"),
    "another key": (forge(APPLY, lambda c: [row["doc"].update(answer="A") for row in c]), "another content_sha256"),
    "another reference": (forge(REMEMBER, set_doc(text="so it goes")), "another content_sha256"),
    "another recording": (forge(REMEMBER, set_doc(audio={"sha256": "0" * 64})), "another content_sha256"),
    "texts of another form": (forge(APPLY, set_first(resps=[[3]])), "its texts cannot be scored"),
    "another answer": (forge(APPLY, set_first(resps=[["E"] * 5])), "and its texts give"),
    # Tasks.
    "another version of a task": (put(*META, "version", value=2), "version is 2"),
    "another content": (put(*META, "content_sha256", value="0" * 64), "content_sha256 is '000000000000'"),
    "texts without their digest": (
        edit(lambda content: content["tasks"][1]["metadata"].pop("content_sha256")),
        "its metadata have no content_sha256",
    ),
    "another data set": (put(*META, "dataset", value="easy"), "data set"),
    "another normalizer": (put(*META, "normalizer", value="basic"), "normalizer is 'basic'"),
    "another category": (put(*META, "category", value="apply"), "scores"),
    "another suite": (put(*META, "suite", value="mine"), AGAIN),
    "no description": (put(*META, value={}), AGAIN),
    "a measure of its own": (put(*META, "measure", "column", value="cer"), "scores"),
    "without audio": (put(*META, "listen", value="muted"), AGAIN),
    "under a condition": (put(*META, "condition", value="white@10dB"), "scores"),
    "an item that is no list": (put(*META, "item", value=3), "scores"),
    "a missing level": (remove_task, AGAIN),
    "no tasks": (put("tasks", value=[]), "tasks: there are none"),
    "a task twice": (edit(lambda c: c["tasks"].append(c["tasks"][0])), "two have the same name"),
    "a path for a task": (put("tasks", 1, "task", value="../../../evil"), "Expected `str` matching regex"),
    "a task that is not there": (put("tasks", 1, "task", value="other"), "missing"),
    "a part of the task": (put("tasks", 1, "docs", value=[14, 800]), "14 rows, and 14 of 800 docs"),
    "an unknown number of docs": (put("tasks", 1, "docs", value=None), "14 rows, and an unknown number of docs"),
    "texts that are not said": (put("tasks", 1, "rows", "texts", value=False), AGAIN),
    "another count": (put("tasks", 1, "rows", "count", value=1400), "1400 rows, and 14 of 14 docs were run"),
    # Files.
    "not gzip": (packed(lambda data: b"{}"), "cannot be read as gzip"),
    "cut gzip": (packed(lambda data: data[:-9]), "cannot be read as gzip"),
    "damaged gzip": (packed(lambda data: data[:100] + b"\0" * 20 + data[120:]), "rows/"),
    "other rows": (packed(lambda data: gzip.compress(b"{}\n")), "not"),
    "more rows behind": (packed(lambda data: data + gzip.compress(b"{}\n")), "has more than"),
    "a zip bomb": (packed(lambda data: gzip.compress(bytes(2**25))), "has more than"),
    "a zip bomb that says so": (put("tasks", 1, "rows", "bytes", value=2**26 + 1), "above 67108864"),
    "a huge file": (grow, "larger than 16777216 bytes"),
    "a missing file": (lambda results: file_of(results, APPLY).unlink(), "missing"),
    "a further file": (add("notes.txt"), "not a part of a result"),
    "a script": (add("rows/run.sh", b"#!/bin/sh"), "not a part of a result"),
    "a hidden file": (add(".env"), "not a part of a result"),
    "a further folder": (add("more/file"), "not a part of a result"),
    "a file beside": (add("/index.html"), "not a part of a result"),
    "a folder beside": (add("/other/notes/a.txt"), "cannot be read"),
    "a linked file": (link(f"rows/{APPLY}.jsonl.gz", ""), "such as a link"),
    "a file elsewhere": (link("result.json", "/etc/passwd"), "such as a link"),
    "a linked folder": (link("rows", ""), "such as a link"),
    "a linked system": (lambda results: results.joinpath("x").symlink_to(results / SPHINX), "not a part of a result"),
    "a pipe": (lambda results: os.mkfifo(place(results) / "pipe"), "neither a file nor a folder"),
    "another date in the name": (rename("2020-01-01T00-00-00Z"), "name it"),
    "another system in the name": (lambda results: (results / SPHINX).rename(results / "whisper-00000000"), "name it"),
    "in the future": (future, "in the future"),
    "a date that no calendar has": (put("date", value="2026-13-45T99:99:99Z"), "month must be in 1..12"),
    "the year 0": (put("date", value="0000-01-01T00:00:00Z"), "year 0 is out of range"),
    # Names and declarations.
    "another name": (put("system", value="best system"), "name it"),
    "a script in the name": (rename_system("<script>alert(1)</script>"), NO_NAME),
    "an escape in the name": (rename_system("\x1b[2J"), NO_NAME),
    "a reversed name": (rename_system("whisper\u202etxt"), NO_NAME),
    "a new line in the name": (rename_system("a\nb"), NO_NAME),
    "a long name": (rename_system("x" * 2000), "Expected `str` of length <= 1000"),
    "an image in the submitter": (put("declaration", "submitter", value="<img src=x onerror=alert(1)>"), NO_NAME),
    "a script in a reason": (put("declaration", "withdrawn", value={"apply": "<script>"}), NO_NAME),
    "withdrawn of no category": (put("declaration", "withdrawn", value={"sing": "flat"}), "not a category"),
    "a script for a page": (put("declaration", "url", value="javascript:alert(1)"), "Expected `str` matching regex"),
    "a quote in a page": (put("declaration", "url", value='https://x"onclick=1'), "Expected `str` matching regex"),
    "undeclared contamination": (put("declaration", "contamination", value=None), "contamination not declared"),
    "empty interests": (put("declaration", "interests", value="  "), "interests not declared"),
    "an openness of its own": (put("declaration", "openness", value="very"), "Invalid enum value 'very'"),
    "negative parameters": (put("declaration", "parameters", value=-1), "Expected `float` > 0"),
    # Rows of others.
    "copied rows": (copy_as("new", REMEMBER, nothing), "those of 'new-11507a0e'"),
    "copied rows with a change": (copy_as("new", APPLY, set_first(acc=0.0), texts=False), "those of 'new-11507a0e'"),
}


def list_leaves(content: Any, *keys: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the way to each value of a result that its rows decide."""
    if isinstance(content, dict | list) and content:
        for key in content if isinstance(content, dict) else range(len(content)):
            if keys or key not in FROM_ELSEWHERE:
                yield from list_leaves(content[key], *keys, key)
    else:
        yield keys, content


def test_every_field_is_that_of_the_rows(results):
    result = read_result(place(results))
    content = msgspec.to_builtins(result)
    for keys, value in list_leaves(content):
        changed = copy.deepcopy(content)
        part = changed
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = value + abs(value) + 1 if isinstance(value, int | float) else "other"
        with pytest.raises(SpeechIQError, match="and its rows give"):
            compare_fields(changed, result)


def test_the_good_submission_is_accepted(results):
    assert registry.check_results_folder(results).faults == []


@pytest.mark.parametrize(("spoil", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_wrong_submission_is_refused_in_one_line(results, spoil, message):
    spoil(results)
    (line, *others) = registry.check_results_folder(results).faults
    assert message in line and "\n" not in line and line.isprintable() and len(line) < 2000
    assert len(others) <= 1, "the norms may be refused, and then the results on them"


def test_nothing_is_written_or_left_behind(results):
    before = {path: path.read_bytes() for path in list_below(results)}
    registry.check_results_folder(results)
    assert {path: path.read_bytes() for path in list_below(results)} == before


def test_the_published_results_of_the_demo_are_sound():
    checked = registry.check_results_folder(REGISTRY / "results")
    assert checked.faults == [] and len(checked.results) == len(read_folder(REGISTRY / "results")) == 5
    assert [grid.title for grid in checked.grids] == ["Published results, norms: demo@1"]
