"""View of an answer as it was written: statements with their states, and the text around them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragassay.records import Evaluation
from ragassay.reports.display import UNDECIDED, UNSCORED, Tone
from ragassay.reports.findings_view import FindingCard
from ragassay.reports.marked import Piece, mark_places, marked_passage
from ragassay.reports.sentence_view import (
    Chip,
    PassageView,
    SearchView,
    SentenceView,
    VerdictView,
    view_sentences,
)

MOST_MARK_CHARS = 8
"""The longest list mark that stands before a statement: "- [ ] ", "(iii)"."""

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
"""Words for the marks."""


_STATE_OF: dict[Tone, State] = {"good": "good", UNDECIDED: "open", UNSCORED: "unscored"}
"""The mark of a sentence by the tones of its verdicts, the first that is there."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A verdict on a sentence: of what, in a word, and why.

    `unsupported` are the sentence's words that the passage does not support.
    """

    about: str
    chip: Chip
    difference: str
    nuggets: tuple[tuple[str, Chip], ...] = ()
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quoted:
    """A passage, and all that was said of the sentence by it; no passage where none was kept.

    `source` is the position of its document among the answer's sources, if it is one of them.
    """

    passage: PassageView | None
    shown: tuple[Piece, ...]
    target: str
    remarks: tuple[Remark, ...]
    source: int | None


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation's marker in the text, with its verdict."""

    text: str
    tone: str
    word: str


@dataclass(frozen=True, slots=True)
class ProseSentence:
    """A sentence in the text, and what a click on it opens; `shown` is its text with marks."""

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
        """Its state in words."""
        return STATES[self.state]


BlockKind = Literal["statements", "text", "reasoning"]


@dataclass(frozen=True, slots=True)
class ProseBlock:
    """A block of an answer on the page.

    Attributes:
        kind: Statements; text that states nothing, such as a heading or a reference; the model's
            reasoning, which was not judged.
        text: The text; of statements, the list mark or table rule before the first.
    """

    kind: BlockKind
    text: str = ""
    sentences: tuple[ProseSentence, ...] = ()


def view_prose(evaluation: Evaluation, found: Sequence[FindingCard]) -> tuple[ProseBlock, ...]:
    """Return the answer as blocks; empty if it was not split into statements."""
    cards: dict[int, list[FindingCard]] = defaultdict(list)
    for card in found:
        cards[card.sentence].append(card)
    n_heads = {finding.sentence for finding in evaluation.primary_findings}
    places = {source.id: place for place, source in enumerate(evaluation.sources)}
    sentences = {
        view.index: _sentence(view, cards[view.index], view.index in n_heads, places)
        for view in view_sentences(evaluation)
    }
    return tuple(_blocks(evaluation, sentences)) if sentences else ()


def _blocks(evaluation: Evaluation, known: Mapping[int, ProseSentence]) -> Iterator[ProseBlock]:
    """Yield the blocks: a line break between two statements begins a new one."""
    block = ProseBlock("statements")
    end = 0
    for one in evaluation.sentences:
        gap = evaluation.answer[end : one.start]
        if "\n" in gap or not block.sentences or _WORD.search(_without_tags(gap)):
            if block.sentences:
                yield block
            yield from _between(evaluation, end, one.start)
            block = ProseBlock("statements", text=_line_start(gap))
        block = replace(block, sentences=(*block.sentences, known[one.index]))
        end = one.end
    unknown = sorted(known.keys() - {one.index for one in evaluation.sentences})
    block = replace(block, sentences=(*block.sentences, *(known[n] for n in unknown)))
    if block.sentences:
        yield block
    yield from _between(evaluation, end, len(evaluation.answer), is_last=True)


def _line_start(gap: str) -> str:
    """Return what stands before a statement on its line, unless it is a line of its own."""
    start = _without_tags(gap.rpartition("\n")[2]).strip()
    return start if len(start) <= MOST_MARK_CHARS else ""


def _without_tags(text: str) -> str:
    return _TAG.sub(" ", text)


def _between(
    evaluation: Evaluation, start: int, end: int, *, is_last: bool = False
) -> Iterator[ProseBlock]:
    """Yield the lines between two statements that hold words, and the reasoning there."""
    position = start
    for first, last in evaluation.reasoning:
        if start <= first < end:
            yield from _lines(evaluation.answer[position:first], is_last=True)
            yield ProseBlock("reasoning", evaluation.answer[first:last].strip())
            position = last
    yield from _lines(evaluation.answer[position:end], is_last=is_last)


def _lines(text: str, *, is_last: bool) -> Iterator[ProseBlock]:
    *lines, rest = _without_tags(text).split("\n")
    if is_last or len(rest.strip()) > MOST_MARK_CHARS:
        lines.append(rest)
    for line in lines:
        if _WORD.search(line):
            yield ProseBlock("text", line.strip())


def _sentence(
    view: SentenceView, cards: Sequence[FindingCard], is_wrong: bool, places: Mapping[str, int]
) -> ProseSentence:
    return ProseSentence(
        index=view.index,
        text=view.text,
        shown=mark_places(view.text, view.unsupported, "unsupported"),
        state="wrong" if is_wrong else "look" if cards else _state(view),
        markers=tuple(Marker(c.marker, c.chip.tone, c.chip.word) for c in view.citations),
        label=view.label,
        cards=tuple(cards),
        quoted=tuple(_quote_passages(view, places)),
        search=view.search,
    )


def _state(view: SentenceView) -> State:
    """Return what the verdicts come to where nothing was found against a sentence."""
    tones = [verdict.chip.tone for verdict in (*(view.evidence or ()), *view.citations)]
    if view.label:
        tones.append(view.label.tone)
    found: list[State] = [state for tone, state in _STATE_OF.items() if tone in tones]
    return found[0] if found else ""


def _quote_passages(view: SentenceView, places: Mapping[str, int]) -> Iterator[Quoted]:
    """Yield each passage once, with all verdicts by it, those on citations first."""
    verdicts: list[tuple[str, VerdictView]] = [
        *((f"[{one.marker}]", one) for one in view.citations),
        *((_SIDES.get(one.side, "evidence"), one) for one in view.evidence or ()),
        *([("correctness", view.correctness)] if view.correctness else []),
    ]
    groups: dict[tuple[str, str], list[tuple[str, VerdictView]]] = defaultdict(list)
    for about, one in verdicts:
        place = one.passage
        key = (place.document, place.text) if place else ("", one.target or about)
        groups[key].append((about, one))
    for group in groups.values():
        first = group[0][1]
        difference = next((one.difference for _, one in group if one.difference), "")
        yield Quoted(
            passage=first.passage,
            shown=marked_passage(first.passage.text, view.text, difference)
            if first.passage
            else (),
            target=first.target,
            remarks=tuple(
                Remark(about, one.chip, one.difference, one.nuggets, _words(view.text, one))
                for about, one in group
            ),
            source=places.get(first.passage.document) if first.passage else None,
        )


def _words(text: str, verdict: VerdictView) -> tuple[str, ...]:
    return tuple(words for start, end in verdict.spans if (words := text[start:end].strip()))


_SIDES = {"for": "evidence", "against": "evidence against"}
