"""Draw systems on the scale of SIQ for the README: `python tools/scale_picture.py siq.json FOLDER`.

`siq score RUNS -o siq.json` writes the scores. Each system has its SIQ with the interval on the left, and its profile
on the right: a bar per level, above or below the average system. Writes scale-light.svg and scale-dark.svg.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from speechiq.core.errors import SpeechIQError, print_in_one_line

#: Colors that have the contrast of WCAG AA on the page of a repository, in both schemes.
SCHEMES = {
    "light": {"ink": "#1f2328", "muted": "#59636e", "line": "#d1d9e0", "above": "#0a7069", "below": "#b14a00"},
    "dark": {"ink": "#f0f6fc", "muted": "#9da7b3", "line": "#3d444d", "above": "#3fbfb2", "below": "#f0934f"},
}
CONTROLS = {"gold": "reference text", "silence": "no audio"}
#: Small enough for letters of 11 pixels on a phone that is 390 pixels wide.
WIDTH, HEAD, ROW, FOOT = 440, 34, 46, 66
SCALE_LEFT, SCALE_RIGHT, PROFILE, BAR = 126, 326, 356, 30
#: The part of the scale that the demo's systems fill.
LOW, HIGH = 70.0, 118.0
TICKS = (70, 85, 100, 115)
#: Height of one standard deviation in a profile, and how far its average lies below the top of the row.
STANDARD_DEVIATION, AVERAGE = 13, 18
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def shorten(system: str, control: str | None) -> str:
    """Return the name of a system without its language model.

    >>> shorten("demo:whisper-base+demo:SmolLM2-135M-Instruct", None)
    'whisper-base'
    >>> shorten("silence+demo:SmolLM2-135M-Instruct", "silence")
    'no audio'
    """
    recognizer = system.partition("+")[0].removeprefix("demo:").partition(":")[0]
    return CONTROLS.get(control or "", recognizer)


def place(siq: float) -> float:
    """Return where a SIQ lies on the scale, in pixels."""
    return SCALE_LEFT + (siq - LOW) / (HIGH - LOW) * (SCALE_RIGHT - SCALE_LEFT)


def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{style}">{escape(words)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], style: str) -> str:
    """Return a straight line."""
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" class="{style}"/>'


def draw_system(system: dict[str, Any], top: float) -> list[str]:
    """Return the row of a system: name, SIQ with its interval, and its profile."""
    low, high = system["siq_interval"]
    middle = top + ROW / 2
    style = "control" if system["control"] else "system"
    parts = [
        text(0, middle - 3, shorten(system["system"], system["control"])),
        text(0, middle + 15, f"SIQ {system['siq']:.1f}", "muted"),
        f'<rect x="{place(low):.1f}" y="{middle - 7:.1f}" width="{place(high) - place(low):.1f}" height="14" rx="4" '
        f'class="interval {style}"/>',
        f'<circle cx="{place(system["siq"]):.1f}" cy="{middle:.1f}" r="3" class="{style}"/>',
        line((PROFILE - 6, top + AVERAGE), (WIDTH, top + AVERAGE), "rule"),
    ]
    for column, category in enumerate(system["categories"].values()):
        height = category["z"] * STANDARD_DEVIATION
        upper = top + AVERAGE - max(height, 0)
        parts.append(
            f'<rect x="{PROFILE + column * BAR}" y="{upper:.1f}" width="{BAR - 8}" height="{abs(height):.1f}" '
            f'class="{"above" if height > 0 else "below"}"/>'
        )
    return parts


def draw(scores: dict[str, Any], colors: dict[str, str]) -> str:
    """Return the picture of the scores that `siq score -o siq.json` wrote, in the colors of a scheme."""
    systems = [system for system in scores["systems"] if system["siq"] is not None]
    levels = list(systems[0]["categories"])
    bottom = HEAD + ROW * len(systems)
    parts = [text(SCALE_LEFT, 16, "Speech IQ", "muted")]
    for column, level in enumerate(levels):
        parts.append(text(PROFILE + column * BAR + (BAR - 8) / 2, 16, level[0].upper(), "muted", "middle"))
    for tick in TICKS:
        parts.append(line((place(tick), HEAD - 8), (place(tick), bottom), "average" if tick == 100 else "rule"))
        parts.append(text(place(tick), bottom + 18, str(tick), "muted", "middle"))
    for row, system in enumerate(systems):
        parts += draw_system(system, HEAD + ROW * row)
    letters, names = ", ".join(level[0].upper() for level in levels), ", ".join(map(str.title, levels))
    parts += [
        text(0, bottom + 41, "Dot: SIQ in its 95 % interval; 100 is the average.", "muted"),
        text(0, bottom + 60, f"{letters}: {names}, against the average.", "muted"),
    ]
    style = (
        f"text{{font:15px {FONT};fill:{colors['ink']}}}.muted{{font-size:14px;fill:{colors['muted']}}}"
        f".rule{{stroke:{colors['line']}}}.average{{stroke:{colors['muted']};stroke-dasharray:3 3}}"
        f".system{{fill:{colors['ink']}}}.control{{fill:{colors['muted']}}}.interval{{fill-opacity:.35}}"
        f".above{{fill:{colors['above']}}}.below{{fill:{colors['below']}}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + FOOT}" role="img">'
        f"<title>Systems on the scale of SIQ, and their profiles</title><style>{style}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    """Read the arguments and draw the pictures."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path, help="what `siq score -o siq.json` wrote")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    options = parser.parse_args()
    scores = json.loads(options.scores.read_text(encoding="utf-8"))
    if not any(system["siq"] is not None for system in scores["systems"]):
        raise SpeechIQError(options.scores, "no system has an SIQ", "score three systems, or use --norms")
    for scheme, colors in SCHEMES.items():
        options.folder.joinpath(f"scale-{scheme}.svg").write_text(draw(scores, colors), encoding="utf-8")


if __name__ == "__main__":
    main()
