"""Documents that support answer sentences: cited ones (BioACE, figure 7a), found ones (7b)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import InputError
from ragassay.models.correctness import CorrectnessModel
from ragassay.models.embeddings import Embedder
from ragassay.records import Document, Score
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.retrievers.reranked_literature import RerankedLiterature, reranker_of
from ragassay.retrievers.rerankers import DEPTH
from ragassay.settings import Settings
from ragassay.studies.verifiers.sentences import CitedDocument, CitedSentence, best_score
from ragassay.studies.verifiers.separation import borne_out

Step = Callable[[], None]
By = Literal["question", "claim"]

AT_QUESTION, AT_CLAIM = "correctness_at_k", "correctness_at_k_by_claim"
"""Names of the two kinds of correctness at k: BioACE's k counts documents that the question finds,
ours documents that the sentence finds."""

N_FOUND = 1000
"""Documents that BM25 finds for a question, to be reranked (BioACE, section 3)."""


@dataclass(frozen=True)
class Supported:
    """Shares of sentences that a model finds borne out by what they cite.

    Attributes:
        model: Its name.
        threshold: Least score of evidence.
        all_cited: Supp(AS): by any cited document.
        supporting: Supp(CS): by any of those that experts call supporting; None without labels.
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

    Args:
        sentences: With their documents.
        model: The correctness model.
        has_labels: Whether people labelled the citations.
        step: Called after each sentence.
    """
    cited: list[list[float | None] | None] = []
    supporting: list[list[float | None] | None] = []
    for one in sentences:
        scores = [_score(model, one, document) for document in one.documents]
        told = zip(scores, one.documents, strict=True)
        by_experts = [score for score, document in told if document.label == "supports"]
        cited.append(scores or None)
        supporting.append(by_experts or None)
        step()
    topics = [one.topic for one in sentences]

    def share(scores: Sequence[Sequence[float | None] | None]) -> Score:
        return borne_out(scores, model.threshold, topics, judge=model.name)

    return Supported(
        model.name, model.threshold, share(cited), share(supporting) if has_labels else None
    )


def _score(model: CorrectnessModel, one: CitedSentence, cited: CitedDocument) -> float | None:
    return None if cited.document is None else best_score(model, one.text, cited.document)


@dataclass(frozen=True)
class Curve:
    """Correctness at k of a model.

    Attributes:
        name: `AT_QUESTION` or `AT_CLAIM`.
        model: The correctness model's name.
        points: The score at each k, over all sentences.
    """

    name: str
    model: str
    points: dict[int, Score]

    @property
    def title(self) -> str:
        """Its name in a plot."""
        return f"{self.model}, by {'question' if self.name == AT_QUESTION else 'claim'}"


def rerank_for_search(
    literature: Literature, by: By, settings: Settings, embedder: Embedder, depth: int = N_FOUND
) -> Literature:
    """Return literature as it is searched, reranked as set.

    Args:
        literature: What is searched.
        by: What it is searched with; for a sentence `DEPTH` hits are reranked.
        settings: Name the reranker.
        embedder: Of the embedded reranker.
        depth: How many hits of a question are reranked.
    """
    reranker = reranker_of(settings, embedder, literature)
    if reranker is None:
        return literature
    depth = depth if by == "question" else DEPTH
    return RerankedLiterature(literature, reranker, settings.literature.reranker, depth)


def found_documents(
    sentences: Sequence[CitedSentence],
    by: By,
    k: int,
    literature: Literature,
    step: Step = lambda: None,
) -> list[list[Document]]:
    """Return the documents that are found for each sentence, best first.

    Args:
        sentences: The sentences.
        by: Search with the sentence's question, as BioACE does, or with the sentence itself.
        k: Documents that are wanted.
        literature: From `rerank_for_search`.
        step: Called after each search.
    """
    known: dict[str, list[Document]] = {}
    for query in dict.fromkeys(_query(one, by) for one in sentences):
        known[query] = [hit.document for hit in literature.search(query, k)]
        step()
    return [known[_query(one, by)] for one in sentences]


def _query(one: CitedSentence, by: By) -> str:
    return one.question if by == "question" else one.text


def correctness_curve(
    sentences: Sequence[CitedSentence],
    documents: Sequence[Sequence[Document]],
    model: CorrectnessModel,
    by: By,
    ks: Sequence[int],
    step: Step = lambda: None,
) -> Curve:
    """Return correctness at k: the share of sentences that one of the k best documents bears out.

    A document bears a sentence out if one of its runs of three sentences does (BioACE, section 3,
    figure 7b; its released program reads whole abstracts, of 20 documents that are not reranked).
    Over all sentences of all answers. A sentence for which nothing is found is unscored.

    Args:
        sentences: The sentences.
        documents: What was found for each, from `found_documents`.
        model: The correctness model.
        by: What was searched with.
        ks: The numbers of documents.
        step: Called after each sentence.
    """
    rows: list[list[float | None] | None] = []
    for one, found in zip(sentences, documents, strict=True):
        scores = _until_borne_out(model, one.text, found[: max(ks)])
        rows.append(list(scores) or None)
        step()
    topics = [one.topic for one in sentences]
    points = {k: borne_out(rows, model.threshold, topics, k, model.name) for k in sorted(set(ks))}
    return Curve(AT_QUESTION if by == "question" else AT_CLAIM, model.name, points)


def _until_borne_out(
    model: CorrectnessModel, text: str, documents: Sequence[Document]
) -> Iterator[float | None]:
    """Yield scores up to the first document that bears the text out: more change nothing."""
    for document in documents:
        score = best_score(model, text, document)
        yield score
        if score is not None and score >= model.threshold:
            return


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
    """Return the curve of each model and way of searching.

    Args:
        sentences: The sentences.
        models: The correctness models.
        corpus: What is searched.
        settings: Name the reranker and its embedder.
        ways: From `ways_of`.
        ks: From `parse_ks`.
        depth: How many hits of a question are reranked.
        step: Called after each search, and after each sentence of each curve.

    Raises:
        InputError: There is no sentence, or nothing to search.
    """
    if not sentences:
        raise InputError("the answers have no sentence")
    if isinstance(corpus, Corpus) and not len(corpus):
        raise InputError("there is nothing to search: name a corpus with --corpus")
    curves: list[Curve] = []
    for by in ways:
        literature = rerank_for_search(
            corpus, by, settings, Embedder(settings.literature.embedder), depth
        )
        documents = found_documents(sentences, by, max(ks), literature, step)
        curves += [correctness_curve(sentences, documents, m, by, ks, step) for m in models]
    return curves


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
