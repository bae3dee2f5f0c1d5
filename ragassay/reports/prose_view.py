"""View of an answer's full text: its statements and their states, and the text between them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragassay.records import Evaluation
from ragassay.reports.display import UNDECIDED, UNSCORED, Tone
from ragassay.reports.findings_view import FindingCard
from ragassay.reports.marked import Piece, mark_passage, mark_places
from ragassay.reports.sentence_view import (
    Chip,
    PassageView,
    SearchView,
    SentenceView,
    VerdictView,
    view_sentences,
)

MOST_MARK_CHARS = 8
"""Maximum length of a list marker before a statement, such as "- [ ] " or "(iii)"."""

_WORD = re.compile(r"[^\W_]")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,500}>")

State = Literal["wrong", "look", "good", "open", "unscored", ""]

STATES: dict[State, str] = {
    "wrong": "main finding",
    "look": "worth a look",
    "good": "supported",
    "open": UNDECIDED,
    "unscored": UNSCORED,
    "": "no verdict",
}
"""Text that describes each state of a sentence."""


_STATE_OF: dict[Tone, State] = {"good": "good", UNDECIDED: "open", UNSCORED: "unscored"}
"""State of a sentence by the tone of its verdicts. If the verdicts on a sentence have several
tones, the first one in this order counts."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A verdict on a sentence.

    Attributes:
        about: What was judged, such as "evidence" or a citation marker.
        unsupported: Parts of the sentence that the passage does not support.
    """

    about: str
    chip: Chip
    difference: str
    nuggets: tuple[tuple[str, Chip], ...] = ()
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quoted:
    """A passage, with all verdicts that compare a sentence with it.

    Attributes:
        passage: Passage, or None if it was not stored.
        source: Position of the document among the answer's sources, or None.
    """

    passage: PassageView | None
    shown: tuple[Piece, ...]
    target: str
    remarks: tuple[Remark, ...]
    source: int | None


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation marker in the text, with its verdict."""

    text: str
    tone: str
    word: str


@dataclass(frozen=True, slots=True)
class ProseSentence:
    """A sentence with its marked text, and the details that a click on it opens."""

    index: int
    text: str
    shown: tuple[Piece, ...]
    state: State
    markers: tuple[Marker, ...]
    label: Chip | None
    cards: tuple[FindingCard, ...]
    quoted: tuple[Quoted, ...]
    search: SearchView | None

    @property
    def word(self) -> str:
        """State as text."""
        return STATES[self.state]


BlockKind = Literal["statements", "text", "reasoning"]


@dataclass(frozen=True, slots=True)
class ProseBlock:
    """A block of an answer on the page.

    Attributes:
        kind: "statements", "text" for headings and references, or "reasoning" for the unjudged
            reasoning of the model.
        text: Text of the block. For statements, the list marker before the first statement.
    """

    kind: BlockKind
    text: str = ""
    sentences: tuple[ProseSentence, ...] = ()


def view_prose(evaluation: Evaluation, cards: Sequence[FindingCard]) -> tuple[ProseBlock, ...]:
    """Return the answer as blocks, or an empty tuple if it was not split into statements."""
    by_sentence: dict[int, list[FindingCard]] = defaultdict(list)
    for card in cards:
        by_sentence[card.sentence].append(card)
    wrong = {finding.sentence for finding in evaluation.primary_findings}
    positions = {source.id: position for position, source in enumerate(evaluation.sources)}
    sentences = {
        view.index: _view_sentence(view, by_sentence[view.index], view.index in wrong, positions)
        for view in view_sentences(evaluation)
    }
    return tuple(_split_blocks(evaluation, sentences)) if sentences else ()


def _split_blocks(
    evaluation: Evaluation, views: Mapping[int, ProseSentence]
) -> Iterator[ProseBlock]:
    """Yield the blocks. A line break or other text between two statements starts a new block."""
    block = ProseBlock("statements")
    end = 0
    for sentence in evaluation.sentences:
        gap = evaluation.answer[end : sentence.start]
        if "\n" in gap or not block.sentences or _WORD.search(_remove_tags(gap)):
            if block.sentences:
                yield block
            yield from _build_gap_blocks(evaluation, end, sentence.start)
            block = ProseBlock("statements", text=_extract_line_start(gap))
        block = replace(block, sentences=(*block.sentences, views[sentence.index]))
        end = sentence.end
    unknown = sorted(views.keys() - {sentence.index for sentence in evaluation.sentences})
    block = replace(block, sentences=(*block.sentences, *(views[n] for n in unknown)))
    if block.sentences:
        yield block
    yield from _build_gap_blocks(evaluation, end, len(evaluation.answer), is_last=True)


def _extract_line_start(gap: str) -> str:
    start = _remove_tags(gap.rpartition("\n")[2]).strip()
    return start if len(start) <= MOST_MARK_CHARS else ""


def _remove_tags(text: str) -> str:
    return _TAG.sub(" ", text)


def _build_gap_blocks(
    evaluation: Evaluation, start: int, end: int, *, is_last: bool = False
) -> Iterator[ProseBlock]:
    position = start
    for first, last in evaluation.reasoning:
        if start <= first < end:
            yield from _build_text_blocks(evaluation.answer[position:first], is_last=True)
            yield ProseBlock("reasoning", evaluation.answer[first:last].strip())
            position = last
    yield from _build_text_blocks(evaluation.answer[position:end], is_last=is_last)


def _build_text_blocks(text: str, *, is_last: bool) -> Iterator[ProseBlock]:
    *lines, rest = _remove_tags(text).split("\n")
    if is_last or len(rest.strip()) > MOST_MARK_CHARS:
        lines.append(rest)
    for line in lines:
        if _WORD.search(line):
            yield ProseBlock("text", line.strip())


def _view_sentence(
    view: SentenceView, cards: Sequence[FindingCard], is_wrong: bool, positions: Mapping[str, int]
) -> ProseSentence:
    return ProseSentence(
        index=view.index,
        text=view.text,
        shown=mark_places(view.text, view.unsupported, "unsupported"),
        state="wrong" if is_wrong else "look" if cards else _choose_state(view),
        markers=tuple(Marker(c.marker, c.chip.tone, c.chip.word) for c in view.citations),
        label=view.label,
        cards=tuple(cards),
        quoted=tuple(_quote_passages(view, positions)),
        search=view.search,
    )


def _choose_state(view: SentenceView) -> State:
    tones = [verdict.chip.tone for verdict in (*(view.evidence or ()), *view.citations)]
    if view.label:
        tones.append(view.label.tone)
    states: list[State] = [state for tone, state in _STATE_OF.items() if tone in tones]
    return states[0] if states else ""


def _quote_passages(view: SentenceView, positions: Mapping[str, int]) -> Iterator[Quoted]:
    verdicts: list[tuple[str, VerdictView]] = [
        *((f"[{verdict.marker}]", verdict) for verdict in view.citations),
        *((_SIDES.get(verdict.side, "evidence"), verdict) for verdict in view.evidence or ()),
        *([("correctness", view.correctness)] if view.correctness else []),
    ]
    groups: dict[tuple[str, str], list[tuple[str, VerdictView]]] = defaultdict(list)
    for about, verdict in verdicts:
        passage = verdict.passage
        key = (passage.document, passage.text) if passage else ("", verdict.target or about)
        groups[key].append((about, verdict))
    for group in groups.values():
        first = group[0][1]
        difference = next((v.difference for _, v in group if v.difference), "")
        yield Quoted(
            passage=first.passage,
            shown=mark_passage(first.passage.text, view.text, difference) if first.passage else (),
            target=first.target,
            remarks=tuple(
                Remark(
                    about=about,
                    chip=verdict.chip,
                    difference=verdict.difference,
                    nuggets=verdict.nuggets,
                    unsupported=_extract_spans(view.text, verdict),
                )
                for about, verdict in group
            ),
            source=positions.get(first.passage.document) if first.passage else None,
        )


def _extract_spans(text: str, verdict: VerdictView) -> tuple[str, ...]:
    return tuple(part for start, end in verdict.spans if (part := text[start:end].strip()))


_SIDES = {"for": "evidence", "against": "evidence against"}
