"""AUC and logistic regression against scikit-learn, and the paired test of two AUCs against its nominal level."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from speechiq.reducer.stats import classifier
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.classifier import auc, validate


def make_items(seed, items=200, covariates=1, decimals=1):
    """Covariates of very different scales with ties, and failures that depend on the first."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(items, covariates)).round(decimals)
    failed = generator.random(items) < 1 / (1 + np.exp(-values[:, 0] + 0.5))
    return values * 10.0 ** generator.uniform(-3, 3, covariates), failed


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_that_of_scikit_learn(seed):
    values, failed = make_items(seed)
    assert auc(values[:, 0], failed)[0] == pytest.approx(roc_auc_score(failed, values[:, 0]), abs=1e-12)


def test_a_weight_counts_an_item_as_often_as_copies_of_it_do():
    values, failed = make_items(0)
    weights = np.random.default_rng(1).integers(0, 3, (4, len(failed))).astype(float)
    copies = [np.repeat(np.arange(len(failed)), row.astype(int)) for row in weights]
    expected = [roc_auc_score(failed[of], values[of, 0]) for of in copies]
    assert auc(values[:, 0], failed, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_fit_and_both_r2_are_those_of_scikit_learn(seed):
    values, failed = make_items(seed, covariates=1 + seed % 3)
    fitted = classifier.fit(values, failed)
    spread = values.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(values / spread, failed)
    probability = model.predict_proba(values / spread)[:, 1]
    assert fitted.coefficients == pytest.approx(model.coef_[0] / spread, rel=1e-8)
    assert np.abs(fitted.probability - probability).max() < 1e-8
    null = log_loss(failed, np.full(len(failed), failed.mean()))
    assert classifier.mcfadden(failed, fitted.probability) == pytest.approx(
        1 - log_loss(failed, probability) / null, abs=1e-8
    )
    squares = [((failed - of) ** 2).sum() for of in (probability, failed.mean())]
    assert classifier.efron(failed, fitted.probability) == pytest.approx(1 - squares[0] / squares[1], abs=1e-8)


def test_separated_items_have_r2_1_and_no_coefficient():
    failed = np.array([False, False, True, True])
    fitted = classifier.fit(np.array([[0.0], [0.1], [0.2], [0.9]]), failed)
    assert fitted.separated == 1 and np.isnan(fitted.coefficients).all() and np.isnan(fitted.intercept)
    assert classifier.efron(failed, fitted.probability) == 1.0
    assert classifier.mcfadden(failed, fitted.probability) == pytest.approx(1.0, abs=1e-12)


def test_items_that_are_separated_but_for_a_tie_have_the_limits_of_the_likelihood():
    values, failed = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]]), np.array([False, False, True, True, True])
    fitted = classifier.fit(values, failed)
    assert fitted.probability == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3, 1])
    assert fitted.separated == pytest.approx(2 / 5)
    near = LogisticRegression(C=1e9, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(values, failed)
    assert fitted.probability == pytest.approx(near.predict_proba(values)[:, 1], abs=1e-4)


def test_a_plane_of_two_covariates_separates_where_none_of_them_does():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(100, 2))
    failed = values @ [1.0, -1.0] > 0
    assert classifier.fit(values, failed).separated == 1
    assert classifier.fit(values[:, :1], failed).separated < 1


def test_items_on_a_plane_of_two_covariates_are_fitted_and_the_others_certain():
    values = np.array([[0.0, 1.0], [1.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [2.0, 0.0], [4.0, 1.0]])
    failed = np.array([False, False, True, False, True, True, True])
    fitted = classifier.fit(values, failed)
    assert fitted.separated == pytest.approx(4 / 7) and np.isnan(fitted.coefficients).all()
    on_plane = classifier.fit(values[2:5, :1], failed[2:5]).probability
    assert fitted.probability == pytest.approx([0, 0, *on_plane, 1, 1])


def draw_aucs(risks, failed, clips, draws, seed):
    return resample(
        lambda counts: np.column_stack([auc(risk, failed, counts) for risk in risks]), clips, draws=draws, seed=seed
    )


def test_two_metrics_that_predict_equally_differ_in_about_5_per_cent_of_the_samples():
    """Two metrics with equal noise of their own; 3 binomial standard errors around 5 % are 0.4 to 9.6 %."""
    generator, found = np.random.default_rng(7), []
    for seed in range(200):
        clips = np.arange(180) // 3
        failed = generator.random(180) < 0.5
        shared = generator.normal(size=60)[clips]
        risks = [failed + 0.5 * shared + 1.5 * generator.normal(size=180) for _ in range(2)]
        drawn = draw_aucs(risks, failed, clips, 400, seed)
        found.append(drawn.difference(0, 1).p)
    rejected = np.mean(np.array(found) < 0.05)
    assert 0.01 <= rejected <= 0.09, rejected
    assert 0.35 < np.mean(found) < 0.65


def test_items_of_a_clip_are_drawn_together():
    """Copies of each item widen nothing and narrow nothing, if a clip's items move together."""
    values, failed = make_items(3, items=60, decimals=6)
    once = draw_aucs([values[:, 0]], failed, np.arange(60), 300, 1)
    thrice = draw_aucs([np.repeat(values[:, 0], 3)], np.repeat(failed, 3), np.repeat(np.arange(60), 3), 300, 1)
    assert np.allclose(once.values, thrice.values)


def make_unrelated(seed, clips):
    """Return a metric, failures that share the difficulty of their clip but not the metric, and the clips."""
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(clips), 3)
    metric, difficulty = (generator.normal(size=clips)[groups] + generator.normal(size=len(groups)) for _ in range(2))
    return metric[:, None], difficulty > np.quantile(difficulty, 0.7), groups


def test_a_validated_auc_of_unrelated_numbers_is_one_half():
    """The AUC of the probabilities of all folds together is far below: 0.33."""
    items = [make_unrelated(seed, clips=14) for seed in range(8)]
    validated = [validate(*of, seed=0) for of in items]
    found = np.array([area for _, area in validated])
    pooled = np.array([auc(probability, of[1])[0] for (probability, _), of in zip(validated, items, strict=True)])
    assert abs(found.mean() - 0.5) < 3 * found.std() / np.sqrt(len(found))
    assert pooled.mean() < 0.42 < found.mean()


def test_a_validated_auc_compares_each_failure_with_each_success_by_one_fit():
    """With one clip per fold and a metric that always points one way, this is the AUC of the metric itself."""
    values = np.linspace(0, 1, 8)[:, None]
    failed = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    assert validate(values, failed, np.arange(8), 0)[1] == roc_auc_score(failed, values[:, 0])
    assert np.isnan(validate(values[:2], failed[2:4], np.arange(2), 0)[1]), "two clips leave none to fit to"
