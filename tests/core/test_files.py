"""Test that only plain files are read, and files and pages are written whole, never over those of others."""

import os
import re
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import plain as files
from speechiq.core.files.page import Page, check_page, name_folder, write_page
from speechiq.core.files.plain import (
    LARGEST,
    append_plain,
    expand,
    is_file,
    is_folder,
    open_plain,
    read_plain,
    stream_lines,
    write_whole,
)
from speechiq.core.files.tables import read_rows, stream_rows
from tests.conftest import full_disk


def test_only_a_plain_file_is_read_and_no_more_than_allowed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(OSError, match="it is not a plain file"):
            open_plain(path)
    with pytest.raises(OSError, match="Is a directory"):
        open_plain(tmp_path)
    for name in ("a\0b", "a\ud800b"):
        with pytest.raises(OSError, match="no file can have this name"):
            open_plain(name)
    tmp_path.joinpath("file").write_bytes(b"12345")
    assert read_plain(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        read_plain(tmp_path / "file", 4)
    with pytest.raises(OSError, match="it is larger than 4 bytes"):
        next(stream_lines(tmp_path / "file", largest=4))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_table_that_is_kept_in_memory_is_not_too_large(tmp_path, name):
    file = tmp_path / name
    file.write_text("id\na\n" if name.endswith("csv") else '{"id": "a"}\n')
    assert [line.row for line in stream_rows(file)] == [{"id": "a"}]
    os.truncate(file, LARGEST + 1)
    with pytest.raises(SpeechIQError, match=f"cannot be read.*it is larger than {LARGEST} bytes"):
        read_rows(file)


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x", "x" * 300, "/x" * 3000, "a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_neither_file_nor_folder(name):
    assert str(expand(name)) == name and not is_file(name) and not is_folder(name)


def test_a_draft_is_a_new_file_with_a_random_name(tmp_path, monkeypatch):
    seen = []
    replace = files.Path.replace
    monkeypatch.setattr(files.Path, "replace", lambda draft, target: (seen.append(draft.name), replace(draft, target)))
    for _ in range(2):
        write_whole(tmp_path / "x", b"1", "")
    assert len(set(seen)) == 2 and all(files.DRAFT.fullmatch(name) for name in seen)
    tmp_path.joinpath("victim").write_text("mine")
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "0" * 2 * size)
    tmp_path.joinpath(f".{'0' * 16}.draft").symlink_to(tmp_path / "victim")
    with pytest.raises(SpeechIQError, match="File exists"):
        write_whole(tmp_path / "target", b"theirs", "name another")
    assert tmp_path.joinpath("victim").read_text() == "mine" and not tmp_path.joinpath("target").exists()


def test_a_target_that_is_a_link_is_followed_and_a_file_of_lines_is_none(tmp_path):
    tmp_path.joinpath("link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"1", "")
    assert tmp_path.joinpath("real").read_bytes() == b"1" and tmp_path.joinpath("link").is_symlink()
    for name, new in (("link", False), ("link", True), ("real", True), ("missing", False)):
        with pytest.raises(OSError, match=re.escape(str(tmp_path / name))):
            append_plain(tmp_path / name, new=new)
    with append_plain(tmp_path / "real", new=False) as file:
        assert file.tell() == 1
    with append_plain(tmp_path / "other", new=True) as file:
        assert file.tell() == 0


def test_a_disk_that_is_full_leaves_neither_half_a_file_nor_a_draft(tmp_path):
    tmp_path.joinpath("old").write_bytes(b"old")
    with (
        full_disk(),
        pytest.raises(SpeechIQError, match=r"cannot write .*: File too large; free disk space, or write elsewhere"),
    ):
        write_whole(tmp_path / "old", b"x" * 2000, "write elsewhere")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("old", b"old")]


def make_page(digest: str, text: str = "x") -> Page:
    return Page('<html data-parts="parts/">', {f"{digest * 12}-texts-0.js": text, f"{digest * 12}-clips.js": text})


def list_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_new_page_replaces_the_parts_of_the_one_before(tmp_path):
    file = tmp_path / "a b.html"
    assert "a b_files" in write_page(make_page("1"), file)
    assert file.read_text() == '<html data-parts="a%20b_files/">'
    name_folder(file).joinpath(f".{'0' * 16}.draft").write_text("of a writer that was killed")
    write_page(make_page("2"), file)
    parts = [f"a b_files/{'2' * 12}-{name}.js" for name in ("clips", "texts-0")]
    assert list_files(tmp_path) == ["a b.html", "a b_files", *parts]
    assert write_page(Page("all inside"), file) == str(file)
    assert list_files(tmp_path) == ["a b.html"]


@pytest.mark.parametrize("name", ["notes.txt", "111111111111-texts-0.js.html", "..-texts-0.js"])
def test_files_of_others_are_never_mixed_with_parts(tmp_path, name):
    other = tmp_path / "report_files" / name
    other.parent.mkdir()
    other.write_text("mine")
    for write in (check_page, lambda path: write_page(make_page("1"), path)):
        with pytest.raises(SpeechIQError, match="holds something else"):
            write(tmp_path / "report.html")
    assert other.read_text() == "mine" and not tmp_path.joinpath("report.html").exists()


def test_a_file_with_the_name_of_the_folder_is_refused(tmp_path):
    tmp_path.joinpath("report_files").write_text("mine")
    with pytest.raises(SpeechIQError, match="name another page"):
        check_page(tmp_path / "report.html")


def test_the_folder_is_beside_the_file_that_a_link_leads_to(tmp_path):
    tmp_path.joinpath("there").mkdir()
    tmp_path.joinpath("report.html").symlink_to(tmp_path / "there" / "page.html")
    write_page(make_page("1"), tmp_path / "report.html")
    assert len(list_files(tmp_path / "there" / "page_files")) == 2
    tmp_path.joinpath("there", "page_files", "mine.txt").touch()
    with pytest.raises(SpeechIQError, match="mine"):
        check_page(tmp_path / "report.html")


def test_a_disk_that_is_full_leaves_the_page_as_it_was(tmp_path):
    file = tmp_path / "report.html"
    large = Page('<html data-parts="parts/">', make_page("2").parts | {f"{'2' * 12}-texts-1.js": "x" * 2000})
    for _ in range(2):
        before = list_files(tmp_path)
        with full_disk(), pytest.raises(SpeechIQError, match="cannot write"):
            write_page(large, file)
        assert list_files(tmp_path) == before
        write_page(make_page("1"), file)


def test_ctrl_c_leaves_the_page_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    write_page(make_page("1"), file)
    before = list_files(tmp_path)
    replace = Path.replace

    def stop_at_the_second(draft: Path, target: Path) -> Path:
        if target.name.endswith("clips.js"):
            raise KeyboardInterrupt
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        write_page(make_page("2"), file)
    assert list_files(tmp_path) == before
