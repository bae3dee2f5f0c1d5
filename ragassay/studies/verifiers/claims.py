"""Read labelled claims, and fit or evaluate verifiers on them (BioACE, section 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.formats.claims import is_fact_check, read_fact_checks
from ragassay.formats.items import Item, iter_items, iter_read, split_rejections
from ragassay.formats.medaesqa import MEDAESQA
from ragassay.metrics.papers.verifier_scores import (
    Thresholds,
    find_best_threshold,
    find_best_thresholds,
    reweight_shares,
)
from ragassay.metrics.stats.agreement import (
    Average,
    Averaged,
    measure_agreement,
    measure_discrimination,
)
from ragassay.models.entailment import (
    NEUTRAL,
    SUPPORTS,
    EntailmentModel,
    can_read_documents,
    get_label_count,
)
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier, hash_text
from ragassay.models.verifiers import require_verifier
from ragassay.optimizers.compiling.items import split_by_group
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    LabelledClaim,
    group_claims,
    link_names,
    list_claim_names,
    parse_label,
    read_claims,
)
from ragassay.records import VERDICT_SETS, Rejection, Score
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.studies.verifiers.sentences import Step, read_labelled_sentences
from ragassay.text.search import ALL_WORDS, N_WORDS, build_passage
from ragassay.text.sentences import extract_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder

N_BATCH = 16

_LABELS = {"not_attributable": "neutral"}


@dataclass(frozen=True)
class Claims:
    """Labelled claims, and the number of claims whose document text is missing."""

    claims: tuple[LabelledClaim, ...]
    rejections: tuple[Rejection, ...] = ()
    n_missing: int = 0


def read_labelled(
    paths: Sequence[Path], corpus: Literature | None = None, labels: Path | None = None
) -> Claims:
    """Read labelled claims from files.

    Args:
        paths: Claims in the format of `ragassay finetune verifier`, reviewed run folders, SciFact
            files, or answers with human citation labels, such as MedAESQA.
        labels: File with the citation labels, if the file with the answers does not contain them.

    Raises:
        InputError: If a file cannot be opened, or there are no claims.
    """
    parts = [_read_claims(path, corpus or Corpus(), labels) for path in paths]
    claims = [claim for part in parts for claim in part.claims]
    n_missing = sum(part.n_missing for part in parts)
    if not claims:
        hint = f"; {n_missing} claims have no document; pass --corpus" if n_missing else ""
        raise InputError(f"no labelled claims in {', '.join(map(str, paths))}{hint}")
    # Claims and documents can be spread over several files.
    pairs = ((list_claim_names(claim), claim.group) for claim in claims)
    groups = link_names(pair for names, group in pairs for pair in (names, (names[0], group)))
    claims = [replace(claim, group=groups[list_claim_names(claim)[0]]) for claim in claims]
    return Claims(tuple(claims), tuple(r for part in parts for r in part.rejections), n_missing)


def _read_claims(path: Path, corpus: Literature, labels: Path | None) -> Claims:
    items = () if path.is_dir() else iter_items(path)
    first = next((item for item in items if isinstance(item, Item)), None)
    if first is not None and is_fact_check(first):
        return _read_scifact_claims(path, corpus)
    is_answers = first is not None and MEDAESQA.leading in first.fields
    if labels is not None or is_answers:
        return _read_cited_claims(path, corpus, labels)
    claims, rejections = read_claims(path)
    return Claims(tuple(claims), tuple(rejections))


def _read_scifact_claims(path: Path, corpus: Literature) -> Claims:
    claims: list[LabelledClaim] = []
    checks, rejections = split_rejections(iter_read(iter_items(path), read_fact_checks))
    for one in checks:
        document, label = corpus.get(one.document), parse_label(one.label)
        if document is not None and label is not None:
            sentences = tuple(extract_sentences(document.text))
            claims.append(LabelledClaim(one.claim, document.title, sentences, (), label, ""))
    return Claims(tuple(group_claims(claims)), rejections, len(checks) - len(claims))


def _read_cited_claims(path: Path, corpus: Literature, labels: Path | None) -> Claims:
    """Pair answer sentences with the documents that they cite. Invalid citations are skipped."""
    read = read_records(path)
    claims: list[LabelledClaim] = []
    n_missing = 0
    for sentence in read_labelled_sentences(path, read.records, corpus, labels):
        for cited in sentence.documents:
            label = parse_label(_LABELS.get(cited.label, cited.label))
            if label is None:
                continue
            if cited.document is None:
                n_missing += 1
                continue
            text = tuple(extract_sentences(cited.document.text))
            group = f"question {sentence.topic}"
            claims.append(
                LabelledClaim(sentence.text, cited.document.title, text, (), label, group)
            )
    rejections = dict.fromkeys((*read.rejections, *read_labels(labels or path).rejections))
    return Claims(tuple(claims), tuple(rejections), n_missing)


def hash_claims(claims: Sequence[LabelledClaim]) -> frozenset[str]:
    """Return hashes of the texts of all claims and documents."""
    return frozenset(hash_text(text) for claim in claims for text in _list_texts(claim))


def exclude_groups(claims: Sequence[LabelledClaim], marks: frozenset[str]) -> list[LabelledClaim]:
    """Return the claims in groups without any claim or document whose hash is in `marks`."""
    seen = {c.group for c in claims if any(hash_text(text) in marks for text in _list_texts(c))}
    return [claim for claim in claims if claim.group not in seen]


def _list_texts(claim: LabelledClaim) -> tuple[str, str]:
    return claim.claim, " ".join(claim.sentences)


def split_claims(
    claims: Sequence[LabelledClaim], share: float, seed: int
) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """Split claims into two parts with `split_by_group`, so that no group is in both parts.

    Raises:
        InputError: If all claims are in one group.
    """
    first, second = split_by_group(claims, share, seed)
    if not second:
        raise InputError(
            "the claims cannot be split because they all share a question, claim or document; "
            "pass a separate file with --dev"
        )
    return first, second


@dataclass(frozen=True)
class Verification:
    """Agreement between a verifier and human labels.

    Attributes:
        averages: Macro and weighted averages. For two labels, binary averages are first in the
            list.
        auc: Area under the ROC curve for the probability of the first label (BioACE's table 3), or
            None without probabilities.
    """

    accuracy: Score
    averages: tuple[Averaged, ...]
    auc: Score | None


def compare_labels(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str],
    shares: Sequence[float | None] | None = None,
) -> Verification:
    """Compare a verifier's labels with human labels.

    Args:
        truth: Human labels, shape (n,).
        predicted: Labels of the verifier, shape (n,). None means unscored.
        labels: Two or three labels, beginning with the label for supported claims.
        questions: Question or group of each claim, shape (n,), used to resample questions or groups
            for intervals.
        shares: The verifier's probability of the first label, shape (n,), for the area under the
            ROC curve.

    Raises:
        InputError: If the lengths differ or a label is not in `labels`.
    """
    ways: tuple[Average, ...] = ("macro", "weighted")
    if len(labels) == 2:
        ways = ("binary", *ways)
    agreed = measure_agreement(truth, predicted, labels, questions, averages=ways)
    area = None
    if shares is not None:
        is_first = [label == labels[0] for label in truth]
        area = measure_discrimination(shares, is_first, questions).auroc
    return Verification(agreed.accuracy, tuple(agreed.averages.values()), area)


@dataclass(frozen=True)
class VerifierFigures:
    """Agreement of a verifier with human labels, for two or three labels.

    `n_left_out` is the number of claims that were excluded because thresholds were fitted to them.
    """

    verifier: str
    n_labels: int
    result: Verification
    n_left_out: int = 0


def compute_label_shares(
    model: EntailmentModel,
    claims: Sequence[LabelledClaim],
    closest: Embedder | None = None,
    step: Step = lambda: None,
) -> NDArray[np.float64]:
    """Return a verifier's label probabilities for claims, shape (n_claims, 3).

    A claim is compared with the title and the abstract of a document (BioACE, section 4.2.1). If
    the embedder `closest` is set, a claim is compared with the most similar sentence (4.2.2).
    `step` is called after each claim.
    """
    import numpy as np

    n_words = ALL_WORDS if can_read_documents(model) else N_WORDS
    rows: list[NDArray[np.float64]] = []
    for start in range(0, len(claims), N_BATCH):
        part = claims[start : start + N_BATCH]
        rows.append(
            model.predict_probabilities([_build_pair(claim, closest, n_words) for claim in part])
        )
        for _ in part:
            step()
    return np.concatenate(rows) if rows else np.zeros((0, 3))


def _build_pair(claim: LabelledClaim, closest: Embedder | None, n_words: int) -> tuple[str, str]:
    if closest is None:
        passage = build_passage(claim.claim, claim.sentences, claim.title, n_words=n_words)
        return claim.claim, passage
    vectors = closest.encode([claim.claim, *claim.sentences])
    return claim.claim, f"\n{claim.sentences[int((vectors[1:] @ vectors[0]).argmax())]}"


def measure(
    names: Sequence[str],
    claims: Sequence[LabelledClaim],
    cache_dir: Path,
    n_labels: Sequence[int] = (2, 3),
    closest: Embedder | None = None,
    step: Step = lambda: None,
) -> list[VerifierFigures]:
    """Evaluate verifiers on claims, for each number of labels that they support.

    If a group of claims was used to fit the thresholds of any verifier, it is excluded for all
    verifiers, so that their results are comparable. `closest` and `step` are those of
    `compute_label_shares`.

    Raises:
        SettingsError: If a verifier is unavailable.
        InputError: If no claims remain, or no verifier supports the number of labels.
    """
    models = {(name, n): require_verifier(name, cache_dir, n) for n in n_labels for name in names}
    fitted = [one.fitted for one in models.values() if isinstance(one, FittedVerifier)]
    own = exclude_groups(claims, frozenset(text for one in fitted for text in one.texts))
    if not own:
        raise InputError(
            "the thresholds were fitted to all of these claims; pass claims that were not used "
            "for fitting"
        )
    results: list[VerifierFigures] = []
    known: dict[tuple[str, str], NDArray[np.float64]] = {}
    for n in n_labels:
        for name in names:
            model = models[name, n]
            if get_label_count(model) < n:
                continue
            # Most verifiers return the same shares for two and three labels.
            key = name, model.digest
            if key not in known:
                known[key] = compute_label_shares(model, own, closest, step)
            result = compare_label_shares(known[key], own, n)
            results.append(VerifierFigures(model.name, n, result, len(claims) - len(own)))
    if not results:
        raise InputError("none of these verifiers has three labels; pass --labels 2")
    return results


def compare_label_shares(
    shares: NDArray[np.float64], claims: Sequence[LabelledClaim], n_labels: int
) -> Verification:
    """Compare a verifier's label probabilities with human labels.

    The most probable label is the predicted label. The human label "not relevant" counts as
    neutral. With two labels, every label except support counts as "not attributable".
    """
    labels = VERDICT_SETS[n_labels]
    predicted = [_predict_label(row, n_labels) for row in shares.tolist()]
    supported = [None if math.isnan(row[SUPPORTS]) else row[SUPPORTS] for row in shares.tolist()]
    truth = [labels[_fold_label(claim.label, n_labels)] for claim in claims]
    return compare_labels(truth, predicted, labels, [claim.group for claim in claims], supported)


def _predict_label(row: Sequence[float], n_labels: int) -> str | None:
    if any(map(math.isnan, row)):
        return None
    return VERDICT_SETS[n_labels][_fold_label(max(range(3), key=row.__getitem__), n_labels)]


def _fold_label(label: int, n_labels: int) -> int:
    label = NEUTRAL if label == NOT_RELEVANT else label
    return min(label, 1) if n_labels == 2 else label


def fit(
    name: str,
    learnt: Sequence[LabelledClaim],
    held: Sequence[LabelledClaim],
    cache_dir: Path,
    *,
    n_labels: Literal[2, 3] = 2,
    data: Sequence[str] = (),
    seed: int = 0,
    step: Step = lambda: None,
) -> FittedThresholds:
    """Fit the thresholds of a verifier, and evaluate them on held-out claims.

    Args:
        held: Held-out claims, whose texts and documents do not occur in the training claims.
        n_labels: 2 or 3. For 2 labels, the threshold maximizes the F1 of "attributable". For 3
            labels, the thresholds of support and contradiction maximize macro-F1.

    Raises:
        SettingsError: If the verifier is unavailable.
        InputError: If there are no training claims, training and held-out claims overlap, or the
            verifier is already fitted or has only two labels.
    """
    marks = hash_claims(learnt)
    if len(exclude_groups(held, marks)) < len(held):
        raise InputError(
            "some held-out claims share their text or document with the training claims; split "
            "the claims by text and document"
        )
    model = _require_unfitted_verifier(name, cache_dir, n_labels)
    train, test = (compute_label_shares(model, side, step=step) for side in (learnt, held))
    thresholds = _fit_thresholds(train, learnt, n_labels)

    def compute_objective(shares: NDArray[np.float64], claims: Sequence[LabelledClaim]) -> Score:
        return compare_label_shares(shares, claims, n_labels).averages[0].f1

    return FittedThresholds(
        verifier=name,
        digest=model.digest,
        n_labels=n_labels,
        thresholds=thresholds,
        objective="f1" if n_labels == 2 else "macro_f1",
        learnt=compute_objective(reweight_shares(train, thresholds), learnt),
        before=compute_objective(test, held),
        after=compute_objective(reweight_shares(test, thresholds), held),
        data=tuple(data),
        texts=tuple(sorted(marks)),
        seed=seed,
    )


def _require_unfitted_verifier(
    name: str, cache_dir: Path, n_labels: Literal[2, 3]
) -> EntailmentModel:
    model = require_verifier(name, cache_dir, n_labels)
    if isinstance(model, FittedVerifier):
        raise InputError(
            f"{name} is already fitted; pass the verifier that was fitted, {model.fitted.verifier}"
        )
    if get_label_count(model) < n_labels:
        raise InputError(f"{name} has only two labels; pass --labels 2")
    return model


def _fit_thresholds(
    shares: NDArray[np.float64], claims: Sequence[LabelledClaim], n_labels: Literal[2, 3]
) -> Thresholds:
    import numpy as np

    is_scored = np.logical_not(np.isnan(shares).any(axis=1))
    truth = [_fold_label(claim.label, n_labels) for claim in compress(claims, is_scored.tolist())]
    if n_labels == 2:
        supported = shares[is_scored][:, SUPPORTS].tolist()
        best, _ = find_best_threshold(supported, [label == SUPPORTS for label in truth])
        return Thresholds(supports=best)
    return find_best_thresholds(shares[is_scored], truth)[0]
