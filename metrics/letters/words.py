"""List the words by which an answer to a multiple-choice question claims an option, excludes it or turns to another.

Each set has words of about twenty languages in lower case, compared by equality; a stem (`STEMS`) is compared with
the beginning of a word. Chinese, Japanese and Thai are written without spaces: their words are searched in a clause.
"""

from __future__ import annotations

import re
import unicodedata


def _words(listed: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", listed).split())


#: Words for the choice or for choosing: a letter after one of these is claimed.
CUES = _words(
    """
    answer answers answer's answered ans confirms option choice letter letters choose chose chosen pick picked select
    winner selected selection response answering choosing deciding decide decided opting taking lean leaning inclined
    dirais diría diria direi sage conclusion conclude concluded guess say vote tick circle point points pointing mark
    solution verdict go going result corresponds correspond supports support suggests indicates final opt changed
    changing switch switched mind respuesta opción respuestas elijo elegir escojo letra creo solución inciso antwort
    lösung wahl wähle nehme würde richtige auswahl buchstabe glaube tippe réponse choisis choix lettre resposta
    alternativa opção escolho acho risposta scelgo opzione lettera credo soluzione antwoord kies optie keuze juiste
    ответ выбираю вариант буква відповідь варіант odpowiedź odpowiedz wybieram opcja cevap cevabı cevabım seçenek yanıt
    svar svaret alternativ vælger väljer الإجابة الجواب إجابة جواب الخيار उत्तर जवाब विकल्प đáp án jawaban jawabannya
    pilihan odpověď volba možnost απάντηση vastaus válasz răspuns răspunsul תשובה התשובה ข้อ 정답은 정답 답은 답 선택지
    απάντησή επιλογή επιλέγω γράμμα إجابتي جوابي أختار الحرف خيار अक्षर பதில் விடை விருப்பம் எழுத்து தேர்வு
    elección scelta выбор решение λύση έλεγα الحل اختياري أقول हल पसंद कहूँगा தீர்வு சொல்வேன்
    """
)

#: Words that, alone before a letter, name an option without choosing it.
NAMES = _words(
    "option choice letter opción option letra lettre optie opcja вариант буква lettera buchstabe γράμμα επιλογή الحرف "
    "الخيار अक्षर विकल्प எழுத்து விருப்பம்"
)

#: Words before these at the start of a clause.
OPENERS = _words("and but or the while whereas")

#: Words that may come between a cue and its letter, or before a letter alone.
LINKS = _words(
    """
    bold is are was be to would should must may might could can will has it it's its that that's this the these those of
    all a an i i'd i'll i'm i've im am we we've my our me let let's with for as by and then think believe feel find
    reckon sure certain confident fairly quite pretty very most probably definitely surely certainly clearly obviously
    simply just only also here there there's now okay ok well indeed perhaps maybe plausible one option choice letter
    answer statement claim in speech speaker according based from on no yeah course high confidence given above none
    rather what which who which's means seems appears look looks like mentioned between either both out wait sorry meant
    mean hmm correction reconsider oh ah um uh er eh still si question definately definetly probly prolly gotta gonna
    possibly mostly more too or towards us get got make makes making take takes settle settled come comes arrive myself
    personally toward auf yo es la el lo los las una un de que que's será sería son por tanto pienso ist die der das den
    lautet wäre ich denke dass meine mon mein mi mia minha mijn mitt mój moja est c'est le il s'agit l l' les je pense
    crois plutôt l'option l'opzione d' ce serait é e o os seria è gli che penso sarebbe het dat ik denk я это думаю что
    правильна то правильное мой właściwa jest är det rätta rigtige riktige الصحيحة هي هو الصحيح है là yang adalah είναι
    η oikea az este és הנכונה היא הוא คือ
    laut rede según discurso discours secondo discorso судя по речи το τα ο μου ότι νομίζω πιστεύω σύμφωνα με την
    ομιλία أن أعتقد أظن وفقا وفقًا للخطاب मैं मुझे लगता कि मेरा के अनुसार भाषण हूँ हूं என் எனது ஆகும்
    meiner meinung nach frage pregunta domanda alla quella бы сказал на вопрос θα στην ερώτηση عن السؤال إنها إنه यह
    प्रश्न का मेरी मेरे विचार से நான் என்று அது கேள்விக்கான மிகச் கருத்துப்படி
    """
)

#: Words about an option that claim it.
PRAISE = _words(
    """
    correct right true best strongest closest beats reflects captures fits fit matches match likely better appropriate
    accurate supported yes confirmed valid suitable remains remain wins stands wählen nehmen kiezen sagen korrekte
    exacte exacta esatta correcta correcto verdadera verdadero cierta cierto richtig wahr stimmt korrekt correcte vrai
    vraie juste bonne correta certa verdadeira verdadeiro corretta giusta vera juist waar goed верно правильный верный
    правильно prawidłowa poprawna doğru rätt riktig rigtig صحيحة صحيح सही đúng benar správně správná σωστή oikein
    helyes corect صحيحا الصحيحة الصحيح चुनता चुनती சரி சரியான சரியானது
    adecuada adecuado ορθή σωστό सटीक
    """
)

#: Words that turn a claim into an exclusion.
DENIALS = _words(
    """
    not no nor neither never none nothing nobody cannot cant wrong incorrect false untrue unlikely unsupported
    irrelevant implausible inaccurate impossible invalid mistaken contradicts contradicted eliminate eliminated
    eliminating exclude excluded excludes excluding reject rejected discard discarded dismiss dismissed except without
    doubt unless hardly isnt doesnt dont denies denied deny nowhere nope ruled unmentioned lacks fails ni tampoco
    nunca incorrecta incorrecto falsa falso errónea descarto descartamos descartar excluyo nicht kein keine keiner
    keinesfalls weder falsch ausgeschlossen ausschließen unwahr nein ne pas faux fausse incorrecte jamais élimine
    exclut exclu exclue non aucune aucun não nem errada errado incorreta incorreto né sbagliata sbagliato errata
    errato scarto escludo mai niet geen fout onjuist nooit noch nee не нет ни неверно неверный неправильно
    неправильный исключаем исключаю ошибка ні невірно хибно nie nieprawidłowa błędna nieprawda değil yanlış hayır inte
    ej icke fel ikke feil forkert nej nei ليس ليست لا خطأ خاطئة नहीं
    गलत न không sai bukan tidak salah není špatně
    nesprávná όχι δεν λάθος ei väärin hamis nu greșit incorect לא אינה אינו ไม่ ผิด
    아닙니다 아니다 아니라 아니고 틀렸습니다 아니에요 아닌
    keineswegs niemals niemand nadie ningún ninguna nessun nessuno никто никогда κανείς
    ούτε μη μην ποτέ λανθασμένη λανθασμένο αποκλείω αποκλείεται غير لم لن ولا أستبعد خاطئ ना मत ग़लत
    அல்ல தவறு தவறானது இல்லை சரியல்ல கிடையாது
    """
)
STEMS = tuple(
    _words("isn't wasn't aren't doesn't don't didn't can't couldn't won't wouldn't shouldn't neither n'est n' eliminat")
) + tuple(_words("nesprávn неправильн неверн falsch onjuist nieprawid descart exclu incorrect errón"))

#: Words that leave open whether an option is meant: it was weighed, others choose it, or it holds in part.
OPEN = _words(
    """
    initial initially other others tempting possible although though while if wenn falls если whether unless suppose
    supposing considered considering thought earlier originally hope compare comparing versus vs distractor helps
    previously obwohl aunque quoique embora sebbene hoewel хотя
    """
)
#: Words about an option that make the claim less clear.
MODALS = _words("might may could maybe perhaps possibly")
#: Verbs by which a clause describes an option instead of claiming it.
VERBS = _words(
    """
    is are was were has have had does did would could might may can will refers describes needs seems mentions
    concerns relates applies talks contains names came comes goes happened occurred appears sounds looks needed
    """
)
#: The words of a clause by which the option that it begins with is what the speech states.
STATES = _words(
    """
    is was does matches supported mentioned stated said given named confirmed true what was in by the speech speaker
    it recording clearly explicitly directly here
    """
)
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
#: Words about one option next to another that leave open which of them is meant.
HEDGES = _words(
    """
    maybe perhaps possibly might could or otherwise else followed bit vielleicht quizá quizás tal peut-être talvez
    forse misschien или может ή ίσως أو ربما या शायद அல்லது ஒருவேளை
    """
)
#: First words of a clause that make it a condition.
CONDITIONS = _words("if whether suppose supposing unless were si s'il se wenn falls ob если als αν εάν لو إذا अगर यदि")

#: An assumption; what follows from it in the sentence is no claim.
SUPPOSES = re.compile(
    r"^(?:(?:assum(?:e|ing)|imagine|pretend|had|provided|in case|should (?:the|a|this|it|he|she|there)|"
    r"say (?:the|that|there)|otherwise .* would|"
    r"let(?:'s| us| me) (?:assume|suppose|pretend|say [\ue000-\ue1ff] \w))\b|如果|假如|もし)|\bwould [^,]* had\b",
    re.IGNORECASE,
)
#: First words of a clause that is opposed to what was said before it in the sentence.
CONTRASTS = _words("but however yet sondern aber sino pero mais mas ma maar но а αλλά بل لكن बल्कि")
CONTRASTING = re.compile(r"in (?:practice|fact|reality|truth)\b|really\b|now\b", re.IGNORECASE)

#: After one of these words the next claim replaces those before; `RETRACTED` also withdraws earlier claims.
CONCLUDES = _words(
    """
    so therefore thus hence consequently finally final ultimately overall conclusion conclude actually accordingly
    instead reflection entonces así pues finalmente conclusión daher somit folglich deshalb schließlich donc ainsi
    alors finalement portanto logo então quindi dunque perciò infine dus daarom поэтому значит итак więc zatem alltså
    altså jadi maka tedy proto отже άρα επομένως συνεπώς إذن لذلك इसलिए अतः எனவே ஆகவே
    """
)
#: What is left of several options replaces the claims before, if it is a letter: "she left Lisbon" is no conclusion.
LEFT = _words("left leaves remains remaining leaving")
AFFIRMS = _words(
    "yes yeah yep definitely certainly correct right true sí si ja oui sim sì да tak evet ναι نعم हाँ ஆம் 是 对 はい 네"
)
#: A remark that claims the option named before it.
AFFIRMING = re.compile(
    r"(?:which|that|this|it)(?: is|'s) (?:the )?(?:correct|right|true|best)(?: answer| option| one| choice)?\W*",
    re.IGNORECASE,
)

#: First words of a clause behind which a claim is the answerer's own.
FRONTS = _words(
    """
    as because since given based after from according looking listening having considering although though while even
    obwohl aunque quoique embora sebbene hoewel хотя whatever i i'm i've we it it's this that there here he she they
    nothing no not the
    """
)
#: Words that begin a reason; any may follow.
REASONS = _words(
    "because since due given based weil denn porque car perché omdat потому επειδή διότι لأن لأنه क्योंकि ஏனெனில்"
)
#: The first words of the reason behind "as".
DETERMINERS = [[word] for word in ("it", "this", "that", "he", "she", "there", "they")]
#: The answerer.
OWN_VOICE = _words("i i'm im i'd we me")
#: Words behind a letter that limit the claim.
LIMITS = _words("in on at for if when only until unless according to but under with or and by of before after during")
#: Words that turn to an option without claiming it.
TOPICS = _words("for in at under before during")
EQUALS = _words("is it's be")
#: Words of sentences that state an answer.
SOURCE = _words(
    """
    text passage recording audio transcript evidence information clip talk lecture conversation says said states stated
    mentions explains gives sentence reason cause sense signs decision update leads lead end up stay stick qui clear
    easy after see hear you'll consider thats explicitly directly reconsidering
    """
)
KNOWN = LINKS | CUES | PRAISE | CONCLUDES | LEFT | CONTRASTS | NAMES | OPENERS | SOURCE | AFFIRMS

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
#: A sentence of only these words is about the option named before it.
VERDICTS = _words(
    """
    so hence thus out eliminated excluded rejected discarded unsupported irrelevant does doesn't apply fit match no
    not nope that that's this it is it's was isn't wasn't wrong incorrect false right correct true wait either also
    can't cannot be mentioned supported stated in the speech speaker by of and oh hmm sorry option answer falsch nicht
    richtig nein incorrecta incorrecto es est faux non pas errada falso è sbagliato niet juist fout нет неверно
    """
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

#: Options that a single word answers.
PLAIN = _words("yes no true false none not correct incorrect wrong right neither both nothing")
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
