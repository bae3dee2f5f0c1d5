"""Labelled claims, out of any file that has some."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats import read_labels, read_records
from ragassay.formats.claims import is_fact_check, read_fact_checks
from ragassay.formats.items import Item, iter_items
from ragassay.formats.medaesqa import MEDAESQA
from ragassay.formats.problems import Problem
from ragassay.models.fitted_models import mark_of
from ragassay.optimizers.finetuning.claims import (
    LabelledClaim,
    claim_names,
    group_claims,
    label_of,
    link_names,
    read_claims,
)
from ragassay.records import Rejection
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.studies.verifiers.sentences import labelled_sentences
from ragassay.text.sentences import sentences_of

_LABELS = {"not_attributable": "neutral"}


@dataclass(frozen=True)
class Claims:
    """The labelled claims of files.

    Attributes:
        claims: With their groups.
        rejections: Rows that could not be read.
        n_missing: Pairs left out, as their document has no text here.
    """

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
    first = None if path.is_dir() else next(islice(_items(path), 1), None)
    if first is not None and is_fact_check(first):
        return _fact_checks(path, corpus)
    is_answers = first is not None and MEDAESQA.leading in first.fields
    if labels is not None or is_answers:
        return _read_cited_claims(path, corpus, labels)
    claims, rejections = read_claims(path)
    return Claims(tuple(claims), tuple(rejections))


def _items(path: Path) -> Iterator[Item]:
    return (item for item in iter_items(path) if isinstance(item, Item))


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
    """Split claims in two, each group on one side.

    Args:
        claims: In any order, which is kept.
        share: Share of the groups for the second side, which gets one at least.
        seed: Chooses the groups.

    Raises:
        InputError: All claims are of one group.
    """
    groups = sorted({claim.group for claim in claims})
    if len(groups) < 2:
        raise InputError("all claims share a question, a claim or a document: name others by --dev")
    random.Random(f"split:{seed}").shuffle(groups)
    second = set(groups[: min(max(1, round(share * len(groups))), len(groups) - 1)])
    return (
        [claim for claim in claims if claim.group not in second],
        [claim for claim in claims if claim.group in second],
    )
