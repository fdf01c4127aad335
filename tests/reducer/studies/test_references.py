"""How much of an error rate the references cause, from runs on a set and its cleaned version."""

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.systems import System
from speechiq.reducer.studies.references import compare_references


def system(name, original, cleaned, sets=("vox", "vox_cleaned")):
    scores, datasets = {}, {}
    for dataset, rates in zip(sets, (original, cleaned), strict=True):
        for clip, rate in rates.items():
            scores[(f"{dataset}/{clip}",)] = -rate
            datasets[f"{dataset}/{clip}"] = dataset
    return System(name, {"remember": scores}, datasets=datasets)


def test_rates_are_compared_on_the_clips_of_both_versions():
    one = system("a", {"1": 0.2, "2": 0.4, "3": 0.9}, {"1": 0.1, "2": 0.4, "9": 0.0})
    (row,) = compare_references([one])
    assert tuple(row[name] for name in ("dataset", "system", "clips", "changed")) == ("vox", "a", 2, 1)
    assert (row["original"], row["cleaned"], row["difference"].value) == pytest.approx((0.3, 0.25, 0.05))
    assert row["share"] == pytest.approx(1 / 6)
    assert row["difference"].low <= row["difference"].value <= row["difference"].high


def test_intervals_cover_the_difference_that_the_clips_come_from():
    rng, inside = np.random.default_rng(5), 0
    for _ in range(200):
        before = rng.uniform(0.1, 0.5, 100)
        after = before - rng.exponential(0.05, 100)
        rates = [{str(i): value for i, value in enumerate(of)} for of in (before, after)]
        (row,) = compare_references([system("a", *rates)], draws=400)
        inside += row["difference"].low <= 0.05 <= row["difference"].high
    assert 0.90 <= inside / 200 <= 0.99


def test_systems_without_both_versions_and_versions_without_shared_clips_are_one_line():
    with pytest.raises(SpeechIQError, match=r"no system ran a set and its cleaned version \(sets: vox, yes\)"):
        compare_references([system("a", {"1": 0.2}, {"1": 0.1}, sets=("vox", "yes"))])
    with pytest.raises(SpeechIQError, match="'a': vox and vox_cleaned share no clip ids"):
        compare_references([system("a", {"1": 0.2}, {"2": 0.1})])
