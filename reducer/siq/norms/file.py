"""Write and read norms as files: written once, read strictly. The schema is in docs/concepts/norms.md."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec

from speechiq.core.checksummed import content_sha256, read_checksummed
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import exists, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.norms.norms import SCHEMA, VERSION, Norms
from speechiq.reducer.siq.scale import ROUNDING, share_out

SHIPPED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}
ADVICE_FILE = "name a file in a folder that exists and is yours"
#: Of the numbers in norms: squares of scores are the largest, and what eq. 5 divides by is not below the smallest.
LARGEST, SMALLEST = max(abs(end) for of in LEVELS.values() for end in of.measure.bounds) ** 2, 1e-30
ADVICE_NORMS = "make norms with `siq norms build`"


def write(norms: Norms, path: Path) -> None:
    """Writes norms to a file, whole or not at all."""
    text = json.dumps(norms.frozen, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode(), ADVICE_FILE)


def read(place: str | Path) -> Norms:
    """Read norms.

    Args:
        place: A file, or the name of norms that come with the package (`SHIPPED`).

    Raises:
        SpeechIQError: There is no such file, or it is not what `write` wrote.
    """
    path = SHIPPED.get(str(place), Path(place))
    if not exists(path):
        raise SpeechIQError(
            f"no norms {str(place)!r}: {did_you_mean(str(place), SHIPPED)}give a file of "
            f"`siq norms build`, or the name of norms that come with speechiq ({', '.join(SHIPPED)})"
        )
    content = read_checksummed(path, SCHEMA, VERSION, ADVICE_NORMS)
    try:
        norms = msgspec.convert({key: content[key] for key in content if key not in ("schema", "version")}, Norms)
    except ValueError as error:  # msgspec.ValidationError, or half of a surrogate pair
        raise SpeechIQError(f"{str(path)!r} does not hold norms ({error}); {ADVICE_NORMS}") from error
    if fault := _find_fault(norms, content_sha256(content)):
        raise SpeechIQError(f"{str(path)!r} does not hold norms ({fault}); {ADVICE_NORMS}")
    return norms


def _find_fault(norms: Norms, told: str) -> str | None:
    if not all(map(str.isprintable, (norms.name, norms.rule, norms.excluded or "", *norms.systems))):
        return "it has a name that does not print"
    if list(norms.levels) != list(LEVELS):
        return f"its levels are {', '.join(norms.levels) or 'none'}, not {', '.join(LEVELS)}"
    for level, of in norms.levels.items():
        if of.metric not in LEVELS[level].measure.columns:
            return (
                f"{level} was read from {of.metric!r}, this speechiq reads {', '.join(LEVELS[level].measure.columns)}"
            )
        if not all(abs(number) <= LARGEST for number in (of.mean, of.std, of.spread, of.weight, *of.clips.values())):
            return f"{level} has a number that is not finite or above {LARGEST:g}"
        of_clips = of.clips.values()
        if not (min(of.std, of.spread) > SMALLEST and of.weight >= 0 and any(of_clips) and min(of_clips) >= 0):
            return f"{level} has a std or weights that no pool gives"
        if bool(of.questions) != (len(LEVELS[level].item) > 1) or of.questions.keys() - of.clips.keys():
            return f"the questions of {level} do not fit its clips"
    try:
        weights = share_out({level: of.spread for level, of in norms.levels.items()}, norms.rule)
    except SpeechIQError as error:
        return str(error)
    if not all(math.isclose(of.weight, weights[level], abs_tol=ROUNDING) for level, of in norms.levels.items()):
        return "the level weights are not what its rule makes of the spreads"
    if content_sha256({key: norms.frozen[key] for key in norms.frozen if key != "sha256"}) != told:
        return "its numbers are not written as speechiq writes them"
    return None
