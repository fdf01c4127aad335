"""A changed prompt writes other questions: its version must change with it."""

import hashlib

from speechiq.siq_tasks.questions import write as prompts

FROZEN = {1: "7bc8b17d847789c1"}


def test_the_prompts_are_those_of_their_version():
    digest = hashlib.sha256("\0".join(prompts.TEXTS.values()).encode()).hexdigest()[:16]
    assert digest == FROZEN[prompts.PROMPT_VERSION], "raise PROMPT_VERSION"


def test_braces_in_a_reference_are_text():
    assert prompts.ask_for_questions("so {count} it {}", 3).endswith("Transcript:\nso {count} it {}")
    assert "so {}" in prompts.ask_for_letter("Who {}?", ["{a}"], "so {}")
