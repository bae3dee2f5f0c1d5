"""Labelled claims, and verifiers that are fitted to them or measured on them (BioACE, 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.formats.claims import is_fact_check, read_fact_checks
from ragassay.formats.items import Item, iter_items
from ragassay.formats.medaesqa import MEDAESQA
from ragassay.formats.problems import Problem
from ragassay.metrics.papers.verifier_scores import (
    Thresholds,
    best_threshold,
    best_thresholds,
    decided_shares,
)
from ragassay.metrics.stats.agreement import Average, Averaged, agreement, discrimination
from ragassay.models.entailment import NEUTRAL, SUPPORTS, EntailmentModel, labels_known, reads_whole
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier, mark_of
from ragassay.models.verifiers import present_model
from ragassay.optimizers.compiling.items import split_by_group
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    LabelledClaim,
    claim_names,
    group_claims,
    label_of,
    link_names,
    read_claims,
)
from ragassay.records import VERDICT_SETS, Rejection, Score
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.studies.verifiers.sentences import Step, labelled_sentences
from ragassay.text.search import ALL_WORDS, N_WORDS, passage_of_sentences
from ragassay.text.sentences import sentences_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder

N_BATCH = 16
"""Claims between two steps of the bar."""

_LABELS = {"not_attributable": "neutral"}


@dataclass(frozen=True)
class Claims:
    """The labelled claims of files; `n_missing` pairs have no text of their document here."""

    claims: tuple[LabelledClaim, ...]
    rejections: tuple[Rejection, ...] = ()
    n_missing: int = 0


def read_labelled(
    paths: Sequence[Path], corpus: Literature | None = None, labels: Path | None = None
) -> Claims:
    """Read labelled claims from files.

    Args:
        paths: Rows of claim, evidence and label, as `ragassay finetune verifier` reads them; a run
            folder that people reviewed; SciFact's published form; or answers whose citations people
            labelled, such as MedAESQA.
        corpus: Documents of the last two.
        labels: Labels of the answers' citations, where they are in another file.

    Raises:
        InputError: A file cannot be opened, or there is no claim.
    """
    parts = [_read_claims(path, corpus or Corpus(), labels) for path in paths]
    claims = [claim for part in parts for claim in part.claims]
    n_missing = sum(part.n_missing for part in parts)
    if not claims:
        why = f"; pairs without a document: {n_missing}: name --corpus" if n_missing else ""
        raise InputError(f"no labelled claim in {', '.join(map(str, paths))}{why}")
    # A claim or a document may stand in several files.
    pairs = ((claim_names(claim), claim.group) for claim in claims)
    groups = link_names(pair for names, group in pairs for pair in (names, (names[0], group)))
    claims = [replace(claim, group=groups[claim_names(claim)[0]]) for claim in claims]
    return Claims(tuple(claims), tuple(r for part in parts for r in part.rejections), n_missing)


def _read_claims(path: Path, corpus: Literature, labels: Path | None) -> Claims:
    items = () if path.is_dir() else iter_items(path)
    first = next((item for item in items if isinstance(item, Item)), None)
    if first is not None and is_fact_check(first):
        return _fact_checks(path, corpus)
    is_answers = first is not None and MEDAESQA.leading in first.fields
    if labels is not None or is_answers:
        return _read_cited_claims(path, corpus, labels)
    claims, rejections = read_claims(path)
    return Claims(tuple(claims), tuple(rejections))


def _fact_checks(path: Path, corpus: Literature) -> Claims:
    claims: list[LabelledClaim] = []
    rejections: list[Rejection] = []
    n_missing = 0
    for item in iter_items(path):
        found = item if isinstance(item, Rejection) else read_fact_checks(item)
        if isinstance(found, Rejection):
            rejections.append(found)
        elif isinstance(found, Problem):
            assert isinstance(item, Item)
            rejections.append(item.place.reject(found))
        else:
            for one in found:
                document, label = corpus.get(one.document), label_of(one.label)
                if document is None or label is None:
                    n_missing += 1
                    continue
                sentences = tuple(sentences_of(document.text))
                claims.append(LabelledClaim(one.claim, document.title, sentences, (), label, ""))
    return Claims(tuple(group_claims(claims)), tuple(rejections), n_missing)


def _read_cited_claims(path: Path, corpus: Literature, labels: Path | None) -> Claims:
    """Pair sentences with the documents that they cite; an invalid citation is no pair."""
    read = read_records(path)
    claims: list[LabelledClaim] = []
    n_missing = 0
    for sentence in labelled_sentences(path, read.records, corpus, labels):
        for cited in sentence.documents:
            label = label_of(_LABELS.get(cited.label, cited.label))
            if label is None:
                continue
            if cited.document is None:
                n_missing += 1
                continue
            text = tuple(sentences_of(cited.document.text))
            group = f"question {sentence.topic}"
            claims.append(
                LabelledClaim(sentence.text, cited.document.title, text, (), label, group)
            )
    rejections = dict.fromkeys((*read.rejections, *read_labels(labels or path).rejections))
    return Claims(tuple(claims), tuple(rejections), n_missing)


def marks_of(claims: Sequence[LabelledClaim]) -> frozenset[str]:
    """Return the marks of all claims and documents."""
    return frozenset(mark_of(text) for claim in claims for text in _texts(claim))


def apart_from(claims: Sequence[LabelledClaim], marks: frozenset[str]) -> list[LabelledClaim]:
    """Return the claims whose group shares neither claim nor document with what marks name."""
    met = {c.group for c in claims if any(mark_of(text) in marks for text in _texts(c))}
    return [claim for claim in claims if claim.group not in met]


def _texts(claim: LabelledClaim) -> tuple[str, str]:
    return claim.claim, " ".join(claim.sentences)


def split_claims(
    claims: Sequence[LabelledClaim], share: float, seed: int
) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """Split claims in two, each group on one side; see `split_by_group`.

    Raises:
        InputError: All claims are of one group.
    """
    first, second = split_by_group(claims, share, seed)
    if not second:
        raise InputError("all claims share a question, a claim or a document: name others by --dev")
    return first, second


@dataclass(frozen=True)
class Verification:
    """A verifier against people, on claims of two or three labels.

    Attributes:
        accuracy: Share of claims on which they agree.
        averages: With two labels binary, macro and weighted; with three macro and weighted.
        auc: Area under the ROC curve of the share of the first label against people's, as in table
            3; None where the verifier gave no shares.
    """

    accuracy: Score
    averages: tuple[Averaged, ...]
    auc: Score | None


def verification(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str],
    shares: Sequence[float | None] | None = None,
) -> Verification:
    """Compare a verifier's labels with people's. scikit-learn computes the values.

    Args:
        truth: shape (n,), people's labels.
        predicted: shape (n,), the verifier's; None is unscored: left out and counted.
        labels: All labels, two or three; the first is that of a supported claim.
        questions: shape (n,), the question or group of each claim; intervals resample them.
        shares: shape (n,), the verifier's share of the first label, for the area.

    Raises:
        InputError: The lengths differ, or a label is not among `labels`.
    """
    ways: tuple[Average, ...] = ("macro", "weighted")
    if len(labels) == 2:
        ways = ("binary", *ways)
    found = agreement(truth, predicted, labels, questions, averages=ways)
    area = None
    if shares is not None:
        is_first = [label == labels[0] for label in truth]
        area = discrimination(shares, is_first, questions).auroc
    return Verification(found.accuracy, tuple(found.averages.values()), area)


@dataclass(frozen=True)
class VerifierFigures:
    """A verifier on labelled claims, for two or for three labels.

    `n_left_out` claims are not measured on, as thresholds were fitted to them.
    """

    verifier: str
    n_labels: int
    result: Verification
    n_left_out: int = 0


def shares_of(
    model: EntailmentModel,
    claims: Sequence[LabelledClaim],
    closest: Embedder | None = None,
    step: Step = lambda: None,
) -> NDArray[np.float64]:
    """Return a verifier's probabilities for claims, shape (n_claims, 3).

    A claim is compared with title and abstract (BioACE, section 4.2.1); with `closest`, with the
    sentence of the highest cosine (4.2.2). `step` is called after each claim.
    """
    import numpy as np

    n_words = ALL_WORDS if reads_whole(model) else N_WORDS
    rows: list[NDArray[np.float64]] = []
    for start in range(0, len(claims), N_BATCH):
        part = claims[start : start + N_BATCH]
        rows.append(model.probabilities([_pair(claim, closest, n_words) for claim in part]))
        for _ in part:
            step()
    return np.concatenate(rows) if rows else np.zeros((0, 3))


def _pair(claim: LabelledClaim, closest: Embedder | None, n_words: int) -> tuple[str, str]:
    if closest is None:
        passage = passage_of_sentences(claim.claim, claim.sentences, claim.title, n_words=n_words)
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
    """Measure verifiers on claims, for each number of labels that they know.

    The groups that some fitted file has seen are left out for all verifiers, so that all are
    measured on the same claims. `closest` and `step` are those of `shares_of`.

    Raises:
        SettingsError: A verifier is unavailable.
        InputError: Fitted files have seen every claim, or no table is left.
    """
    models = {(name, n): present_model(name, cache_dir, n) for n in n_labels for name in names}
    fitted = [one.fitted for one in models.values() if isinstance(one, FittedVerifier)]
    own = apart_from(claims, frozenset(text for one in fitted for text in one.texts))
    if not own:
        raise InputError("thresholds were fitted to all of these claims: name others")
    found: list[VerifierFigures] = []
    known: dict[tuple[str, str], NDArray[np.float64]] = {}
    for n in n_labels:
        for name in names:
            model = models[name, n]
            if labels_known(model) < n:
                continue
            # Most verifiers are asked the same for two labels and for three.
            key = name, model.digest
            if key not in known:
                known[key] = shares_of(model, own, closest, step)
            result = figures(known[key], own, n)
            found.append(VerifierFigures(model.name, n, result, len(claims) - len(own)))
    if not found:
        raise InputError("none of these verifiers knows three labels: ask for --labels 2")
    return found


def figures(
    shares: NDArray[np.float64], claims: Sequence[LabelledClaim], n_labels: int
) -> Verification:
    """Compare shares with people's labels; three labels fold "not relevant" into neutral.

    The largest share is the label; with two labels all but support are "not attributable".
    """
    labels = VERDICT_SETS[n_labels]
    found_labels = [_label(row, n_labels) for row in shares.tolist()]
    supported = [None if math.isnan(row[SUPPORTS]) else row[SUPPORTS] for row in shares.tolist()]
    truth = [labels[_place(claim.label, n_labels)] for claim in claims]
    return verification(truth, found_labels, labels, [claim.group for claim in claims], supported)


def _label(row: Sequence[float], n_labels: int) -> str | None:
    if any(map(math.isnan, row)):
        return None
    return VERDICT_SETS[n_labels][_place(max(range(3), key=row.__getitem__), n_labels)]


def _place(label: int, n_labels: int) -> int:
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
    """Find the thresholds with the highest F1 on some claims, and measure them on others.

    Args:
        learnt: Claims to fit to.
        held: Claims to measure on; none of them shares a group with those.
        cache_dir: The folder of converted weights.
        n_labels: 2 finds one threshold with the highest F1 of "attributable"; 3 finds two, of
            support and contradiction, with the highest macro-F1.
        data: Names of the files.
        seed: Of the split.
        step: Called after each claim.

    Raises:
        SettingsError: The verifier is unavailable, or fitted already.
        InputError: There is nothing to fit to, the two sides share claims, or the verifier knows
            two labels only.
    """
    import numpy as np

    marks = marks_of(learnt)
    if len(apart_from(held, marks)) < len(held):
        raise InputError("claims to measure on share a claim or a document with those to fit to")
    model = present_model(name, cache_dir, n_labels)
    if isinstance(model, FittedVerifier):
        raise InputError(f"{name} is fitted already: name its verifier, {model.fitted.verifier}")
    if labels_known(model) < n_labels:
        raise InputError(f"{name} knows two labels: it has one threshold, so leave --labels at 2")
    ours, theirs = (shares_of(model, side, step=step) for side in (learnt, held))
    told = np.logical_not(np.isnan(ours).any(axis=1))
    known = [claim for claim, is_told in zip(learnt, told.tolist(), strict=True) if is_told]
    truth = [_place(claim.label, n_labels) for claim in known]
    if n_labels == 2:
        best, _ = best_threshold(ours[told][:, SUPPORTS].tolist(), [not place for place in truth])
        thresholds = Thresholds(supports=best)
    else:
        thresholds, _ = best_thresholds(ours[told], truth)

    def objective(shares: NDArray[np.float64], claims: Sequence[LabelledClaim]) -> Score:
        return figures(shares, claims, n_labels).averages[0].f1

    return FittedThresholds(
        verifier=name,
        digest=model.digest,
        n_labels=n_labels,
        thresholds=thresholds,
        objective="f1" if n_labels == 2 else "macro_f1",
        learnt=objective(decided_shares(ours, thresholds), learnt),
        before=objective(theirs, held),
        after=objective(decided_shares(theirs, thresholds), held),
        data=tuple(data),
        texts=tuple(sorted(marks)),
        seed=seed,
    )
