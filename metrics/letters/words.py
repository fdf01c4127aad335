"""Hold the words and phrases by which an answer to a multiple-choice question claims an option or excludes it.

Words are lists in `words.yaml`, phrases are regular expressions in `phrases.yaml`; the files say what each is for.
Chinese, Japanese and Thai are written without spaces: their words are searched in a clause.
"""

import unicodedata
from pathlib import Path

import yaml

from speechiq.metrics.patterns import read_patterns

_LISTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", _LISTS[name]).split())


CUES = _words("cues")
NAMES = _words("names")
OPENERS = _words("openers")
LINKS = _words("links")
PRAISE = _words("praise")
DENIALS = _words("denials")
STEMS = tuple(_words("stems"))
OPEN = _words("open")
MODALS = _words("modals")
VERBS = _words("verbs")
STATES = _words("states")
HEDGES = _words("hedges")
CONDITIONS = _words("conditions")
CONTRASTS = _words("contrasts")
CONCLUDES = _words("concludes")
LEFT = _words("left")
AFFIRMS = _words("affirms")
FRONTS = _words("fronts")
REASONS = _words("reasons")
OWN_VOICE = _words("own_voice")
LIMITS = _words("limits")
TOPICS = _words("topics")
EQUALS = _words("equals")
SOURCE = _words("source")
VERDICTS = _words("verdicts")
PLAIN = _words("plain")
KNOWN = LINKS | CUES | PRAISE | CONCLUDES | LEFT | CONTRASTS | NAMES | OPENERS | SOURCE | AFFIRMS
#: The first words of the reason behind "as".
DETERMINERS = [[word] for word in ("it", "this", "that", "he", "she", "there", "they")]

_PHRASES = read_patterns(Path(__file__).with_name("phrases.yaml"))
EXAMPLES = _PHRASES["examples"]
DECLINES = _PHRASES["declines"]
PRAISES = _PHRASES["praises"]
SUPPOSES = _PHRASES["supposes"]
CONTRASTING = _PHRASES["contrasting"]
AFFIRMING = _PHRASES["affirming"]
DENYING = _PHRASES["denying"]
DENIAL = _PHRASES["denial"].pattern
RETRACTED = _PHRASES["retracted"]
HARMLESS = _PHRASES["harmless"]
BEFORE_IN_CHINESE = _PHRASES["before_in_chinese"]
AFTER_IN_CHINESE = _PHRASES["after_in_chinese"]
AFTER_A_LETTER = _PHRASES["after_a_letter"].pattern
