"""Everything that reads a text of somebody else's, as a function of that text, and hard texts."""

from __future__ import annotations

import random
from collections.abc import Callable

from ragassay.agents.context import fence_mark
from ragassay.agents.replies import read_reply
from ragassay.formats.conversations import read_messages
from ragassay.formats.fields import find_value
from ragassay.formats.files import guess_encoding
from ragassay.formats.named_fields import rename_fields
from ragassay.formats.papers.prose import read_prose
from ragassay.formats.qa_collections import split_evidence
from ragassay.formats.replies import read_structured_reply
from ragassay.formats.source_values import build_source_rows, count_texts, find_unread_paths
from ragassay.instruments.signals.features import extract_names, find_definitions, register_features
from ragassay.metrics.papers.sciqag import SourceNumbers, check_answer_numbers
from ragassay.perturbations.counterfactuals import (
    remove_hedge,
    swap_population,
    turn_direction,
    turn_negation,
)
from ragassay.perturbations.numbers import change_number
from ragassay.perturbations.perturb import perturb_answers
from ragassay.perturbations.wording_attacks import remove_connectives
from ragassay.qa.measures import list_paper_sentences
from ragassay.records import Document, Paper, Record
from ragassay.records.qa import PaperSection
from ragassay.reports.labels import flatten_text, replace_controls
from ragassay.reports.sheets import escape, escape_latex
from ragassay.retrievers.pubmed.live import list_word_choices
from ragassay.safe_text import escape_controls
from ragassay.text.answer_match import is_known_answer, is_unanswered
from ragassay.text.citation_markers import expand, extract_doi, is_list, strip_identifier
from ragassay.text.clauses import split_clauses
from ragassay.text.differences import find_difference, find_difference_spans
from ragassay.text.faults import compare_languages, is_cut_off, is_refused_answer, says_nothing
from ragassay.text.grounding import find_quote, is_carried
from ragassay.text.number_comparison import compare_numbers
from ragassay.text.number_mentions import read_mentions
from ragassay.text.quantities import extract_numbers, extract_stated_numbers, read_quantities
from ragassay.text.questions import (
    find_context_marks,
    find_question_flaws,
    find_question_word,
    is_one_question,
)
from ragassay.text.roles import explain_unconfirmed
from ragassay.text.search import (
    condense_documents,
    cut_passages,
    extract_passage,
    find_word_positions,
    list_windows,
    rank_texts,
    tokenize,
)
from ragassay.text.segmenter import segment

Reader = Callable[[str], object]


def record(text: str) -> Record:
    source = Document(id="1", text=text, title=text[:200])
    return Record(id="r", question="Q?", answer=text, sources=(source,))


def paper(text: str) -> Paper:
    return Paper(id="p", title="T", sections=(PaperSection(text=text),))


def reply(text: str) -> object:
    try:
        return read_reply(text, ("rating",))
    except ValueError:
        return None


def structured(text: str) -> object:
    """Read a reply whose citations quote pieces of the text at places that are wrong."""
    quotes = [text[n : n + 50] for n in range(0, min(len(text), 2_000), 20)]
    citations = [
        {"start": n, "end": n + 3, "text": quote, "document_ids": [quote]}
        for n, quote in enumerate(quotes)
    ]
    return read_structured_reply({"text": text, "generation_id": "g", "citations": citations})


def conversation(text: str) -> object:
    roles = ("system", "user", "tool", "assistant")
    return read_messages([{"role": role, "content": text} for role in roles])


READERS: dict[str, Reader] = {
    "structured reply": structured,
    "conversation": conversation,
    "evidence with its number": split_evidence,
    "segmenter": lambda text: segment(record(text), lambda _: None),
    "sources": lambda text: (
        build_source_rows(text),
        count_texts(text, "references"),
        find_unread_paths([text, {text[:50]: text}], "blob", long_text=True),
    ),
    "fields by name": lambda text: rename_fields({text[:50]: text, "query": text, "docs": text}),
    "paths": lambda text: find_value({"a": text, "b": [text, {"c": text}]}, text),
    "encodings": lambda text: guess_encoding(text.encode("utf-16-le", "surrogatepass")),
    "listed citations": lambda text: (
        expand(text),
        is_list(text),
        strip_identifier(text),
        extract_doi(text),
    ),
    "quantities": read_quantities,
    "numbers": lambda text: (extract_numbers(text), extract_stated_numbers(text)),
    "mentions of numbers": read_mentions,
    "compared numbers": lambda text: (
        compare_numbers(text, "It fell by 12 days in 5 % of 40 men."),
        compare_numbers("It fell by 12 days in 5 % of 40 men.", text),
        compare_numbers(text, text),
    ),
    "numbers of a paper": lambda text: check_answer_numbers(
        "1, 2 and 10 h", SourceNumbers.from_text(text)
    ),
    "numbers of an answer": lambda text: check_answer_numbers(
        text, SourceNumbers.from_text("1, 2 and 10 h")
    ),
    "context marks": lambda text: (find_context_marks(text, ""), find_context_marks("Why?", text)),
    "clauses": split_clauses,
    "words": lambda text: (tokenize(text), find_word_positions(text)),
    "passages": lambda text: (cut_passages(text), list_windows(record(text).sources[0])),
    "closest passage": lambda text: extract_passage("It fell in 12 adults.", text),
    "condensed": lambda text: condense_documents(record(text).sources, "it fell", 500),
    "ranking": lambda text: rank_texts("it fell", [text, text]),
    "quote": lambda text: (find_quote("it fell", text), find_quote(text, text[1:])),
    "grounding": lambda text: is_carried(text, text[2:], text),
    "difference": lambda text: find_difference("It fell by 12 days.", [text], beside=[]),
    "difference of a claim": lambda text: find_difference(text, ["It fell by 12 days."], beside=[]),
    "places of a difference": lambda text: find_difference_spans(text, text, "here"),
    "compared sides": lambda text: (
        explain_unconfirmed(text, ["It fell more with A than with B."]),
        explain_unconfirmed("It fell more with A than with B.", [text]),
        explain_unconfirmed(text, [text]),
    ),
    "known answer": lambda text: (is_unanswered(text), is_known_answer(text, ["12", text[1:]])),
    "questions": lambda text: (find_question_word(text), is_one_question(text, text[1:])),
    "flaws of a question": lambda text: find_question_flaws(text, [text[1:]]),
    "paper": lambda text: list_paper_sentences(paper(text)),
    "prose": lambda text: read_prose(text, may_have_title=True),
    "signals": lambda text: (
        register_features(text),
        says_nothing(text),
        find_definitions([text, text]),
        extract_names(text),
    ),
    "faults of an answer": lambda text: (
        is_cut_off([text, text]),
        is_refused_answer([text]),
        compare_languages("Does it fall in 12 adults?", text),
    ),
    "connectives": remove_connectives,
    "changes": lambda text: [
        change(text, random.Random(0))
        for change in (turn_negation, change_number, turn_direction, swap_population, remove_hedge)
    ],
    "damage": lambda text: perturb_answers([record(text)]),
    "search words": lambda text: list(list_word_choices(text)),
    "reply of a model": reply,
    "fence": lambda text: fence_mark([text]),
    "shown": lambda text: (
        escape_controls(text),
        flatten_text(text),
        replace_controls(text),
        escape(text),
        escape_latex(text),
    ),
}

PIECES = (
    *(" ", "\n", "\t", "a", "1", ".", ",", "-", "(", "[", "[[", "(((", '"', "'", "\u201c", "<"),
    *("*", "It grew [1]. ", "[1, ", "[1-1000000] ", "[1-50] ", "[1-", "[PMID ", "[PMID 1; "),
    *("[1][2]", "1. ", "1.1", "1,", "1, ", "1 ", "100,", "10^", "1-1", "1/2 ", "10.1000/"),
    *("[10.1000/a;b(", "(10.1000/[a]", "[doi: ", "https://doi.org/", "( ", ") ", "a) ", "[]"),
    *("[a](b) ", "?", "? ", "and ", "and, ", "However, ", "however ", "two hundred and "),
    *("fig. 1, ", "m s ", "not ", "no ", "the proposed ", "bee this bee ", "described "),
    *("does not ", "may ", "a, b, and c ", "A.B.", "Dr. ", "e.g. ", "A ", "Ab ", "AB (AB) "),
    *("(AB) ", "is ", "is because ", "was 12 days ", "by 5% ", "12 mg ", '{"', '{"a": '),
    *('{"rating": ', '{ "', "\\", "<data 00000000>", "</data>", "\x1b[31m", "\u202e", "\u00e9"),
    *("\u0130", "\u3002", "\U0001f600", "e\u0301", "\u00bd", "\u00b2", "\u00d7 10", "it fell "),
)
