"""Test which clips are part of the page, and which are linked."""

from __future__ import annotations

import pytest

from speechiq.reducer.output.page.clips import find_source


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    for name in ("clips/one two.flac", "secret.txt"):
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(name).write_bytes(b"audio")
    return tmp_path


def test_clips_of_the_package_travel_with_the_page():
    assert find_source({"path": "demo/clips/kennedy.ogg"}).startswith("data:audio/ogg;base64,T2dnUw")


def test_other_clips_are_linked_where_they_lie(cache):
    file = cache / "clips" / "one two.flac"
    assert find_source({"path": "clips/one two.flac"}) == file.as_uri()
    assert find_source({"path": str(file), "duration": 2.5}) == file.as_uri()
    assert find_source({"path": str(file), "offset": 1.5, "duration": 2.5}) == f"{file.as_uri()}#t=1.5,4"


@pytest.mark.parametrize(
    "path",
    ["clips/none.flac", "https://example.org/a.ogg", "//example.org/a.ogg", "{cache}/secret.txt", "a\0.ogg", 7, None],
)
def test_nothing_else_is_ever_linked(cache, path):
    assert find_source({"path": path.format(cache=cache) if isinstance(path, str) else path}) == ""
