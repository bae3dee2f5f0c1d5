"""Measure how many answer sentences cited or retrieved documents support (BioACE, figure 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import average_over_questions
from ragassay.models.correctness import CorrectnessModel
from ragassay.models.embeddings import Embedder
from ragassay.records import Document, Score
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.retrievers.reranked_literature import RerankedLiterature, choose_reranker
from ragassay.retrievers.rerankers import DEPTH
from ragassay.settings import Settings
from ragassay.studies.verifiers.sentences import CitedSentence, Step, find_best_window_score

By = Literal["question", "claim"]

AT_QUESTION, AT_CLAIM = "correctness_at_k", "correctness_at_k_by_claim"
"""Names of correctness at k if the queries are questions (as in BioACE) or sentences."""

N_FOUND = 1000
"""Number of BM25 results to rerank for a question (BioACE, section 3)."""


def supported_share(
    scores: Sequence[Sequence[float | None] | None],
    threshold: float,
    questions: Sequence[str],
    k: int | None = None,
    judge: str = "",
) -> Score:
    """Return the share of sentences that at least one of their first k documents supports.

    For cited documents, the share is BioACE's Supp(AS), or Supp(CS) if only documents that experts
    labelled as supporting are used (figure 7a). For search results, the share is correctness at k
    (figure 7b).

    Args:
        scores: Scores of the documents of each sentence, in order of rank. None stands for a
            missing score. A sentence is unscored if its list is None or empty (no documents),
            whereas BioACE counts it as wrong.
        questions: Question of each sentence, used to resample questions for an interval.
        k: Number of documents to use for each sentence, or None for all.

    Returns:
        The share over all sentences, as in BioACE. A sentence is unscored if no known score
        supports it and a score is missing.

    Example:
        >>> supported_share([[0.2, 0.9], [0.4]], 0.5, ["q1", "q2"], k=1).value
        0.0
    """
    values = [_is_supported(None if row is None else row[:k], threshold) for row in scores]
    return average_over_questions(values, questions, judge=judge)


def _is_supported(scores: Sequence[float | None] | None, threshold: float) -> float | None:
    if any(score is not None and score >= threshold for score in scores or ()):
        return 1.0
    return 0.0 if scores and None not in scores else None


@dataclass(frozen=True)
class Supported:
    """BioACE's Supp(AS) and Supp(CS), computed with one model.

    Attributes:
        all_cited: Supp(AS), the share of sentences that any cited document supports.
        supporting: Supp(CS), in which only documents that experts labelled as supporting count.
            None without labels.
    """

    model: str
    threshold: float
    all_cited: Score
    supporting: Score | None


def measure_support(
    sentences: Sequence[CitedSentence],
    model: CorrectnessModel,
    *,
    has_labels: bool = True,
    step: Step = lambda: None,
) -> Supported:
    """Return Supp(AS) and Supp(CS) of sentences (BioACE, section 3, figure 7a).

    A sentence is unscored if it cites no document, or for Supp(CS) no supporting document.
    Documents without text have no score.
    """
    cited: list[list[float | None]] = []
    supporting: list[list[float | None]] = []
    for sentence in sentences:
        scores = [
            find_best_window_score(model, sentence.text, one.document) if one.document else None
            for one in sentence.documents
        ]
        scored = zip(scores, sentence.documents, strict=True)
        cited.append(scores)
        supporting.append([score for score, one in scored if one.label == "supports"])
        step()
    topics = [one.topic for one in sentences]
    by_any, by_supporting = (
        supported_share(rows, model.threshold, topics, judge=model.name)
        for rows in (cited, supporting)
    )
    return Supported(model.name, model.threshold, by_any, by_supporting if has_labels else None)


@dataclass(frozen=True)
class Curve:
    """Correctness at each k for one model. `name` is `AT_QUESTION` or `AT_CLAIM`."""

    name: str
    model: str
    points: dict[int, Score]

    @property
    def title(self) -> str:
        """Name of the curve in plots."""
        return f"{self.model}, by {'question' if self.name == AT_QUESTION else 'claim'}"


def compute_curves(
    sentences: Sequence[CitedSentence],
    models: Sequence[CorrectnessModel],
    corpus: Literature,
    settings: Settings,
    ways: Sequence[By],
    ks: Sequence[int],
    depth: int = N_FOUND,
    step: Step = lambda: None,
) -> list[Curve]:
    """Return correctness at k: the share of sentences that any of the k best documents supports.

    A document supports a sentence if any three of its consecutive sentences support it (BioACE,
    section 3, figure 7b). BioACE's program uses the whole abstracts of 20 documents, without
    reranking. Sentences without search results are unscored.

    Args:
        settings: Settings of the reranker and the embedder.
        depth: Number of search results to rerank for a question. For a sentence, `DEPTH` results
            are reranked.

    Raises:
        InputError: If there are no sentences or the corpus is empty.
    """
    if not sentences:
        raise InputError("the answers contain no sentences")
    if isinstance(corpus, Corpus) and not len(corpus):
        raise InputError("there is no corpus to search; pass --corpus")
    reranker = choose_reranker(settings, Embedder(settings.literature.embedder), corpus)
    curves: list[Curve] = []
    for by in ways:
        literature = corpus
        if reranker is not None:
            n = depth if by == "question" else DEPTH
            literature = RerankedLiterature(corpus, reranker, settings.literature.reranker, n)
        results: dict[str, list[Document]] = {}
        for query in dict.fromkeys(_choose_query(one, by) for one in sentences):
            results[query] = [hit.document for hit in literature.search(query, max(ks))]
            step()
        documents = [results[_choose_query(one, by)] for one in sentences]
        curves += [_compute_curve(sentences, documents, model, by, ks, step) for model in models]
    return curves


def _choose_query(one: CitedSentence, by: By) -> str:
    return one.question if by == "question" else one.text


def _compute_curve(
    sentences: Sequence[CitedSentence],
    documents: Sequence[Sequence[Document]],
    model: CorrectnessModel,
    by: By,
    ks: Sequence[int],
    step: Step,
) -> Curve:
    rows: list[list[float | None]] = []
    for one, own in zip(sentences, documents, strict=True):
        rows.append(list(_score_until_supported(model, one.text, own)))
        step()
    topics = [one.topic for one in sentences]
    points = {
        k: supported_share(rows, model.threshold, topics, k, model.name) for k in sorted(set(ks))
    }
    return Curve(AT_QUESTION if by == "question" else AT_CLAIM, model.name, points)


def _score_until_supported(
    model: CorrectnessModel, text: str, documents: Sequence[Document]
) -> Iterator[float | None]:
    for document in documents:
        score = find_best_window_score(model, text, document)
        yield score
        if score is not None and score >= model.threshold:
            return


def count_steps(sentences: Sequence[CitedSentence], ways: Sequence[By], n_models: int) -> int:
    """Return the number of times that `compute_curves` calls `step`."""
    n_queries = sum(len({_choose_query(one, by) for one in sentences}) for by in ways)
    return n_queries + len(sentences) * len(ways) * n_models


def parse_ways(found_by: Literal["question", "claim", "both"]) -> tuple[By, ...]:
    """Return the kinds of queries that a value of the option selects."""
    return ("question", "claim") if found_by == "both" else (found_by,)


def parse_ks(text: str) -> tuple[int, ...]:
    """Parse comma-separated numbers of documents.

    Raises:
        InputError: If a number is not a positive integer.

    Example:
        >>> parse_ks("10, 20")
        (10, 20)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(f"--k {text!r} is invalid; pass positive integers, such as 10,20,50")
    return tuple(dict.fromkeys(map(int, parts)))
