"""Take the picture of a chart of `siq study robustness` for the documentation: `python tools/curves.py PAGE PICTURE`.

    siq study robustness runs -o robustness.html
    python tools/curves.py robustness.html docs/images/robustness.png

The picture shows the first chart of the page, which is that of SIQ if there is a scale, in light colors and 900 pixels
wide. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from playwright.sync_api import Browser

from speechiq.core.errors import SpeechIQError
from speechiq.tools.screenshots import chromium, wait_until_drawn

SIZE = {"width": 900, "height": 700}


def take(browser: Browser, page: Path, picture: Path) -> None:
    """Write the picture of the first chart of a page."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    chart = tab.locator(".chart").first
    chart.locator("svg.main-svg").first.wait_for()
    wait_until_drawn(tab)
    chart.screenshot(path=picture)
    context.close()


def main() -> None:
    """Read the arguments and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, help="page of siq study robustness")
    parser.add_argument("picture", type=Path, help="file for the picture")
    given = parser.parse_args()
    if not given.page.is_file():
        raise SpeechIQError(f"{given.page}: no such page; write it with siq study robustness RUNS -o {given.page}")
    with chromium() as browser:
        take(browser, given.page, given.picture)


if __name__ == "__main__":
    try:
        main()
    except SpeechIQError as error:
        sys.exit(f"curves: {error}")
