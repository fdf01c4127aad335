import json

from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.cache import row_files
from speechiq.core.cache.row_files import RowIndex, is_intact, seal

rows = st.dictionaries(st.text("0123456789abcdef", min_size=1), st.lists(st.text() | st.floats(allow_nan=False)))


@given(st.lists(rows, min_size=1, max_size=3), st.sets(st.text("0123456789abcdef", min_size=1)))
def test_the_requested_rows_are_read_and_no_others(tmp_path_factory, files, others):
    folder, known = tmp_path_factory.mktemp("rows"), {}
    for number, rows in enumerate(files):
        folder.joinpath(f"{number}.jsonl").write_bytes(b"".join(map(seal, rows, rows.values())))
        known |= rows
    index = RowIndex()
    index.refresh(sorted(folder.iterdir()))
    wanted = {*list(known)[::2], *others}
    assert index.read(wanted) == {key: row for key, row in known.items() if key in wanted}
    assert not index.skipped and len(index) == len(known)


def test_keys_of_one_hash_are_distinguished(tmp_path, monkeypatch):
    tmp_path.joinpath("1.jsonl").write_bytes(seal("a", 1) + seal("b", 2))
    monkeypatch.setattr(row_files, "hash", lambda key: 0, raising=False)
    index = RowIndex()
    index.refresh(tmp_path.iterdir())
    assert index.read(["b"]) == {"b": 2} and index.read(["c"]) == {}


def test_a_line_that_lost_or_changed_anything_is_not_intact():
    line = seal("a", ["\n", "\u2028", float("nan")])
    assert is_intact(line) and line.count(b"\n") == 1 and json.loads(line[row_files.TEXT :])[0] == "a"
    assert not any(is_intact(line[:cut]) for cut in range(len(line)))
    assert not any(is_intact(line[:i] + b"~" + line[i + 1 :]) for i in range(len(line)))
