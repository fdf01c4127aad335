"""Take pictures for the documentation: `python tools/screenshots.py RUNS FOLDER`, or `... PAGE.html PICTURE.png`.

Of runs: report.png (top of the report), compare.png (two systems), clip.png (one clip) and system.png (one system), in
light colors, 1440 pixels wide, and the same as report-phone.png, ... 360 pixels wide. Of a page of `siq study
robustness`: its first chart, which is that of SIQ if there is a scale. Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Error, Page, sync_playwright

from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page.study import Study, gather_report

SIZES = {"": {"width": 1440, "height": 900}, "-phone": {"width": 360, "height": 740}}
CHART_SIZE = {"width": 900, "height": 700}
#: Picture -> what is in it once the page has drawn it.
READY = {
    "report": "#bell .point",
    "compare": "#compare-clips .compared",
    "clip": ".detail .transcript",
    "system": ".system.chosen",
}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def addresses(study: Study) -> dict[str, str]:
    """Return picture -> address on the page: the best systems that are not controls, and the clip they do worst on."""
    best = sorted(study.listening, key=lambda row: study.scoreboard.places[row])[:2]
    systems = [quote(study.names[row], safe="") for row in best]
    level, raw = next(iter(study.scoreboard.pool.raw.items()))
    clip = study.scoreboard.pool.clips[level][int(raw[best[0]].argmin())]
    pages = {"report": "", "system": f"#system/{systems[0]}", "clip": f"#clip/{quote(clip, safe='')}"}
    return pages | ({"compare": f"#compare/{'/'.join(systems)}"} if len(best) > 1 else {})


@contextmanager
def open_page(browser: Browser, address: str, size: dict[str, int]) -> Iterator[Page]:
    """Yield a tab of the given size, in light colors, that shows an address."""
    context = browser.new_context(viewport=size, color_scheme="light", reduced_motion="reduce")
    tab = context.new_page()
    tab.goto(address)
    yield tab
    context.close()


def take(browser: Browser, page: Path, pictures: dict[str, str], folder: Path) -> Iterator[Path]:
    """Yield the files of the pictures (picture -> address) of a report, which are written to a folder."""
    for suffix, size in SIZES.items():
        with open_page(browser, page.as_uri(), size) as tab:
            for picture, address in pictures.items():
                tab.goto(page.as_uri() + address)
                tab.locator(READY[picture]).first.wait_for(state="attached")
                wait_until_drawn(tab)
                file = folder / f"{picture}{suffix}.png"
                tab.screenshot(path=file)
                yield file


def take_chart(browser: Browser, page: Path, picture: Path) -> None:
    """Write the picture of the first chart of a page."""
    with open_page(browser, page.resolve().as_uri(), CHART_SIZE) as tab:
        chart = tab.locator(".chart").first
        chart.locator("svg.main-svg").first.wait_for()
        wait_until_drawn(tab)
        chart.screenshot(path=picture)


def wait_until_drawn(tab: Page) -> None:
    """Wait until all charts are drawn, which moves what is below them, and the page has settled."""
    tab.locator("html[data-drawn]").wait_for(state="attached")
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a Chromium: that of the system, else the one that playwright installed."""
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        try:
            browser = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        except Error as error:
            raise SpeechIQError("no Chromium was found", "run `playwright install chromium`") from error
        yield browser
        browser.close()


def main() -> None:
    """Read the arguments and take the pictures."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder of runs, or page of siq study robustness")
    parser.add_argument("output", type=Path, help="folder for the pictures, made if needed; of a page, the picture")
    options = parser.parse_args()
    if not options.source.exists():
        raise SpeechIQError(options.source, "no such folder or page", "name runs, or write a page with -o PAGE.html")
    if options.source.is_file():
        with chromium() as browser:
            return take_chart(browser, options.source, options.output)
    options.output.mkdir(parents=True, exist_ok=True)
    study = gather_report([options.source])
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder, "report.html")
        report.write_report(report.render_report(study, "siq score runs -o report.html"), page)
        for file in take(browser, page, addresses(study), options.output):
            print(file)


if __name__ == "__main__":
    main()
