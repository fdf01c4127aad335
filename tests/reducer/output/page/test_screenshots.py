"""Pictures of the report for the documentation (`tools/screenshots.py`)."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from speechiq.reducer.output.page.study import gather_report
from speechiq.tools.screenshots import SIZES, addresses, take


def test_every_view_is_taken_in_both_widths(chromium, study: Path, page_file: Path, tmp_path: Path):
    pictures = addresses(gather_report([study], bootstrap=0))
    assert [*pictures] == ["report", "system", "clip", "compare"]
    files = [*take(chromium, page_file, pictures, tmp_path)]
    assert [file.name for file in files] == [f"{name}{size}.png" for size in SIZES for name in pictures]
    for file in files:
        with Image.open(file) as picture:
            assert picture.width == (360 if "phone" in file.name else SIZES[""]["width"])
            assert len(picture.getcolors(maxcolors=2**24)) > 20, "a page, not a blank one"
