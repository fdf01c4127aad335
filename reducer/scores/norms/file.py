"""Write norms to files, and read them with all checks. The schema is in docs/concepts/norms.md."""

import json
import math
from pathlib import Path

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256, read_checksummed
from speechiq.core.files.plain import exists, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms.norms import FEWEST_FROZEN, SCHEMA, VERSION, Norms
from speechiq.reducer.scores.scale import ROUNDING, share_out

SHIPPED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}
ADVICE_FILE = "name a file in a folder that exists and is yours"
#: Limits of the numbers in norms: squares of scores are the largest; eq. 5 divides by nothing below the smallest.
LARGEST, SMALLEST = max(abs(end) for of in LEVELS.values() for end in of.measure.bounds) ** 2, 1e-30
ADVICE_NORMS = "make norms with `siq score --save-norms`"


def write(norms: Norms, path: Path) -> None:
    """Write norms to a file, completely or not at all."""
    text = json.dumps(norms.content, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode(), ADVICE_FILE)


def read(place: str | Path) -> Norms:
    """Read norms from a file, or those that come with the package by their name (`SHIPPED`)."""
    path = _find_shipped(str(place)) or Path(place)
    if not exists(path):
        raise SpeechIQError(
            f"no norms {str(place)!r}",
            f"{did_you_mean(str(place), SHIPPED)}give a file of "
            f"`siq score --save-norms`, or the name of norms that come with speechiq ({', '.join(SHIPPED)})",
        )
    content = read_checksummed(path, SCHEMA, VERSION, ADVICE_NORMS)
    try:
        norms = msgspec.convert({key: content[key] for key in content if key not in ("schema", "version")}, Norms)
    except msgspec.ValidationError as error:
        raise SpeechIQError(f"{str(path)!r} has no valid norms ({error})", fix=ADVICE_NORMS) from error
    if fault := _find_fault(norms, content_sha256(content)):
        raise SpeechIQError(f"{str(path)!r} has no valid norms ({fault})", fix=ADVICE_NORMS)
    return norms


def _find_shipped(label: str) -> Path | None:
    """Return the file of norms of the package; without an edition, the newest."""
    editions = [shipped for shipped in SHIPPED if label in (shipped, shipped.rpartition("@")[0])]
    return SHIPPED[max(editions, key=lambda shipped: int(shipped.rpartition("@")[2]))] if editions else None


def _find_fault(norms: Norms, recorded: str) -> str | None:
    texts = (norms.name, norms.date or "", norms.rule, norms.excluded or "", *norms.systems)
    if not all(map(str.isprintable, texts)):
        return "it has a name that does not print"
    if norms.edition is not None and len(norms.population) < FEWEST_FROZEN and not norms.example:
        return f"frozen norms of fewer than {FEWEST_FROZEN} systems that are not an example"
    if list(norms.levels) != list(LEVELS):
        return f"its levels are {', '.join(norms.levels) or 'none'}, not {', '.join(LEVELS)}"
    for level, level_norms in norms.levels.items():
        columns, weights = LEVELS[level].measure.columns, level_norms.clips.values()
        if level_norms.metric not in columns:
            return f"{level} is scored by {level_norms.metric!r}, not by one of {', '.join(columns)}"
        deviations = level_norms.std, level_norms.spread
        numbers = (level_norms.mean, *deviations, level_norms.weight, *weights)
        if not all(abs(number) <= LARGEST for number in numbers):
            return f"{level} has a number that is not finite or above {LARGEST:g}"
        if not (min(deviations) > SMALLEST and level_norms.weight >= 0 and any(weights) and min(weights) >= 0):
            return f"{level} has a std or weights that are not possible"
        questions = level_norms.questions
        if bool(questions) != (len(LEVELS[level].item) > 1) or questions.keys() - level_norms.clips.keys():
            return f"the questions of {level} do not fit its clips"
    try:
        expected = share_out({level: level_norms.spread for level, level_norms in norms.levels.items()}, norms.rule)
    except SpeechIQError as error:
        return str(error)
    given = {level: level_norms.weight for level, level_norms in norms.levels.items()}
    if not all(math.isclose(given[level], expected[level], abs_tol=ROUNDING) for level in given):
        return "the level weights do not follow from its rule and spreads"
    if content_sha256({key: norms.content[key] for key in norms.content if key != "sha256"}) != recorded:
        return "its numbers are not in the form that speechiq writes"
    return None
