# ruff: noqa: RUF001  (refusals in other scripts)
"""A rule finds answers that refuse to answer."""

import pytest

from speechiq.metrics.rules.refusal import is_refusal

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I can\N{RIGHT SINGLE QUOTATION MARK}t process audio files.",
    "As an AI language model, I don't have the ability to listen to audio.",
    "Sorry, I am unable to determine the speaker's gender.",
    "I don't have access to the recording.",
    "I'm not able to listen to recordings.",
    "[content filter]",
    "I'm just an AI, so I have no opinion.",
    "I apologize, but I cannot fulfill this request.",
    "I won't answer that.",
    "I do not have any audio to work with.",
    "I must decline to answer.",
    "Es tut mir leid, aber ich kann die Aufnahme nicht anhören.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "Désolé, je ne peux pas répondre à cette question.",
    "Mi dispiace, ma non posso ascoltare l'audio.",
    "Извините, я не могу ответить на этот вопрос.",
    "Λυπάμαι, δεν μπορώ να ακούσω την ηχογράφηση.",
    "عذرا، لا أستطيع الإجابة عن هذا السؤال.",
    "क्षमा करें, मैं इस प्रश्न का उत्तर नहीं दे सकता।",
    "மன்னிக்கவும், என்னால் பதிலளிக்க முடியாது.",
    "ขออภัย ฉันไม่สามารถตอบคำถามนี้ได้",
    "申し訳ありませんが、お答えできません。",
    "죄송합니다. 답변드릴 수 없습니다.",
    "抱歉，我无法回答这个问题。",
    "很抱歉，我無法協助。",
]
NO_REFUSALS = [
    "He says that he can't help.",
    "The speaker is unable to answer the call.",
    "I think it is Paris.",
    "The recording does not say who called.",
    "Sorry, that was a mistake: 42.",
    "It is a man; I cannot be sure, but his voice is low.",
    "I can't believe it: they won 3 to 2.",
    "",
    "The answer cannot be determined from the recording.",
    "A robot that helps.",
    "I can help: the train leaves at nine.",
    "The speaker, an AI researcher, talks about models.",
    "Er kann die Frage nicht beantworten.",
    "El hombre dice que no puede venir.",
    "Il ne peut pas venir.",
    "Он не может ответить.",
    "Ella dice: no puedo ayudarte.",
    "他说他不能来。",
    "彼は来ません。",
]


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [*((answer, True) for answer in REFUSALS), *((answer, False) for answer in NO_REFUSALS)],
)
def test_a_refusal_is_found_and_no_answer_is_taken_for_one(answer, refuses):
    assert is_refusal(answer) == refuses
