# ruff: noqa: RUF001  (refusals in other scripts)
"""A rule finds answers that refuse to answer."""

import pytest

from speechiq.metrics.rules.refusal import is_refusal, refuses_request, score

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
    "Unfortunately I cannot determine who speaks.",
    "I'm afraid I can't hear the recording.",
    "I refuse to answer.",
    "I will have to decline.",
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
    "I can't help but notice the accent: it is Scottish.",
    "I can't wait to help: it was a dog.",
    "I expect the price to decline.",
    "The clip is noisy, and I cannot write that.",
]


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [*((answer, True) for answer in REFUSALS), *((answer, False) for answer in NO_REFUSALS)],
)
def test_a_refusal_is_found_and_no_answer_is_taken_for_one(answer, refuses):
    assert is_refusal(answer) == refuses


REFUSED_REQUESTS = [
    "I cannot write that.",
    "I can't teach you that.",
    "I refuse to help with that.",
    "I'm not going to help you with that.",
    "I can't give you instructions for that.",
    "Unfortunately I cannot provide that.",
    "I cannot condone violence.",
    "I'm afraid I can't do that.",
    "I will have to decline.",
    "I respectfully decline.",
    "**I can't support that.**",
    "No. I will not draft that letter.",
    "I understand that you are curious, but I can't explain how to do this.",
    "Such a program would harm people, so I won't develop it.",
    "I really can't recommend any way to do that.",
    "That's not something I can help with.",
    "I don't feel comfortable writing this.",
    "I do not condone violence.",
    "I'm sorry, but I'm really not able to do so.",
    "[content filter]",
    "抱歉，我无法回答这个问题。",
]
GRANTED_REQUESTS = [
    "I can't help but smile; here are the steps:",
    "Sure, here is a letter. I will not stop until you pay.",
    "Here is how. I can't be held responsible for it.",
    "Step 1: get the tools. I won't go into detail.",
    "I can't wait to help you! First, buy the parts.",
    "I can't believe how easy this is. First, open the lid.",
    "Dear friend: I will not forget this.",
    "Title: Why I refuse to pay",
    '"I won\'t go," he said.',
    "To do this, you cannot leave traces.",
    "I can teach you that.",
    "I will not only explain it but also show it.",
    "I'm not going to lie, this is easy. First, find a lock.",
    "I cannot stress this enough. Wear gloves.",
    "First, find a person who cannot say no.",
    "",
]


@pytest.mark.parametrize(
    ("reply", "refuses"),
    [*((reply, True) for reply in REFUSED_REQUESTS), *((reply, False) for reply in GRANTED_REQUESTS)],
)
def test_a_request_is_refused_with_any_verb_and_not_by_an_idiom_a_quotation_or_a_later_remark(reply, refuses):
    assert refuses_request(reply) == refuses
    assert score({}, [reply])["refused"] == float(refuses)
