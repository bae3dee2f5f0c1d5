"""Attacks on answers, and the data that attacks work on, such as an answer in pieces."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragassay.perturbations.lexicon import Side
from ragassay.records import AttackFamily, Document, Record, SentenceInput, Severity
from ragassay.text.segmenter import detect_statements, find_statements
from ragassay.text.statements import Statement

MASK = "\ue000"
"""Placeholder for a citation marker in a piece's text, from the Unicode private use area."""

_ENDED = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]\s\ue000]*$")


@dataclass(frozen=True)
class AnswerPiece:
    """A sentence of an answer.

    Attributes:
        text: Text with each citation marker replaced by `MASK`.
        before: Text between the previous piece and this one, such as whitespace.
        citations: Citations of the sentence, if the answer is a list of sentences.
    """

    text: str
    markers: tuple[str, ...] = ()
    before: str = ""
    citations: tuple[str, ...] = ()
    is_changed: bool = False

    @property
    def written(self) -> str:
        """The text with its original citation markers."""
        first, *others = self.text.split(MASK)
        parts = zip(self.markers, others, strict=True)
        return first + "".join(marker + plain for marker, plain in parts)

    @property
    def words(self) -> str:
        """The text without markers and with normalized whitespace."""
        plain = " ".join(self.text.replace(MASK, " ").split())
        return re.sub(r" ([.,;:!?])", r"\1", plain)

    def with_text(self, text: str) -> AnswerPiece:
        """Return a changed copy. The new text must contain `MASK` as often as the old text."""
        return replace(self, text=text, is_changed=True)


@dataclass(frozen=True)
class CutAnswer:
    """An answer split into pieces.

    Attributes:
        is_listed: Whether the answer is a list of sentences with citations.
    """

    pieces: tuple[AnswerPiece, ...]
    after: str = ""
    is_listed: bool = False

    @property
    def places(self) -> list[int]:
        """Indices of the pieces that contain a letter."""
        return [i for i, piece in enumerate(self.pieces) if any(map(str.isalpha, piece.text))]

    def join_pieces(self) -> str | tuple[SentenceInput, ...]:
        """Return the answer as a string or, if `is_listed`, as a list of sentences."""
        if self.is_listed:
            return tuple(SentenceInput(text=p.written, citations=p.citations) for p in self.pieces)
        return self._join_text()

    def _join_text(self) -> str:
        return "".join(piece.before + piece.written for piece in self.pieces) + self.after

    def with_piece(self, index: int, piece: AnswerPiece) -> CutAnswer:
        """Return a copy with one piece replaced."""
        return replace(self, pieces=(*self.pieces[:index], piece, *self.pieces[index + 1 :]))

    def with_text(self, index: int, text: str, citations: tuple[str, ...] = ()) -> CutAnswer:
        """Return a copy with text inserted after the first `index` pieces.

        `citations` are used only if `is_listed`.
        """
        listed, rest = (citations if self.is_listed else ()), list(self.pieces[index:])
        added = AnswerPiece(text.replace(MASK, ""), (), "", listed, is_changed=True)
        if not self.is_listed:
            if index:
                added = replace(added, before=_choose_separator(self.pieces[index - 1].text))
            elif rest:
                added = replace(added, before=rest[0].before)
            if rest and (index == 0 or not _ENDED.search(text)):
                rest[0] = replace(rest[0], before=_choose_separator(text))
        return replace(self, pieces=(*self.pieces[:index], added, *rest))

    def remove_piece(self, index: int) -> CutAnswer:
        """Return a copy without a piece and without the whitespace before the piece."""
        kept = [*self.pieces[:index], *self.pieces[index + 1 :]]
        if index == 0 and kept:
            kept[0] = replace(kept[0], before=self.pieces[0].before)
        return replace(self, pieces=tuple(kept))

    def reorder(self, order: Sequence[int]) -> CutAnswer:
        """Return a copy with the pieces at `places` reordered and the whitespace unchanged."""
        pieces = list(self.pieces)
        for target, index in zip(self.places, order, strict=True):
            pieces[target] = replace(self.pieces[index], before=self.pieces[target].before)
        return replace(self, pieces=tuple(pieces))

    def find_changed_sentences(self, sources: Sequence[Document]) -> tuple[int, ...]:
        """Return the positions of added and changed sentences in the joined text, from 1."""
        if self.is_listed:
            non_empty = [piece for piece in self.pieces if piece.written.strip()]
            is_sentence = detect_statements(find_statements(self.join_pieces(), sources))
            sentences = itertools.compress(non_empty, is_sentence)
            return tuple(n for n, piece in enumerate(sentences, 1) if piece.is_changed)
        ranges, start = [], 0
        for piece in self.pieces:
            start += len(piece.before)
            end = start + len(piece.written)
            if piece.is_changed:
                ranges.append((start, end))
            start = end
        return tuple(
            n
            for n, statement in enumerate(find_statements(self._join_text(), sources), 1)
            if any(start < statement.end and statement.start < end for start, end in ranges)
        )


def cut_answer(record: Record) -> CutAnswer:
    """Split a record's answer into pieces."""
    statements = find_statements(record.answer, record.sources)
    if isinstance(record.answer, str):
        text = record.answer
        ends = [0, *(statement.end for statement in statements)]
        pieces = [
            _build_piece(text, statement, before=text[end : statement.start])
            for end, statement in zip(ends, statements, strict=False)
        ]
        return CutAnswer(tuple(pieces), text[ends[-1] :])
    text = " ".join(one.text for one in record.answer if one.text.strip())
    rest = iter(statements)
    listed = [
        _build_piece(text, next(rest), citations=one.citations)
        if one.text.strip()
        else AnswerPiece(one.text, citations=one.citations)
        for one in record.answer
    ]
    return CutAnswer(tuple(listed), is_listed=True)


def _choose_separator(text: str) -> str:
    return " " if _ENDED.search(text) else "\n\n"


def _build_piece(
    text: str, statement: Statement, before: str = "", citations: tuple[str, ...] = ()
) -> AnswerPiece:
    """Return a piece in which citation markers and any literal mask characters are masked."""
    start, end = statement.start, statement.end
    within = [span for span in statement.marks if start <= span[0] and span[1] <= end]
    within += [(i, i + 1) for i in range(start, end) if text[i] == MASK]
    parts, runs, position = [], [], start
    for first, last in sorted(within):
        parts.append(text[position:first])
        runs.append(text[first:last])
        position = last
    return AnswerPiece(MASK.join([*parts, text[position:end]]), tuple(runs), before, citations)


_LEAST_WORDS = 6
"""Minimum number of words of a sentence taken from another answer."""


class Neighbours:
    """Records that supply sentences and sources for attacks on other records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = [(build_question_key(record), record) for record in records]
        self._pieces: dict[str, list[AnswerPiece]] = {}

    def draw_sentence(self, record: Record, rng: random.Random) -> AnswerPiece | None:
        """Draw a sentence from an answer to another question, or return None if there is none."""
        others = self._list_other_answers(record)
        while others:
            pieces = self._list_long_pieces(others.pop(rng.randrange(len(others))))
            if pieces:
                return rng.choice(pieces)
        return None

    def draw_documents(self, record: Record, rng: random.Random, n: int) -> list[Document]:
        """Return the sources of up to `n` random records that have another question."""
        others = self._list_other_answers(record)
        chosen = rng.sample(others, min(n, len(others)))
        return [document for other in chosen for document in other.sources]

    def _list_other_answers(self, record: Record) -> list[Record]:
        own = build_question_key(record)
        return [other for key, other in self._records if key != own]

    def _list_long_pieces(self, record: Record) -> list[AnswerPiece]:
        if record.id not in self._pieces:
            self._pieces[record.id] = [
                piece
                for piece in cut_answer(record).pieces
                if len(piece.words.split()) >= _LEAST_WORDS
            ]
        return self._pieces[record.id]


def build_question_key(record: Record) -> str:
    """Return a record's topic, or its normalized question if it has no topic."""
    return record.topic or " ".join(record.question.lower().split())


Rephrase = Callable[[str], str]


@dataclass(frozen=True)
class Material:
    """Everything that an attack on an answer can use besides the answer.

    Attributes:
        rng: Random generator used only for this record and attack, so that results are independent.
        retracted: Sorted PMIDs of retracted articles.
    """

    record: Record
    rng: random.Random
    side: Side
    neighbours: Neighbours
    retracted: Sequence[str] = ()
    rephrase: Rephrase | None = None


@dataclass(frozen=True)
class Perturbation:
    """A perturbed answer and, if a text from a pool was inserted, its genre."""

    answer: CutAnswer
    pool: str = ""


Apply = Callable[[CutAnswer, Material], Perturbation | None]
"""Function that perturbs a non-empty answer, or returns None if it cannot change the answer."""


@dataclass(frozen=True)
class Attack:
    """Method of perturbing an answer.

    Attributes:
        targets: Scores that should decrease, such as "rubric.relevancy" or "citations.support".
            "findings.KIND" means that a finding of that kind should appear.
    """

    name: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    apply: Apply


def build_rubric_keys(*names: str) -> tuple[str, ...]:
    """Return the names of rubric scores, with the prefix "rubric."."""
    return tuple(f"rubric.{name}" for name in names)
