"""Writing a page with parts of its data: together or not at all, and never over files of others."""

from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.page import Page, check_page, name_folder, write_page
from tests.conftest import full_disk


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
