"""One small run with everything in it that a report can get wrong.

Three answers of two systems: hostile text in every place that comes from outside, verdicts that
could not be had, a contradiction, an invalid citation, an extractive nugget, a missed gold nugget.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from untrusted_texts import HOSTILE, LONG, MARKDOWN, RIGHT_TO_LEFT, SCRIPT, texts

from ragassay.records import (
    RELEVANCE_LABELS,
    AnswerSentence,
    CardFigure,
    Citation,
    CitationVerdict,
    Document,
    Evaluation,
    EvidenceSearch,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    FileFingerprint,
    Finding,
    Judgment,
    Manifest,
    ModelCard,
    Nugget,
    NuggetMatch,
    RecordFailure,
    Rejection,
    Score,
    SearchQuery,
    SentenceLabel,
    Summary,
    Usage,
)

JUDGE = "ragassay/judge"
RUBRICS = (
    *("cohesion", "conciseness", "readability", "coherence", "integration", "relevancy"),
    *("correctness", "completeness", "informativeness"),
)
__all__ = ["texts"]

TIMEOUT = Failure(reason="timeout", detail="no reply in 60 s <b>")
FINDINGS = (
    ("extractive_nugget", "Sentence 2 was copied.", 2),
    ("inappropriate_sentence", f"Sentence 2 may do harm: {HOSTILE}", 2),
    ("contradicted_citation", "Sentence 2 says the opposite of the document it cites.", 2),
    ("invalid_citation", "[9] points nowhere.", 2),
    ("unscored", "Informativeness could not be rated: time-out.", None),
    ("brand_new_kind", "A kind that no table knows.", None),
)


class Run(NamedTuple):
    """The arguments of the renderers, in their order."""

    manifest: Manifest
    summary: Summary
    evaluations: tuple[Evaluation, ...]
    failures: tuple[RecordFailure, ...]
    rejections: tuple[Rejection, ...]


def share(value: float | None, n: int = 8, n_unscored: int = 0) -> Score:
    """A share with an interval of plus and minus 0.1."""
    if value is None:
        return Score(value=None, n=0, n_unscored=n_unscored, judge=JUDGE)
    return Score(
        value=value,
        n=n,
        n_unscored=n_unscored,
        low=max(0.0, value - 0.1),
        high=min(1.0, value + 0.1),
        worst=value * n / (n + n_unscored),
        best=(value * n + n_unscored) / (n + n_unscored),
        judge=JUDGE,
    )


def likert(value: float | None, n: int = 3, n_unscored: int = 0) -> Score:
    """A rubric's score with an interval of plus and minus half a point."""
    score = Score(value=value, n=n, n_unscored=n_unscored, scale=(1.0, 5.0), judge=JUDGE)
    if value is None:
        return score
    ends = {"low": max(1.0, value - 0.5), "high": min(5.0, value + 0.5)}
    bounds = (2.5, 4.5) if n_unscored else (value, value)
    return score.model_copy(update=ends | dict(zip(("worst", "best"), bounds, strict=True)))


def scores(base: float, shift: float = 0.0) -> dict[str, Score]:
    """Every score there is; one rubric is unscored in part."""
    rubrics = {
        f"rubric.{name}": likert(base + 0.1 * i, n_unscored=int(name == "readability"))
        for i, name in enumerate(RUBRICS)
    }
    values = {
        "nuggets": {"precision": 0.71, "recall": 0.5, "f1": 0.585, "vital_recall": 0.625},
        "sentences": {"required": 0.667} | dict.fromkeys(RELEVANCE_LABELS[1:], 0.111),
        "evidence": {"support": 0.7, "contradict": 0.1},
        "citations": {"support": 0.6, "contradict": 0.2, "coverage": 0.9},
    }
    shares = {
        f"{group}.{name}": share(value + shift)
        for group, named in values.items()
        for name, value in named.items()
    }
    shares["citations.support"] = share(values["citations"]["support"] + shift, n_unscored=1)
    shares["citations.coverage"] = shares["citations.coverage"].model_copy(update={"judge": ""})
    return rubrics | shares


def sentence(index: int, text: str, *citations: Citation) -> AnswerSentence:
    return AnswerSentence(index=index, text=text, start=0, end=len(text), citations=citations)


def passage(document: str, text: str, **fields: Any) -> EvidenceSpan:
    return EvidenceSpan(document=document, start=0, end=9, text=text, **fields)


def judgments() -> tuple[Judgment, ...]:
    """Ratings with distributions, one without log-probabilities, one unscored."""
    rated = [
        Judgment(
            rubric=name,
            rating=4,
            score=4.04,
            distribution=(0.01, 0.04, 0.15, 0.5, 0.3),
            rationale=f"The reason for {name}: the sentences follow from each other.",
        )
        for name in RUBRICS[:7]
    ]
    plain = Judgment(rubric=RUBRICS[7], rating=4, score=4.0, rationale=HOSTILE)
    return (*rated, plain, Judgment(rubric=RUBRICS[8], failure=TIMEOUT))


def first_evaluation() -> Evaluation:
    """Hostile text wherever it can be, and every kind of verdict."""
    one, two, lost = (
        Citation(marker="1", document="PMID 101"),
        Citation(marker="2", document=f"doc{SCRIPT}"),
        Citation(marker="9"),
    )
    text = "Metformin reduced HbA1c by 1.1 points against placebo."
    span = passage("PMID 101", text, relevance_score=0.8312)
    hostile = passage(f"doc{SCRIPT}", f"passage {HOSTILE}")
    found = passage("31180123", "No change.", title=f"Found {HOSTILE}")
    query = SearchQuery(text=f"query {HOSTILE}", side="against", round=1, n_found=10, n_new=7)
    return Evaluation(
        record_id=f"q1-{SCRIPT}",
        question=f"Does metformin lower HbA1c? {HOSTILE}",
        answer="Not shown, because it was cut into sentences.",
        system="alpha",
        topic="T1",
        judge=JUDGE,
        sentences=(
            sentence(1, "Metformin lowers HbA1c by about one point.", one),
            sentence(2, f"Hostile {HOSTILE}", two, lost),
            sentence(3, LONG, one),
            sentence(4, "Nobody cites anything here."),
        ),
        sources=(
            Document(id="PMID 101", text="...", title="Metformin in type 2 diabetes"),
            Document(id=f"doc{SCRIPT}", text="...", title=f"title {HOSTILE}"),
        ),
        nuggets=(
            Nugget(text="Metformin lowers HbA1c.", origin="answer", method="model", sentence=1),
            Nugget(text=f"nugget {HOSTILE}", origin="answer", method="extractive", sentence=2),
        ),
        gold_nuggets=(
            Nugget(text="Metformin lowers HbA1c by 1.1 points.", importance="vital"),
            Nugget(text=f"gold {HOSTILE}", importance="okay"),
        ),
        matches=(NuggetMatch(gold=0, nugget=0, similarity_score=0.876),),
        judgments=judgments(),
        labels=(
            SentenceLabel(sentence=1, label="required", confidence=0.91),
            SentenceLabel(sentence=2, label="inappropriate", confidence=0.62),
            SentenceLabel(sentence=3, label="borderline"),
            SentenceLabel(sentence=4, failure=TIMEOUT),
        ),
        evidence=(
            EvidenceVerdict(sentence=1, verdict="supports", confidence=0.88, evidence=span),
            EvidenceVerdict(sentence=2, verdict="contradicts", evidence=hostile),
            EvidenceVerdict(sentence=2, side="against", verdict="neutral", evidence=found),
            EvidenceVerdict(sentence=3, failure=Failure(reason="no_evidence")),
        ),
        searches=(
            EvidenceSearch(sentence=1, n_documents=2, end="sources_only"),
            EvidenceSearch(
                sentence=2,
                queries=(query,),
                n_documents=9,
                n_withdrawn=1,
                end="out_of_rounds",
                failure=TIMEOUT,
            ),
        ),
        citations=(
            CitationVerdict(
                sentence=1, citation=one, verdict="supports", confidence=0.97, evidence=span
            ),
            CitationVerdict(sentence=2, citation=two, verdict="contradicts", evidence=hostile),
            CitationVerdict(sentence=2, citation=lost, verdict="invalid"),
        ),
        scores=scores(3.4),
        findings=tuple(
            Finding(kind=kind, message=message, sentence=place) for kind, message, place in FINDINGS
        ),
    )


def second_evaluation() -> Evaluation:
    """Right-to-left text and Markdown; nothing could be scored."""
    return Evaluation(
        record_id="q1|beta",
        question=MARKDOWN,
        answer=RIGHT_TO_LEFT,
        system="beta | <b>",
        sentences=(sentence(1, RIGHT_TO_LEFT), sentence(2, MARKDOWN)),
        labels=(
            SentenceLabel(sentence=1, label="required", confidence=0.7),
            SentenceLabel(sentence=2, label="unnecessary", confidence=0.5),
        ),
        gold_nuggets=(Nugget(text="Never looked for."),),
        judgments=(Judgment(rubric="cohesion", failure=TIMEOUT),),
        scores={
            "rubric.cohesion": likert(None, n=0, n_unscored=1),
            "citations.support": share(None),
            "nuggets.recall": share(None, n_unscored=1),
        },
    )


def third_evaluation() -> Evaluation:
    """A plain answer that was not even cut into sentences."""
    return Evaluation(
        record_id="q2",
        question="What does aspirin inhibit?",
        answer="Aspirin inhibits cyclooxygenase.",
        system="alpha",
        scores={"nuggets.recall": share(0.75), "made_up.score_key": share(0.2), "bare": share(0.3)},
    )


def build_manifest() -> Manifest:
    figure = CardFigure(
        task="citation verdicts, three labels",
        data="SciFact, dev part, 300 claims",
        metric="accuracy",
        value=0.714,
        low=0.66,
        high=0.76,
        n=300,
        command="ragassay meta-evaluate --task citations",
    )
    return Manifest(
        ragassay="0.1.0",
        packages={"dspy": "3.4.0", "litellm": "1.80.0"},
        judge=JUDGE,
        judge_digest="a" * 64,
        embedder="all-MiniLM-L6-v2",
        embedder_digest="b" * 64,
        prompts_sha256="c" * 64,
        answers=FileFingerprint(name="answers.jsonl", sha256="d" * 64, n_items=5, format="jsonl"),
        settings={"temperature": 0.0, "seed": 13, "evidence": True},
        card=ModelCard(
            model="SmolLM2-135M-Instruct, tuned",
            description="A small model that runs on a laptop.",
            digest="e" * 64,
            limits=("Trained on English only.", "Weak on sentences over 200 words."),
            figures=(figure, figure.model_copy(update={"metric": "Spearman rho", "low": -0.1})),
        ),
    )


@pytest.fixture(scope="session")
def run() -> Run:
    evaluations = (first_evaluation(), second_evaluation(), third_evaluation())
    kinds = [finding.kind for evaluation in evaluations for finding in evaluation.findings]
    summary = Summary(
        n_records=5,
        n_evaluated=3,
        n_failed=1,
        n_rejected=1,
        scores=scores(3.4),
        systems={
            "alpha": scores(3.7),
            "beta | <b>": scores(2.9, -0.1) | {"rubric.cohesion": likert(None, n=0, n_unscored=1)},
        },
        findings={kind: kinds.count(kind) for kind in kinds},
        usage=Usage(n_calls=120, n_prompt_tokens=98765, n_completion_tokens=4321, cost_usd=None),
    )
    failure = Failure(reason="too_long", detail=f"detail {HOSTILE}")
    return Run(
        manifest=build_manifest(),
        summary=summary,
        evaluations=evaluations,
        failures=(RecordFailure(record_id="q3", stage="segment", failure=failure),),
        rejections=(
            Rejection(
                file="answers.jsonl",
                line=4,
                field="answer",
                problem="missing",
                expected="text or a list of sentences",
                content=f'{{"id": "q4", "question": "{HOSTILE}"}}',
            ),
        ),
    )
