"""Visit a page in a browser without a network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

#: Without it, axe asks for the style sheets again, which a browser refuses to a page that is a file.
AXE = {"preload": False, "resultTypes": ["violations"]}
#: The contrast of each text takes most of the time.
WITHOUT_COLORS = AXE | {"rules": {"color-contrast": {"enabled": False}}}
FOLLOW = """(fragment) => new Promise((done) => {
  addEventListener("hashchange", done, { once: true });
  location.hash = "#none";
  location.hash = fragment;
})"""


def list_violations(tab: Any, *, colors: bool = True) -> list[str]:
    """List the rules of accessibility that axe finds broken on the page of a tab, each with an element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab, options=AXE if colors else WITHOUT_COLORS).response["violations"]
    return [f"{fault['id']}: {fault['nodes'][0]['target']}" for fault in found]


class Visit:
    """A page in a tab of its own; requests that leave it are stopped and listed in `requests`."""

    def __init__(self, chromium, file: Path, fragment: str = "", **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.file, self.requests, self.errors = file, [], []
        self.expected: tuple[str, ...] = ()
        self.has_scripts = options.get("java_script_enabled", True)
        self.context.route("**/*", self._judge)
        self.tab = self.context.new_page()
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.open(fragment)

    def close(self) -> None:
        """Close the tab, which has had no fault."""
        assert self.list_faults() == []
        self.context.close()

    def open(self, fragment: str = "") -> None:
        self.tab.goto("about:blank")
        self.tab.goto(self.file.as_uri() + fragment)
        if self.has_scripts:
            self.tab.locator("html[data-ready]").wait_for(state="attached")

    def follow(self, fragment: str) -> None:
        """Go to an address of the open page, as a link does, even if it is there."""
        self.tab.evaluate(FOLLOW, fragment)

    def list_faults(self) -> list[str]:
        """Return the requests, the errors that have none of the `expected` words, and what foreign code set."""
        errors = [error for error in self.errors if not any(words in error for words in self.expected)]
        set_by_texts = self.tab.evaluate("window.hacked") if self.has_scripts else None
        return self.requests + errors + ([f"hacked: {set_by_texts}"] if set_by_texts is not None else [])

    def find_barriers(self) -> list[str]:
        """List the faults of axe, and `too wide` if the content is wider than the window."""
        is_wide = self.tab.evaluate("document.documentElement.scrollWidth > innerWidth")
        return list_violations(self.tab) + ["too wide"] * is_wide

    def download(self, button: Any) -> str:
        """Return the text of the file that a button saves."""
        with self.tab.expect_download() as started:
            button.click()
        return Path(started.value.path()).read_bytes().decode("utf-8", errors="surrogateescape")

    def see_all(self) -> None:
        """Scroll over the page until every chart is drawn."""
        for place in self.tab.locator(".chart").all():
            place.scroll_into_view_if_needed()
            place.locator("svg.main-svg").first.wait_for()
        self.tab.locator("#clips").scroll_into_view_if_needed()
        self.tab.locator("#clip-table tbody tr").first.wait_for()

    def _judge(self, route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:", "about:")):
            route.continue_()
        else:
            self.requests.append(route.request.url)
            route.abort()
