"""Hold the words and phrases by which an answer to a multiple-choice question claims an option or excludes it.

Words are lists in `words.yaml`, which says what each is for. Chinese, Japanese and Thai are written without spaces:
their words are searched in a clause.
"""

import re
import unicodedata
from pathlib import Path

import yaml

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

#: Examples, which no text of an option among them claims.
EXAMPLES = re.compile(
    r"\bfrom [\ue000-\ue1ff] to\b|\b(?:such as|like|including|for example|e\.g\.|say),? [\ue000-\ue1ff]"
)
#: What a system says that has no answer.
DECLINES = re.compile(
    r"\b(?:don't|do not|can't|cannot|can not|couldn't|could not|unable to) (?:know|tell|say|hear|determine|answer)\b",
    re.IGNORECASE,
)
#: Phrases about an option that claim it.
PRAISES = re.compile(
    r"\b(?:the|my)(?: (?!wrong|second|other)\w+){0,2} (?:answer|choice|pick|vote)\b|"
    r"\bthe (?:only )?(?:one|option)\b(?: (?!which was|that was)|$)|"
    r"\bthe only (?:one|option|answer|choice|reason|thing)\b|"
    r"\bis what (?:the |was )?\w+(?: says?| said| states?| is about)?$|"
    r"\bmust be (?:it|the)\b|\bmakes? (?:the )?(?:more |most |)sense$|"
    r"\bthe (?:\w+ )?(?:reason|cause)$|\bmo(?:re|st) plausible\b"
)

#: An assumption; what follows from it in the sentence is no claim.
SUPPOSES = re.compile(
    r"^(?:(?:assum(?:e|ing)|imagine|pretend|had|provided|in case|should (?:the|a|this|it|he|she|there)|"
    r"say (?:the|that|there)|otherwise .* would|"
    r"let(?:'s| us| me) (?:assume|suppose|pretend|say [\ue000-\ue1ff] \w))\b|如果|假如|もし)|\bwould [^,]* had\b",
    re.IGNORECASE,
)
CONTRASTING = re.compile(r"in (?:practice|fact|reality|truth)\b|really\b|now\b", re.IGNORECASE)

#: A remark that claims the option named before it.
AFFIRMING = re.compile(
    r"(?:which|that|this|it)(?: is|'s) (?:the )?(?:correct|right|true|best)(?: answer| option| one| choice)?\W*",
    re.IGNORECASE,
)

#: The first words of the reason behind "as".
DETERMINERS = [[word] for word in ("it", "this", "that", "he", "she", "there", "they")]

#: Phrases that deny, as the words of `DENIALS` do.
DENYING = re.compile(
    r"\b(?:is|are|was) out\b(?! of)|\b(?:hard|difficult) to believe\b|\brul(?:e|es|ed|"
    r"ing)\b(?: \S{1,20}){0,2} out\b|\brul(?:e|es|ed|ing) out\b|\brather than\b|\binstead of\b|\bother than\b|"
    r"\bfar from\b|"
    r"\b(?:partially|partly|half|almost|nearly|in part) (?:correct|right|true|accurate|supported)\b|"
    r"\baway from\b|\bagainst\b|\btake back\b|\b(?:ignore|forget|disregard)\b|"
    r"\b(?:anything|anyone|everything|all) but\b|\bau lieu d|\ben lugar de\b|\bstatt\b|\bplutôt que\b|"
    r"\bscheidet\b|\bin plaats van\b",
    re.IGNORECASE,
)
#: Denials in front of the name of a label.
DENIAL = (
    r"(?:\b(?:not(?! only| just| merely)|never|no(?! doubt| question)|none|neither|nor|nothing(?! but)|nobody|hardly|"
    r"than|without(?! (?:a |any )?doubt)|instead of|as opposed to|unlike|far from|anything but|lack(?:s|ing)?|"
    r"absence of|devoid of|free (?:of|from)|exclud\w+|rul\w+ out)|n't)(?!\w)"
)
RETRACTED = re.compile(
    r"(?:^|\b)(?:no,? (?:wait|sorry)|or rather|wait|hold on|hang on|"
    r"apologies|my apologies|i (?:mixed|messed) (?:it |that |this )?up|whoops|"
    r"never ?mind|retract|"
    r"scratch that|correction|sorry|on (?:second|further) thoughts?|"
    r"let me (?:re\w+|(?:check|listen|think|look|read|try)(?: \w+){0,3} again|correct)|"
    r"i (?:was wrong|mis\w+|swapped|confused|made a mistake|take that back|meant)|my mistake|oops|"
    r"strike (?:that|my \w+ \w+)|i mean|"
    r"(?:revised?|updated?|corrected|amended|edit|new)(?: final)?(?: answer)?(?=\s*:)|i stand corrected|"
    r"(?:i )?changed? (?:my mind|(?:it |my answer |that )?to)|i (?:now )?switch(?:ed)?|take back|"
    r"ignore my|after checking|"
    r"espera|perdón|corrección|moment|halt|warte|korrektur|attends|attendez|pardon|espere|desculpe|aspetta|scusa|wacht|"
    r"подожди|нет,|等等|(?<![\ue000-\ue1ff])不对|待って|いや)\b",
    re.IGNORECASE,
)
#: Phrases that contain a denial and deny nothing.
HARMLESS = re.compile(
    r"\b(?:(?:if|unless) (?:i'm|i've|i|we|you)\b"
    r"(?!(?: [\w']+){0,8}? (?:only|were|had(?! to)|ask(?! me)|ignore|forget|skip|stop|trust|about|would)\b)"
    r"(?: (?!would|'d)[\w']+){0,8}|"
    r"if (?:forced|pressed|asked)(?: to \w+)?|i (?:would )?(?:suppose|assume)(?: that)?|"
    r"(?:but|(?:al)?though) i (?:could|might|may) be (?:wrong|mistaken)|"
    r"have to|between the two|almost (?:certainly|surely|certain)|"
    r"(?:by |through )?(?:the )?(?:process of )?elimination|"
    r"though(?=\W*$)|without hesitation|no doubt(?: that)?|without (?:a |any )?doubt|no question|not only|"
    r"nothing else (?:was|is) \w+|no other (?:option|choice|answer)s? \w+|"
    r"no (?:one|other) else|i(?:'m| am) not (?:entirely |completely |fully |quite |100 ?% )?(?:sure|certain|positive)|"
    r"i (?:don't|do not) know for sure|not (?:sure|certain)|nothing else,?|no need|no problem|"
    r"(?:\w+n't|not?|cannot|nothing|none)\b[^\ue000-\ue1ff,]{0,40} (?:but|except|other than)(?=[ (]+[\ue000-\ue1ff])|"
    r"(?:no way|impossible) (?:that )?(?:it|this|that)(?:'s| is)(?: not|n't)|"
    r"other than that|sin duda|ohne zweifel|sans (?:aucun )?doute|sem dúvida|"
    r"senza dubbio|(?<=risposta )sia)\b",
    re.IGNORECASE,
)

#: Chinese, Japanese, Korean and Thai, of which some words have no space before the letter.
BEFORE_IN_CHINESE = re.compile(
    r"\W*(?:我|认为|認為|覺得|觉得|想|本题|题|最终|但是|但|不过|因此|所以|故|综上|而是|那么|应该|應該|应|應|私の|思う|よって|したがって|従って|つまり|答案|正确|正確|"
    r"正解|正しい|答え|回答|选项|選項|選択肢|选择|選擇|选|選|结论|結論|是|為|为|の|は|が|項|项|了|的|따라서|그러므로|제|정답은|정답|답은|답|저는|올바른|선택지는|"
    r"这个|问题|会|解答|正答|質問|私は|私の考えでは|맞는|옳은|것은|그것은|해답|질문의|선택은|생각에는|"
    + unicodedata.normalize("NFKC", "คำตอบ|ของ|คำถาม|ที่|ถูกต้อง|ถูก|เฉลย|คือ|ตัวเลือก|ข้อ|ฉัน|ผม|ว่า|ขอ|เลือก|ตอบ|ดังนั้น")
    + r"|\W)*"
)
AFTER_IN_CHINESE = re.compile(
    r"\W*(?:番|번|项|項|选项|が|は|이|가|是|为|的|正确|正確|正しい|正解|答案|对的|最合适|だ|と|思います|考えます|です|でしょう|정답|맞습니다|입니다|이다|"
    r"예요|이에요|를|을|라고|생각합니다|선택합니다|を選びます|を選択します|ถูกต้อง|ครับ|ค่ะ|\W)*(?:因为.*|なぜなら.*|เพราะ.*)?"
)
#: "A", "E", "I" and "O" are words of many languages: a letter only before one of these.
AFTER_A_LETTER = (
    r"(?=[ \t]*\n|\s*(?:$|[^\w\s'’]|[\u0370-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\ue000-\ue1ff]|[A-Z]\b|(?:is|"
    r"was|isn't|wasn't|are|as|because|since|i'm|im|"
    r"and|or|nor|not|no|but|it|the|over|than|wählen|sagen|fits?|seems?|looks?|would|should|must|might|may|could|can|"
    r"can't|cannot|can't|which|qui|que|rather|instead|remains|wins|only(?=\W*$)|"
    r"matches|corresponds|best|so|if|then|yes|ist|est|es|és|é|è|nicht|oder|"
    r"und|et|ou|o|y|u|e|is|är|er|on|je|jest|to|sondern|sino|mais|mas|ma|maar|als|niet|of|или|а|и|не|неверно|верно|है|"
    r"adalah|đúng|olduğu|doğru)(?!\w)))"
)
