"""The fitted matcher: scikit-learn's probabilities, never falling; a threshold by a stated rule."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError, SettingsError
from ragassay.metrics.papers.nuggets import compute_same_probability
from ragassay.models.fitted_models import open_matcher
from ragassay.optimizers import nugget_matching
from ragassay.optimizers.nugget_matching import (
    MatchCase,
    MatchData,
    Trial,
    choose_trial,
    fit_matcher,
    fit_mixture,
)
from ragassay.records import MatchAgreement, MatchObjectives, NuggetMatcher
from ragassay.settings import RESULT_FIELDS, Settings

RNG = np.random.default_rng(7)


def made_data(n_cases: int = 12, known: bool = False) -> MatchData:
    """Gold nugget i is stated by system nugget i, for three of four; one system nugget is new."""
    similarities = []
    for _ in range(n_cases):
        similarity = RNG.normal(0.2, 0.12, (4, 4))
        similarity[range(3), range(3)] = RNG.normal(0.8, 0.06, 3)
        similarities.append(similarity.clip(-1, 1))
    matches = frozenset((i, i) for i in range(3)) if known else None
    cases = (MatchCase(tuple("abcd"), tuple("efgh"), matches),) * n_cases
    return MatchData(cases, tuple(similarities), "0" * 64, "words")


@pytest.fixture(scope="module")
def matcher() -> NuggetMatcher:
    return fit_matcher(made_data(known=True), n_trials=60, seed=3)


@pytest.mark.parametrize("spread", [(0.12, 0.06), (0.08, 0.08), (0.05, 0.2)])
def test_probability_is_that_of_scikit_learn_between_the_means(spread):
    from sklearn.mixture import BayesianGaussianMixture

    rng = np.random.default_rng(1)
    pairs = np.concatenate([rng.normal(0.2, spread[0], 400), rng.normal(0.75, spread[1], 80)])
    mixture = BayesianGaussianMixture(
        n_components=2, covariance_type="spherical", max_iter=1000, n_init=5, random_state=5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture.fit(pairs.reshape(-1, 1))
    high = int(np.argmax(mixture.means_[:, 0]))
    grid = np.linspace(mixture.means_.min(), mixture.means_.max(), 50)
    expected = mixture.predict_proba(grid.reshape(-1, 1))[:, high]
    found = compute_same_probability(grid, fit_mixture(pairs, 5))
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)  # Each fits a mixture, from five starts.
@given(st.integers(0, 50), st.floats(0.02, 0.5), st.floats(0.02, 0.5))
def test_probability_never_falls_as_similarity_grows(seed, low, high):
    rng = np.random.default_rng(seed)
    pairs = np.concatenate([rng.normal(0.2, low, 60), rng.normal(0.7, high, 30)]).clip(-1, 1)
    found = compute_same_probability(np.linspace(-1, 1, 400), fit_mixture(pairs, seed))
    assert np.all(np.diff(found) >= -1e-12)
    assert found.min() >= 0 and found.max() <= 1


def test_wide_low_component_does_not_take_back_what_is_very_similar(matcher):
    low, high = sorted(matcher.components, key=lambda part: part.mean)
    wide = low.model_copy(update={"variance": 1.0})
    narrow = high.model_copy(update={"mean": 0.6, "variance": 0.001})
    found = compute_same_probability(np.array([0.6, 0.95, 1.0]), (wide, narrow))
    assert found[0] > 0.5
    assert found[2] >= found[1] >= found[0]


def test_fit_aligns_what_was_made_alike(matcher):
    # Three of four gold nuggets, three of four system nuggets: F1 = 0.75, three alignments.
    assert matcher.objectives.f1 == pytest.approx(0.75, abs=0.03)
    assert matcher.objectives.n_alignments == pytest.approx(3, abs=0.2)
    assert matcher.agreement.accuracy > 0.98
    assert (matcher.n_questions, matcher.n_pairs) == (12, 12 * 16)
    assert (matcher.agreement.n_pairs, matcher.agreement.n_known) == (192, 36)


def test_same_data_and_seed_give_the_same_matcher():
    data = made_data()
    ticks: list[int] = []
    first = fit_matcher(data, n_trials=25, seed=1, on_trial=lambda: ticks.append(1))
    assert fit_matcher(data, n_trials=25, seed=1) == first
    assert len(ticks) == 25
    assert first.agreement is None


def test_matcher_survives_its_file(matcher, tmp_path):
    path = tmp_path / "matcher.json"
    path.write_text(matcher.model_dump_json(indent=2))
    assert open_matcher(str(path), "words") == matcher
    assert open_matcher("", "words") is None
    with pytest.raises(SettingsError, match="fitted with the embedder words"):
        open_matcher(str(path), "others")


@each_case("text", ["", "{}", "[1]", '{"components": []}'])
def test_file_that_is_no_matcher_is_named(text, tmp_path):
    path = tmp_path / "matcher.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"matcher\.json is not a matcher"):
        open_matcher(str(path), "words")
    with pytest.raises(SettingsError, match="cannot read"):
        open_matcher(str(tmp_path / "none.json"), "words")


def test_identity_of_a_matcher_is_its_content(tmp_path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text("a")
    two.write_text("a")
    first = Settings(nugget_matcher=str(one)).nuggets.nugget_matcher_sha256
    assert first == Settings(nugget_matcher=str(two)).nuggets.nugget_matcher_sha256
    one.write_text("b")
    assert first != Settings(nugget_matcher=str(one)).nuggets.nugget_matcher_sha256
    assert Settings().nuggets.nugget_matcher_sha256 == ""
    assert "nugget_matcher_sha256" in RESULT_FIELDS and "nugget_matcher" not in RESULT_FIELDS
    with pytest.raises(SettingsError, match="cannot be read"):
        _ = Settings(nugget_matcher=str(tmp_path)).nuggets.nugget_matcher_sha256


def test_similarity_threshold_is_where_the_probability_is_reached(matcher):
    at = np.array([matcher.similarity_threshold - 1e-4, matcher.similarity_threshold + 1e-4])
    below, above = compute_same_probability(at, matcher.components)
    assert below < matcher.probability_threshold <= above


def test_too_few_pairs_or_no_second_group_is_an_error():
    with pytest.raises(InputError, match="16 pairs"):
        fit_matcher(made_data(1))
    with pytest.raises(InputError, match="0 pairs"):
        fit_matcher(MatchData((), (), "", "words"))
    data = MatchData((MatchCase(("a",) * 5, ("b",) * 5),), (np.zeros((5, 5)),), "", "words")
    with pytest.raises(InputError, match="two groups"):
        fit_matcher(data, n_trials=3)


def trial(probability: float, *values: float, known: float | None = None) -> Trial:
    shares = dict.fromkeys(("accuracy", "precision", "recall"), known)
    agreement = None if known is None else MatchAgreement(**shares, n_pairs=9, n_known=3)
    f1, similarity, number = values
    objectives = MatchObjectives(f1=f1, similarity=similarity, n_alignments=number)
    return Trial(probability, objectives, agreement)


def test_choice_is_nearest_to_the_best_of_all_three():
    # Gaps to (0.9, 0.9, 5), scaled: (0, 1, 0), (1/8, 1/4, 1/4), (1, 0, 1).
    front = [trial(0.5, 0.9, 0.5, 5), trial(0.7, 0.8, 0.8, 4), trial(0.9, 0.1, 0.9, 1)]
    assert choose_trial(front).probability == 0.7
    assert choose_trial(front[::-1]).probability == 0.7


def test_known_pairs_decide_before_the_objectives():
    front = [trial(0.5, 0.9, 0.5, 5, known=0.6), trial(0.9, 0.1, 0.9, 1, known=0.8)]
    assert choose_trial(front).probability == 0.9


@each_case(
    ("equal", "middle"),
    [([0.6, 0.8], 0.7), ([0.005, 0.1, 0.26, 0.9], 0.4525), ([0.5], 0.5), ([0.2, 0.3], 0.25)],
)
def test_of_equal_trials_the_middle_of_their_plateau_is_taken(equal, middle):
    front = [trial(p, 0.5, 0.5, 2) for p in equal]
    for trials in (front, front[::-1]):
        chosen = choose_trial(trials)
        assert chosen.probability == pytest.approx(middle)
        assert chosen.plateau == (min(equal), max(equal))
        assert chosen.objectives == front[0].objectives


def test_a_plateau_ends_where_another_result_stands_between():
    worse = trial(0.3, 0.5, 0.5, 2, known=0.1)
    same = [trial(p, 0.5, 0.5, 2, known=0.9) for p in (0.2, 0.4, 0.5, 0.6)]
    assert choose_trial([worse, *same]).plateau == (0.4, 0.6)


def separate(n_cases: int, gold: str = "") -> MatchData:
    """Pairs of one fact have a similarity of about .8, all others about .1."""
    rng = np.random.default_rng(5)
    cases, similarities = [], []
    for n in range(n_cases):
        similarity = rng.normal(0.1, 0.03, (3, 3))
        similarity[range(3), range(3)] = rng.normal(0.8, 0.03, 3)
        names = tuple(f"{gold or n}{letter}" for letter in "abc")
        cases.append(MatchCase(names, tuple("efg"), frozenset((i, i) for i in range(3))))
        similarities.append(similarity)
    return MatchData(tuple(cases), tuple(similarities), "0" * 64, "words")


def test_a_fit_takes_no_threshold_at_the_edge_of_what_does_equally_well():
    for data in (separate(10), separate(10, "one question ")):
        matcher = fit_matcher(data, n_trials=100, seed=0)
        low, high = matcher.plateau or (0, 0)
        assert high - low > 0.9 and matcher.probability_threshold == pytest.approx((low + high) / 2)
        assert 0.3 < matcher.probability_threshold < 0.7
        assert matcher.agreement is not None and matcher.agreement.precision == 1
        assert matcher.n_folds == 5


def test_thresholds_are_scored_by_mixtures_that_did_not_see_the_answer(monkeypatch):
    data, seen = separate(10), list[int]()

    def fit(pairs, seed):
        seen.append(len(pairs))
        return fit_mixture(pairs, seed)

    monkeypatch.setattr(nugget_matching, "fit_mixture", fit)
    assert fit_matcher(data, n_trials=10).n_folds == 5
    # Ten answers of nine pairs: all, then without two answers for each of five folds.
    assert seen == [90, *[72] * 5]


def test_with_few_answers_the_mixture_of_all_scores_them():
    flat = 0.3 + np.linspace(0, 1e-3, 25).reshape(5, 5)
    alone = MatchData((MatchCase(("a",) * 5, ("b",) * 5),), (flat,), "", "words")
    assert fit_matcher(alone, n_trials=3).n_folds == 0, "nothing is left without it"
    assert fit_matcher(separate(3), n_trials=10).n_folds == 0, "18 pairs are left: too few"
    assert fit_matcher(separate(4), n_trials=10).n_folds == 4
