"""Attacks that change a few words, or a citation, in a way that would matter to a patient."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragassay.perturbations.attack import (
    MASK,
    AnswerPiece,
    Apply,
    Attack,
    CutAnswer,
    Material,
    Perturbation,
    rubrics,
)
from ragassay.perturbations.counterfactuals import (
    Change,
    remove_hedge,
    swap_drug,
    swap_population,
    turn_direction,
    turn_negation,
)
from ragassay.perturbations.numbers import change_number
from ragassay.records import Document, Record
from ragassay.text.citation_markers import bare, expand

_PMID = re.compile(r"[0-9]{5,8}")
_WORD = re.compile(r"[a-z0-9]{4,}")
_N_NEIGHBOURS = 20


@dataclass(frozen=True)
class _CitedPiece:
    """A citation in a piece: of a marker in its text, or listed with it."""

    item: str
    index: int
    is_listed: bool


def move_citation(answer: CutAnswer, material: Material) -> Perturbation | None:
    """Point one citation to another source of the record, or to an article of another record.

    Among the record's sources it picks one that shares fewer words with the sentence than the cited
    one: all of them are about the question, so another may support it as well. PMIDs that are not
    among the sources are replaced by a PMID of another record.
    """
    for place in material.rng.sample(answer.places, len(answer.places)):
        piece = answer.pieces[place]
        cited = _citations(piece)
        for one in material.rng.sample(cited, len(cited)):
            other = _other(one.item, piece, [c.item for c in cited], material)
            moved = _with_item(piece, one, other) if other else None
            if moved:
                return Perturbation(answer.with_piece(place, moved))
    return None


def cite_retracted(answer: CutAnswer, material: Material) -> Perturbation | None:
    """Cite a retracted article, next to what a sentence already cites or alone."""
    cited = {bare(c.item) for piece in answer.pieces for c in _citations(piece)}
    pmids = [pmid for pmid in material.retracted if pmid not in cited]
    if not pmids:
        return None
    citing = [place for place in answer.places if _citations(answer.pieces[place])]
    place = material.rng.choice(citing or answer.places)
    piece, marker = answer.pieces[place], f"PMID {material.rng.choice(pmids)}"
    if answer.is_listed:
        other = replace(piece, citations=(*piece.citations, marker), is_changed=True)
    else:
        at = len(piece.text.rstrip().rstrip("\"')]"))
        at -= piece.text[:at].endswith((".", "!", "?"))
        text = f"{piece.text[:at].rstrip()} {MASK}{piece.text[at:]}"
        n_before = piece.text[:at].count(MASK)
        markers = (*piece.markers[:n_before], f"[{marker}]", *piece.markers[n_before:])
        other = replace(piece.with_text(text), markers=markers)
    return Perturbation(answer.with_piece(place, other))


def _citations(piece: AnswerPiece) -> list[_CitedPiece]:
    """Return what a piece cites, one by one; ranges and DOIs cannot be changed in place."""
    listed = [_CitedPiece(item, i, True) for i, item in enumerate(piece.citations)]
    found = [
        _CitedPiece(item, i, False)
        for i, marker in enumerate(piece.markers)
        if marker != MASK and not re.search(r"\d\s*[-\u2013]\s*\d|10\.", marker)
        for item in expand(marker[1:-1].strip())
    ]
    return [*listed, *found]


def _other(item: str, piece: AnswerPiece, cited: Sequence[str], material: Material) -> str:
    """Return the new target of a citation; empty where there is none."""
    sources = material.record.sources
    taken = {_resolve_item(c, material.record) for c in cited}
    own = _resolve_item(item, material.record)
    if own is None:
        return _foreign_pmid(item, material)
    overlap = _overlap(piece.words, sources[own])
    worse = [
        i
        for i, source in enumerate(sources)
        if i not in taken and _overlap(piece.words, source) < overlap
    ]
    if not worse:
        return _foreign_pmid(item, material)
    chosen = material.rng.choice(worse)
    position = str(chosen + 1)
    if _is_position(item, material.record) and _resolve_item(position, material.record) == chosen:
        return position
    return item.replace(bare(item), sources[chosen].id)


def _resolve_item(item: str, record: Record) -> int | None:
    """Return the index of the source that an item points to."""
    for i, source in enumerate(record.sources):
        if source.id == item or bare(source.id) == bare(item):
            return i
    return int(item) - 1 if _is_position(item, record) else None


def _is_position(item: str, record: Record) -> bool:
    # Where the ids are the positions, both readings agree, also of a source 0.
    least = 0 if any(source.id == item for source in record.sources) else 1
    return item.isdigit() and least <= int(item) <= len(record.sources)


def _foreign_pmid(item: str, material: Material) -> str:
    """Replace a PMID by one that another record cites or has as a source."""
    if not _PMID.fullmatch(bare(item)):
        return ""
    documents = material.neighbours.documents(material.record, material.rng, _N_NEIGHBOURS)
    own = {source.id for source in material.record.sources}
    pmids = [d.id for d in documents if _PMID.fullmatch(d.id) and d.id not in own]
    return item.replace(bare(item), material.rng.choice(pmids)) if pmids else ""


def _with_item(piece: AnswerPiece, cited: _CitedPiece, other: str) -> AnswerPiece | None:
    if cited.is_listed:
        citations = [*piece.citations]
        citations[cited.index] = other
        return replace(piece, citations=tuple(citations), is_changed=True)
    marker = piece.markers[cited.index]
    number, new = bare(cited.item), bare(other)
    changed = re.sub(rf"(?<!\d){re.escape(number)}(?!\d)", new, marker, count=1)
    if changed == marker:
        return None
    markers = (*piece.markers[: cited.index], changed, *piece.markers[cited.index + 1 :])
    return replace(piece, markers=markers, is_changed=True)


def _overlap(sentence: str, source: Document) -> float:
    """Return the share of a sentence's longer words that a source contains, in [0, 1]."""
    words = set(_WORD.findall(sentence.lower()))
    found = words & set(_WORD.findall(f"{source.title} {source.text}".lower()))
    return len(found) / len(words) if words else 0.0


def _one_sentence(change_for: Callable[[Material], Change]) -> Apply:
    """Make one change in one sentence, the first of a drawn order that it fits."""

    def apply(answer: CutAnswer, material: Material) -> Perturbation | None:
        change = change_for(material)
        for place in material.rng.sample(answer.places, len(answer.places)):
            piece = answer.pieces[place]
            text = change(piece.text, material.rng)
            if text and text != piece.text and any(c.isalnum() for c in text):
                return Perturbation(answer.with_piece(place, piece.with_text(text)))
        return None

    return apply


def _drug_change(material: Material) -> Change:
    return swap_drug(f"{source.title} {source.text}" for source in material.record.sources)


_FACTS = (*rubrics("correctness"), "evidence.support", "citations.support")
_CITED = (*rubrics("correctness"), "citations.support")
_RETRACTED = ("findings.retracted_citation", "citations.support")

CLINICAL: tuple[Attack, ...] = tuple(
    Attack(name, "clinical", "subtle", targets, apply)
    for name, targets, apply in (
        ("number", _FACTS, _one_sentence(lambda material: change_number)),
        ("negation", _FACTS, _one_sentence(lambda material: turn_negation)),
        ("comparator", _FACTS, _one_sentence(lambda material: turn_direction)),
        ("population", _FACTS, _one_sentence(lambda material: swap_population)),
        ("drug", _FACTS, _one_sentence(_drug_change)),
        ("hedge", _FACTS, _one_sentence(lambda material: remove_hedge)),
        ("citation", _CITED, move_citation),
        ("retracted", _RETRACTED, cite_retracted),
    )
)

RETRACTED = CLINICAL[-1]
"""Needs PMIDs of retracted articles."""
