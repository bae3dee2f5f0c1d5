"""Parse an answer and split it into statements with their citations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitedSpan,
    Document,
    Record,
    SentenceInput,
    remove_spans,
)
from ragassay.text.bibliography import split_bibliography
from ragassay.text.blocks import LIST_MARK, read_blocks
from ragassay.text.citation_resolver import CitationResolver, Lookup
from ragassay.text.citation_styles import Target
from ragassay.text.faults import find_reasoning, overwrite_spans
from ragassay.text.markup import Span, extract_plain_text
from ragassay.text.statements import (
    WORD,
    BlockPart,
    Statement,
    add_marks,
    build_statements,
    extract_unmarked_text,
    mark_parts,
)


def segment(
    record: Record, lookup: Lookup | None = None
) -> tuple[str, list[AnswerSentence], list[Document]]:
    """Split the answer of a record into statements with resolved citations.

    A statement is a sentence, a list item or a table row. Headings, list markers, reasoning, code
    and reference lists are not statements. Citation marks may refer to entries of the reference
    list. A mark belongs to the statement that contains or precedes it, or, at the start of a line,
    to the next statement on that line.

    Marks are resolved to the sources of the record or, failing that, by `lookup`, which returns
    documents outside the sources by id.

    Returns:
        The unchanged answer, its statements, and its sources followed by the cited documents that
        `lookup` found. Statements include their marks and do not overlap. The offsets of statements
        refer to the answer.
    """
    if not isinstance(record.answer, str):
        resolver = CitationResolver(record.sources, lookup)
        text, sentences = _read_sentence_list(record.answer, resolver)
        return text, sentences, resolver.documents
    statements, resolver = _read_statements(record.answer, record.sources, lookup)
    _attach_spans(statements, record.citations)
    sentences = [
        AnswerSentence(
            index=n,
            text=one.text,
            start=one.start,
            end=one.end,
            citations=resolver.resolve_targets(one.targets),
        )
        for n, one in enumerate(statements, 1)
    ]
    return record.answer, sentences, resolver.documents


def extract_judged_text(record: Record) -> str:
    """Return the answer of a record as a single text without its reasoning."""
    if not isinstance(record.answer, str):
        return _join_sentences(record.answer)[0]
    return remove_spans(record.answer, find_reasoning(record.answer))


def find_statements(
    answer: str | Sequence[SentenceInput], sources: Sequence[Document] = ()
) -> list[Statement]:
    """Return the statements of an answer, with marks that are not resolved.

    If the answer is a list of sentences, each non-blank sentence is a statement, and offsets refer
    to the sentences joined by spaces.
    """
    if not isinstance(answer, str):
        return _parse_sentence_list(answer, CitationResolver(sources))[1]
    return _read_statements(answer, sources)[0]


def _read_statements(
    answer: str, sources: Sequence[Document], lookup: Lookup | None = None
) -> tuple[list[Statement], CitationResolver]:
    text = overwrite_spans(answer, find_reasoning(answer))
    titles = [source.title for source in sources]
    references, blocks = split_bibliography(text, read_blocks(text), titles)
    resolver = CitationResolver(sources, lookup, references)
    return build_statements(answer, blocks, resolver), resolver


def _attach_spans(statements: Sequence[Statement], cited: Sequence[CitedSpan]) -> None:
    """Add structured citations to the statements that they cover, in place of the marks there."""
    starts = [statement.start for statement in statements]
    for span in cited:
        targets = [Target("name", name, name) for name in span.documents]
        at = max(0, bisect_right(starts, span.start) - 1)
        covered = [
            s for s in statements if s.start < span.end and span.start < s.end
        ] or statements[at : at + 1]
        for statement in covered:
            inside = [
                n for n, (a, b) in enumerate(statement.marks) if span.start <= a and b <= span.end
            ]
            if inside and len(statement.marks) == len(statement.targets):
                for n in reversed(inside):
                    del statement.targets[n], statement.marks[n]
            statement.targets += targets


def _read_sentence_list(
    listed_sentences: Sequence[SentenceInput], resolver: CitationResolver
) -> tuple[str, list[AnswerSentence]]:
    """Return the statements of an answer that is a list of sentences, with their citations."""
    text, statements, listed = _parse_sentence_list(listed_sentences, resolver)
    sentences: list[AnswerSentence] = []
    early: tuple[Citation, ...] = ()
    for one, citations, is_statement in zip(
        statements, listed, detect_statements(statements), strict=True
    ):
        resolved = resolver.resolve_targets([*resolver.resolve_listed(citations), *one.targets])
        if is_statement:
            sentence_text = (
                one.text if WORD.search(one.text) or not one.marks else text[one.start : one.end]
            )
            cited = tuple(dict.fromkeys([*early, *resolved]))
            position = {"index": len(sentences) + 1, "start": one.start, "end": one.end}
            sentences.append(AnswerSentence(text=sentence_text, citations=cited, **position))
            early = ()
        elif sentences:  # only marks, which belong to the previous sentence
            cited = tuple(dict.fromkeys([*sentences[-1].citations, *resolved]))
            update = {"citations": cited, "end": one.end}
            sentences[-1] = sentences[-1].model_copy(update=update)
        else:
            early += resolved
    return text, sentences


def detect_statements(statements: Sequence[Statement]) -> list[bool]:
    """Return for each sentence whether it is a statement, that is, more than citation marks.

    If every sentence contains only marks, the first sentence counts as a statement.
    """
    stand = [bool(one.text and (WORD.search(one.text) or not one.marks)) for one in statements]
    return stand if any(stand) else [n == 0 for n in range(len(statements))]


def _parse_sentence_list(
    listed_sentences: Sequence[SentenceInput], resolver: CitationResolver
) -> tuple[str, list[Statement], list[tuple[str, ...]]]:
    text, spans, listed = _join_sentences(listed_sentences)
    parts = [[BlockPart(extract_plain_text(text, [_skip_list_mark(text, span)]))] for span in spans]
    statements: list[Statement] = []
    for (start, end), (part,) in zip(spans, mark_parts(parts, resolver), strict=True):
        statement = Statement(start, end, extract_unmarked_text(part, 0, len(part.plain.text)))
        add_marks(statement, part, part.marks)
        statements.append(statement)
    return text, statements, listed


def _skip_list_mark(text: str, span: Span) -> Span:
    mark = LIST_MARK.match(text, *span)
    rest = re.sub(r"\[[^\[\]]*\]", "", text[mark.end() : span[1]]) if mark else ""
    if mark and re.search(r"[^\W\d_]", rest):  # a list mark is followed by words, not numbers only
        return mark.end(), span[1]
    return span


def _join_sentences(
    listed_sentences: Sequence[SentenceInput],
) -> tuple[str, list[Span], list[tuple[str, ...]]]:
    pieces: list[str] = []
    spans: list[Span] = []
    listed: list[tuple[str, ...]] = []
    start = 0
    for sentence in listed_sentences:
        if sentence.text.strip():
            pieces.append(sentence.text)
            spans.append((start, start + len(sentence.text)))
            listed.append(sentence.citations)
            start += len(sentence.text) + 1
        elif listed:
            listed[-1] += sentence.citations
    return " ".join(pieces), spans, listed
