"""Steps between two texts: they lead from one to the other and cost what the word error rate counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.words.wer import count_errors
from speechiq.reducer.output.page.clips import align, edits

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=9).map(" ".join)


@given(TEXTS, TEXTS)
def test_steps_lead_from_the_reference_to_the_text(reference, text):
    (ops,) = align(reference, [text])
    words, at, kept, written = reference.split(), 0, [], []
    for step in ops:
        if isinstance(step, str):
            written += step.split()
        else:
            kept += words[at : at + abs(step)]
            written += words[at : at + step] if step > 0 else []
            at += abs(step)
    assert (kept, written) == (words, text.split())


@given(TEXTS, TEXTS)
def test_steps_cost_what_the_word_error_rate_counts(reference, text):
    (ops,) = align(reference, [text])
    cost = sum(max(edit.dropped, len(edit.written.split())) for edit in edits(ops))
    assert cost == count_errors(reference, text).total
    assert sum(step for step in ops if isinstance(step, int) and step > 0) == count_errors(reference, text).hits


def test_a_text_is_compared_by_itself():
    texts = ["a b", "", "b a c", "a b"]
    assert align("a b c", texts) == [align("a b c", [text])[0] for text in texts]
