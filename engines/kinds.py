"""Name the kinds of systems, by the engines that they combine."""

from collections.abc import Mapping

#: A recognizer with a language model, the same with a corrector between them, one audio model, and a recognizer alone.
CASCADE, CORRECTED, END_TO_END, RECOGNIZER = "cascade", "cascade with correction", "end to end", "recognizer"
#: What processes no audio.
CONTROL = "control"
#: A person who took the test.
PERSON = "person"
KINDS = (CASCADE, CORRECTED, END_TO_END, RECOGNIZER, CONTROL, PERSON)
#: Key of the description of an imported system with the kind that the user declared.
DECLARED = "declared_kind"
#: Engine of an audio model that answers -> the one by which it transcribes before a language model.
AS_RECOGNIZER = {"openai:": "openai-chat:"}


def replace_engine(stage: str, others: Mapping[str, str]) -> str:
    """Return a stage with another engine (a prefix with its colon), if there is another one for its engine.

    >>> replace_engine("openai:gpt-4o-audio-preview", AS_RECOGNIZER), replace_engine("org/model", AS_RECOGNIZER)
    ('openai-chat:gpt-4o-audio-preview', 'org/model')
    """
    for engine, other in others.items():
        if stage.startswith(engine):
            return other + stage.removeprefix(engine)
    return stage
