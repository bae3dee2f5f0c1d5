"""Three papers of pairs with everything in them that a page can get wrong.

Hostile text in every place that comes from outside; a number that the paper lacks, a question that
needs its paper, an empty answer, two questions that are one, ratings that are low, undecided and
failed; a paper that was not measured, and one that is not at hand.
"""

from __future__ import annotations

from typing import Any

import pytest
from untrusted_texts import texts

from ragassay.qa.measures import find_covered_chunks, find_top_sentences
from ragassay.qa.view import QAReport
from ragassay.records import EvidenceSpan, Failure
from ragassay.records.inputs import QAPair
from ragassay.records.qa import (
    RACAR,
    AnswerNumber,
    ContextMark,
    IntentSimilarity,
    PairMeasures,
    Paper,
    PaperMeasures,
    PaperSection,
    RacarRating,
)

__all__ = ["texts"]

N_SENTENCES = 24


def rising(peak: int) -> tuple[float, ...]:
    """Similarities that are highest at a sentence and fall off to both sides."""
    return tuple(round(0.9 - 0.03 * abs(i - peak), 2) for i in range(N_SENTENCES))


def rated(pair: str, low: int | None = None) -> list[RacarRating]:
    values = dict.fromkeys(RACAR, 3) | ({"accuracy": low} if low else {})
    return [
        RacarRating(pair=pair, dimension=dimension, rating=value, score=value, judge="acme/judge")
        for dimension, value in values.items()
    ]


@pytest.fixture
def report(texts) -> QAReport:
    return build_report(texts.hostile, texts)


def build_report(hostile: str, texts: Any) -> QAReport:
    """A report of which every text is hostile."""
    body = f"Iron was {hostile} found. " + " ".join(
        f"The steel of sample {i} held iron." for i in range(1, N_SENTENCES)
    )
    paper = Paper(id=f"p {hostile}", title=f"Title {hostile}", sections=(PaperSection(text=body),))
    pairs = [
        ("1", "How much iron was found?", f"Answer {hostile} with 7 mg."),
        ("2", f"Question {hostile} of this study?", "It held iron."),
        ("3", "How much iron was found then?", " "),
        ("4", "What else is steel?", texts.right_to_left),
    ]
    pairs = [QAPair(id=i, question=q, answer=a, paper=paper.id) for i, q, a in pairs]
    pairs += [
        QAPair(id="5", question="Is it measured?", answer=texts.long, paper="unmeasured"),
        QAPair(id="6", question="Is it here?", answer=texts.markdown, paper="not at hand"),
    ]
    number = pairs[0].answer.rindex("7")
    mark = pairs[1].question.index("this study")
    questions = ((1, 0.3, 0.96, 0.1), (0.3, 1, 0.2, 0.5), (0.96, 0.2, 1, 0.1), (0.1, 0.5, 0.1, 1))
    rows = [rising(3), rising(20), (), rising(4)]
    measured = [
        PairMeasures(
            pair=pair.id,
            chunks=find_covered_chunks(row),
            closest=find_top_sentences(row, 10),
            similarity=row,
            nearest_question=pairs[2 if place != 2 else 0].id,
            nearest_similarity=0.96 if place in (0, 2) else 0.5,
        )
        for place, (pair, row) in enumerate(zip(pairs[:4], rows, strict=True))
    ]
    measured[0] = measured[0].model_copy(
        update={"numbers": (AnswerNumber(text="7", start=number, end=number + 1, is_found=False),)}
    )
    measured[1] = measured[1].model_copy(
        update={
            "context": (
                ContextMark(
                    part="question", text="this study", start=mark, end=mark + 10, kind="paper"
                ),
            )
        }
    )
    span = EvidenceSpan(document=paper.id, start=0, end=4, text=f"passage {hostile}")
    low = RacarRating(
        pair="1",
        dimension="accuracy",
        rating=1,
        score=1.2,
        reason=f"reason {hostile}",
        evidence=(span,),
        judge="acme/judge",
    )
    undecided = RacarRating(
        pair="2",
        dimension="relevance",
        failure=Failure(reason="undecided"),
        tentative_rating=2,
        judge="acme/judge",
    )
    failed = RacarRating(
        pair="2", dimension="accuracy", failure=Failure(reason="timeout"), judge="acme/judge"
    )
    return QAReport(
        name=f"name {hostile}",
        papers=(paper, Paper(id="unmeasured", sections=(PaperSection(text="It is so."),))),
        pairs=pairs,
        measures=(
            PaperMeasures(
                paper=paper.id,
                title=paper.title,
                n_sentences=N_SENTENCES,
                coverage=0.5,
                question_similarity=questions,
                pairs=tuple(measured),
            ),
        ),
        ratings=(low, undecided, failed, *rated("4", low=2)),
        intents=(
            IntentSimilarity(first="1", second="3", score=95, judge="acme/judge"),
            IntentSimilarity(first="1", second="2", score=10, judge="acme/judge"),
            IntentSimilarity(first="2", second="3", failure=Failure(reason="timeout"), judge="j"),
        ),
        embedder="all-MiniLM-L6-v2",
        judge=f"acme/judge {hostile}",
        cards=(f"card {hostile}",),
        notes=(f"note {hostile}",),
    )
