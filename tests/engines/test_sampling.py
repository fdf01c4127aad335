import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.sampling import RefuseNaN, SeededSampling, draw_choices, uniforms


def test_draws_follow_the_softmax():
    logits = torch.tensor([0.5, -1.0, 2.0, -torch.inf, 0.0])
    n = 20_000
    drawn = draw_choices(logits.expand(n, -1), torch.from_numpy(uniforms(range(n), 1)[:, 0]))
    counts = np.bincount(drawn, minlength=5)
    assert counts[3] == 0
    expected = np.delete(logits.softmax(-1).numpy().astype(float), 3)
    assert chisquare(np.delete(counts, 3), expected / expected.sum() * n).pvalue > 1e-3


def test_tokens_follow_the_softmax():
    logits, n = torch.tensor([[0.5, -1.0, 2.0, -torch.inf, 0.0]]), 4000
    drawn = SeededSampling(range(n))(torch.zeros(n, 1), logits.expand(n, -1)).argmax(-1)
    counts, expected = np.bincount(drawn, minlength=5), logits[0].softmax(-1).numpy().astype(float)
    assert counts[3] == 0
    assert chisquare(np.delete(counts, 3), np.delete(expected, 3) / expected.sum() * n).pvalue > 1e-3


def test_rounding_of_logits_changes_next_to_no_token():
    scores = 4 * torch.randn(64, 50_000, generator=torch.Generator().manual_seed(0))
    noise = 1e-5 * torch.randn(scores.shape, generator=torch.Generator().manual_seed(1))
    one, other = (SeededSampling(range(64))(scores, values).argmax(-1) for values in (scores, scores + noise))
    assert torch.equal(one, other)
    halves = SeededSampling(range(64))(scores, scores.bfloat16()).argmax(-1)
    assert (one == halves).float().mean() > 0.9


def test_a_model_that_computes_nan_is_named():
    refuse = RefuseNaN("llm", torch.float16)
    with pytest.raises(SpeechIQError, match=r"^llm: computes NaN in float16; give its stage dtype=bfloat16"):
        refuse(torch.zeros(1, 1), torch.tensor([[0.0, torch.nan]]))


def test_the_ends_of_the_interval_stay_inside():
    logits = torch.zeros(2, 3)
    assert draw_choices(logits, torch.tensor([0.0, 1 - 1e-16], dtype=torch.float64)).tolist() == [0, 2]


def test_a_row_depends_on_its_seed_alone():
    scores, ids = torch.randn(4, 50), torch.zeros(4, 1, dtype=torch.long)
    together = SeededSampling([7, 8, 9, 10])(ids, scores).argmax(-1)
    alone = torch.cat([SeededSampling([7 + i])(ids[:1], scores[i : i + 1]).argmax(-1) for i in range(4)])
    assert torch.equal(together, alone)


def test_each_step_draws_anew():
    sampler = SeededSampling([3])
    scores, ids = torch.zeros(1, 50), torch.zeros(1, 1, dtype=torch.long)
    tokens = {sampler(ids, scores).argmax(-1).item() for _ in range(200)}
    assert len(tokens) > 30
