"""Documents that support answer sentences: cited ones (BioACE, figure 7a), found ones (7b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import mean_over_questions
from ragassay.models.correctness import CorrectnessModel
from ragassay.models.embeddings import Embedder
from ragassay.records import Document, Score
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.retrievers.reranked_literature import RerankedLiterature, reranker_of
from ragassay.retrievers.rerankers import DEPTH
from ragassay.settings import Settings
from ragassay.studies.verifiers.sentences import CitedSentence, Step, best_score

By = Literal["question", "claim"]

AT_QUESTION, AT_CLAIM = "correctness_at_k", "correctness_at_k_by_claim"
"""Names of the two kinds of correctness at k: BioACE's k counts documents that the question finds,
ours documents that the sentence finds."""

N_FOUND = 1000
"""Documents that BM25 finds for a question, to be reranked (BioACE, section 3)."""


def supported_share(
    scores: Sequence[Sequence[float | None] | None],
    threshold: float,
    questions: Sequence[str],
    k: int | None = None,
    judge: str = "",
) -> Score:
    """Return the share of sentences that one of their first documents supports.

    With the cited documents this is BioACE's Supp(AS), with those of them that experts call
    supporting its Supp(CS) (figure 7a); with the k best hits of a search, correctness at k (7b).

    Args:
        scores: For each sentence, the best score of each of its documents, best documents first.
            None for a sentence without a document: unscored, where BioACE counts it as wrong. A
            score of None is a document that could not be scored.
        threshold: Least score of evidence.
        questions: The question of each sentence; the interval resamples questions.
        k: Documents that count; None for all.

    Returns:
        Over all sentences, each counted once, as in the paper. A sentence that nothing supports,
        and of which a document is unscored, is unscored.

    Example:
        >>> supported_share([[0.2, 0.9], [0.4]], 0.5, ["q1", "q2"], k=1).value
        0.0
    """
    values = [_is_supported(None if row is None else row[:k], threshold) for row in scores]
    return mean_over_questions(values, questions, judge=judge)


def _is_supported(scores: Sequence[float | None] | None, threshold: float) -> float | None:
    if any(score is not None and score >= threshold for score in scores or ()):
        return 1.0
    return 0.0 if scores and None not in scores else None


@dataclass(frozen=True)
class Supported:
    """Shares of sentences that a model finds supported by what they cite: Supp(AS) and Supp(CS).

    `supporting` counts only documents that experts call supporting; None without labels.
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

    A sentence without a cited document, or for CS without one that experts call supporting, is
    unscored. A document without text here is one that could not be scored.
    """
    cited: list[list[float | None]] = []
    supporting: list[list[float | None]] = []
    for sentence in sentences:
        scores = [
            best_score(model, sentence.text, one.document) if one.document else None
            for one in sentence.documents
        ]
        told = zip(scores, sentence.documents, strict=True)
        cited.append(scores)
        supporting.append([score for score, one in told if one.label == "supports"])
        step()
    topics = [one.topic for one in sentences]
    by_any, by_supporting = (
        supported_share(rows, model.threshold, topics, judge=model.name)
        for rows in (cited, supporting)
    )
    return Supported(model.name, model.threshold, by_any, by_supporting if has_labels else None)


@dataclass(frozen=True)
class Curve:
    """Correctness at k of a model, `AT_QUESTION` or `AT_CLAIM`: the score at each k."""

    name: str
    model: str
    points: dict[int, Score]

    @property
    def title(self) -> str:
        """Its name in a plot."""
        return f"{self.model}, by {'question' if self.name == AT_QUESTION else 'claim'}"


def curves_of(
    sentences: Sequence[CitedSentence],
    models: Sequence[CorrectnessModel],
    corpus: Literature,
    settings: Settings,
    ways: Sequence[By],
    ks: Sequence[int],
    depth: int = N_FOUND,
    step: Step = lambda: None,
) -> list[Curve]:
    """Return correctness at k: the share of sentences that one of the k best documents supports.

    A document supports a sentence if one of its runs of three sentences does (BioACE, section 3,
    figure 7b; its released program reads whole abstracts, of 20 documents that are not reranked).
    Over all sentences of all answers. A sentence for which nothing is found is unscored.

    Args:
        corpus: What is searched.
        settings: Name the reranker and its embedder.
        ways: From `ways_of`.
        depth: How many hits of a question are reranked; of a sentence it is `DEPTH`.
        step: Called after each search, and after each sentence of each curve.

    Returns:
        A curve for each way of searching and model.

    Raises:
        InputError: There is no sentence, or nothing to search.
    """
    if not sentences:
        raise InputError("the answers have no sentence")
    if isinstance(corpus, Corpus) and not len(corpus):
        raise InputError("there is nothing to search: name a corpus with --corpus")
    reranker = reranker_of(settings, Embedder(settings.literature.embedder), corpus)
    curves: list[Curve] = []
    for by in ways:
        literature = corpus
        if reranker is not None:
            n = depth if by == "question" else DEPTH
            literature = RerankedLiterature(corpus, reranker, settings.literature.reranker, n)
        found: dict[str, list[Document]] = {}
        for query in dict.fromkeys(_query(one, by) for one in sentences):
            found[query] = [hit.document for hit in literature.search(query, max(ks))]
            step()
        documents = [found[_query(one, by)] for one in sentences]
        curves += [_curve(sentences, documents, model, by, ks, step) for model in models]
    return curves


def _query(one: CitedSentence, by: By) -> str:
    return one.question if by == "question" else one.text


def _curve(
    sentences: Sequence[CitedSentence],
    documents: Sequence[Sequence[Document]],
    model: CorrectnessModel,
    by: By,
    ks: Sequence[int],
    step: Step,
) -> Curve:
    rows: list[list[float | None]] = []
    for one, found in zip(sentences, documents, strict=True):
        rows.append(list(_until_supported(model, one.text, found)))
        step()
    topics = [one.topic for one in sentences]
    points = {
        k: supported_share(rows, model.threshold, topics, k, model.name) for k in sorted(set(ks))
    }
    return Curve(AT_QUESTION if by == "question" else AT_CLAIM, model.name, points)


def _until_supported(
    model: CorrectnessModel, text: str, documents: Sequence[Document]
) -> Iterator[float | None]:
    """Yield scores up to the first document that bears the text out: more change nothing."""
    for document in documents:
        score = best_score(model, text, document)
        yield score
        if score is not None and score >= model.threshold:
            return


def n_steps(sentences: Sequence[CitedSentence], ways: Sequence[By], n_models: int) -> int:
    """Return how often `curves_of` calls its step."""
    n_queries = sum(len({_query(one, by) for one in sentences}) for by in ways)
    return n_queries + len(sentences) * len(ways) * n_models


def ways_of(found_by: Literal["question", "claim", "both"]) -> tuple[By, ...]:
    """Return the ways of searching that a word means."""
    return ("question", "claim") if found_by == "both" else (found_by,)


def parse_ks(text: str) -> tuple[int, ...]:
    """Read numbers of documents, divided by commas.

    Raises:
        InputError: One is no whole number from 1 on.

    Example:
        >>> parse_ks("10, 20")
        (10, 20)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise InputError(f"--k {text!r}: name whole numbers of documents from 1 on, as 10,20,50")
    return tuple(dict.fromkeys(map(int, parts)))
