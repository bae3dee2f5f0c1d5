"""Attacks that change clinically relevant words or citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ragassay.perturbations.attack import (
    MASK,
    AnswerPiece,
    Apply,
    Attack,
    CutAnswer,
    Material,
    Perturbation,
    build_rubric_keys,
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
from ragassay.text.citation_markers import expand, strip_identifier

_PMID = re.compile(r"[0-9]{5,8}")
_WORD = re.compile(r"[a-z0-9]{4,}")
_N_NEIGHBOURS = 20


@dataclass(frozen=True)
class _CitedPiece:
    item: str
    index: int
    is_listed: bool


def move_citation(answer: CutAnswer, material: Material) -> Perturbation | None:
    """Change one citation to a source that supports the sentence less well.

    The new source is one of the record's sources that shares fewer words with the sentence. If the
    record has no such source, or the cited PMID is not among its sources, a PMID from another
    record is used.
    """
    for index in material.rng.sample(answer.places, len(answer.places)):
        piece = answer.pieces[index]
        cited = _list_citations(piece)
        for citation in material.rng.sample(cited, len(cited)):
            target = _choose_target(citation.item, piece, [c.item for c in cited], material)
            moved = _replace_citation(piece, citation, target) if target else None
            if moved:
                return Perturbation(answer.with_piece(index, moved))
    return None


def cite_retracted(answer: CutAnswer, material: Material) -> Perturbation | None:
    """Add a citation of a retracted article, if possible to a sentence that has citations."""
    cited = {strip_identifier(c.item) for piece in answer.pieces for c in _list_citations(piece)}
    pmids = [pmid for pmid in material.retracted if pmid not in cited]
    if not pmids:
        return None
    citing = [i for i in answer.places if _list_citations(answer.pieces[i])]
    index = material.rng.choice(citing or answer.places)
    piece, marker = answer.pieces[index], f"PMID {material.rng.choice(pmids)}"
    if answer.is_listed:
        changed = replace(piece, citations=(*piece.citations, marker), is_changed=True)
    else:
        at = len(piece.text.rstrip().rstrip("\"')]"))
        at -= piece.text[:at].endswith((".", "!", "?"))
        text = f"{piece.text[:at].rstrip()} {MASK}{piece.text[at:]}"
        n_before = piece.text[:at].count(MASK)
        markers = (*piece.markers[:n_before], f"[{marker}]", *piece.markers[n_before:])
        changed = replace(piece.with_text(text), markers=markers)
    return Perturbation(answer.with_piece(index, changed))


def _list_citations(piece: AnswerPiece) -> list[_CitedPiece]:
    """Return the citations of a piece, except ranges and DOIs, which cannot be edited."""
    listed = [_CitedPiece(item, i, True) for i, item in enumerate(piece.citations)]
    marked = [
        _CitedPiece(item, i, False)
        for i, marker in enumerate(piece.markers)
        if marker != MASK and not re.search(r"\d\s*[-\u2013]\s*\d|10\.", marker)
        for item in expand(marker[1:-1].strip())
    ]
    return [*listed, *marked]


def _choose_target(item: str, piece: AnswerPiece, cited: Sequence[str], material: Material) -> str:
    sources = material.record.sources
    used = {_resolve_item(c, material.record) for c in cited}
    own = _resolve_item(item, material.record)
    if own is None:
        return _choose_foreign_pmid(item, material)
    overlap = _compute_overlap(piece.words, sources[own])
    worse = [
        i
        for i, source in enumerate(sources)
        if i not in used and _compute_overlap(piece.words, source) < overlap
    ]
    if not worse:
        return _choose_foreign_pmid(item, material)
    chosen = material.rng.choice(worse)
    position = str(chosen + 1)
    if _is_position(item, material.record) and _resolve_item(position, material.record) == chosen:
        return position
    return item.replace(strip_identifier(item), sources[chosen].id)


def _resolve_item(item: str, record: Record) -> int | None:
    for i, source in enumerate(record.sources):
        if source.id == item or strip_identifier(source.id) == strip_identifier(item):
            return i
    return int(item) - 1 if _is_position(item, record) else None


def _is_position(item: str, record: Record) -> bool:
    # "0" is a position only if a source has that id.
    least = 0 if any(source.id == item for source in record.sources) else 1
    return item.isdigit() and least <= int(item) <= len(record.sources)


def _choose_foreign_pmid(item: str, material: Material) -> str:
    """Return a PMID from the sources of other records, or "" if `item` is not a PMID."""
    if not _PMID.fullmatch(strip_identifier(item)):
        return ""
    documents = material.neighbours.draw_documents(material.record, material.rng, _N_NEIGHBOURS)
    own = {source.id for source in material.record.sources}
    pmids = [d.id for d in documents if _PMID.fullmatch(d.id) and d.id not in own]
    return item.replace(strip_identifier(item), material.rng.choice(pmids)) if pmids else ""


def _replace_citation(piece: AnswerPiece, cited: _CitedPiece, target: str) -> AnswerPiece | None:
    if cited.is_listed:
        citations = [*piece.citations]
        citations[cited.index] = target
        return replace(piece, citations=tuple(citations), is_changed=True)
    marker = piece.markers[cited.index]
    number = re.escape(strip_identifier(cited.item))
    changed = re.sub(rf"(?<!\d){number}(?!\d)", strip_identifier(target), marker, count=1)
    if changed == marker:
        return None
    markers = (*piece.markers[: cited.index], changed, *piece.markers[cited.index + 1 :])
    return replace(piece, markers=markers, is_changed=True)


def _compute_overlap(sentence: str, source: Document) -> float:
    """Return the share, in [0, 1], of a sentence's long words that the source contains."""
    words = set(_WORD.findall(sentence.lower()))
    shared = words & set(_WORD.findall(f"{source.title} {source.text}".lower()))
    return len(shared) / len(words) if words else 0.0


def _change_one_sentence(
    answer: CutAnswer, material: Material, change: Change
) -> Perturbation | None:
    for index in material.rng.sample(answer.places, len(answer.places)):
        piece = answer.pieces[index]
        text = change(piece.text, material.rng)
        if text and text != piece.text and any(c.isalnum() for c in text):
            return Perturbation(answer.with_piece(index, piece.with_text(text)))
    return None


def _change_drug(answer: CutAnswer, material: Material) -> Perturbation | None:
    texts = (f"{source.title} {source.text}" for source in material.record.sources)
    return _change_one_sentence(answer, material, swap_drug(texts))


def _build_sentence_change(change: Change) -> Apply:
    return partial(_change_one_sentence, change=change)


_FACTS = (*build_rubric_keys("correctness"), "evidence.support", "citations.support")
_CITED = (*build_rubric_keys("correctness"), "citations.support")
_RETRACTED = ("findings.retracted_citation", "citations.support")

CLINICAL: tuple[Attack, ...] = tuple(
    Attack(name, "clinical", "subtle", targets, apply)
    for name, targets, apply in (
        ("number", _FACTS, _build_sentence_change(change_number)),
        ("negation", _FACTS, _build_sentence_change(turn_negation)),
        ("comparator", _FACTS, _build_sentence_change(turn_direction)),
        ("population", _FACTS, _build_sentence_change(swap_population)),
        ("drug", _FACTS, _change_drug),
        ("hedge", _FACTS, _build_sentence_change(remove_hedge)),
        ("citation", _CITED, move_citation),
        ("retracted", _RETRACTED, cite_retracted),
    )
)

RETRACTED = CLINICAL[-1]
"""Name of the attack that requires PMIDs of retracted articles."""
