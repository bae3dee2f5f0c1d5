"""Measure an application's retrieved sources with relevance judgments or gold nuggets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.comparing import compare
from ragassay.evaluators.own import OwnEvaluator, OwnItem
from ragassay.metrics.papers.retrieval import Qrels, run_values
from ragassay.metrics.stats.intervals import mean_score
from ragassay.options import RETRIEVAL
from ragassay.process import run_in_thread
from ragassay.records import Case, Document, OwnVerdict, Record, Score

NAME = RETRIEVAL
SUPPORTS, OTHER = "supports", "does not support"
MEASURES = {"precision": "SetP", "recall": "SetR", "nDCG": "nDCG"}
"""Names of retrieval measures in ir_measures."""


class RetrievalEvaluator(OwnEvaluator):
    """Context precision, context recall and nDCG of the retrieved sources, each in [0, 1].

    If there are relevance judgments (qrels) for the topic or record id, ir_measures computes the
    share of sources that are relevant, the share of relevant documents that are sources, and nDCG
    over all sources.

    Otherwise, if there are gold nuggets, the verifier of the run compares each nugget with each
    source. Recall is the share of nuggets that any source supports. Precision is the share of
    sources that support any nugget. For nDCG, a source that supports a nugget has a gain of 1, and
    the ideal ranking is the best order of the same sources.

    Args:
        qrels: Relevance grades of documents, keyed by topic or record id. Documents with a grade of
            1 or more are relevant.
    """

    def __init__(self, qrels: Qrels | None = None) -> None:
        self.qrels: Qrels = qrels or {}
        version = repr(sorted((q, sorted(grades.items())) for q, grades in self.qrels.items()))
        super().__init__(_verify_case, name=NAME, labels=(SUPPORTS, OTHER), version=version)

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, OwnItem]:
        """Return all nugget-source pairs, or nothing if there are relevance judgments."""
        if self._find_grades(open_case.record):
            return {}
        keys = [
            f"{n}/{m}"
            for n in range(1, len(open_case.case.gold) + 1)
            for m in range(1, len(open_case.record.sources) + 1)
        ]
        return {key: OwnItem(criterion=key) for key in keys}

    async def ask(self, item: OwnItem, open_case: OpenCase, run: Run) -> Sequence[OwnVerdict]:
        """Return a verdict on whether a source supports a nugget."""
        n, m = _split_pair(item.criterion)
        nugget, source = open_case.case.gold[n].text, open_case.record.sources[m]
        encoder = run.models.encoder
        if encoder is None:
            result = await compare(run, open_case.case, nugget, source.text, source.title)
        else:  # Runs in the single worker thread, because the libraries may not be loaded yet.
            result = await run_in_thread(encoder.compare, nugget, source.text, source.title)
        verdict = result.verdict
        return [
            self._build_verdict(
                item,
                label=None if verdict is None else SUPPORTS if verdict == SUPPORTS else OTHER,
                confidence=result.confidence,
                entropy_bits=result.entropy_bits,
                tentative_label=result.tentative_label,
                usage=result.usage,
                failure=result.failure,
            )
        ]

    def list_dependencies(self, item: OwnItem, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Yield the texts and settings on which a verdict depends: nugget, source and verifier."""
        n, m = _split_pair(item.criterion)
        yield from (open_case.case.gold[n].text, open_case.record.sources[m].model_dump_json())
        yield from (str(run.settings.verification.verdict_labels), *run.verifier_identity)

    def name_judge(self, run: Run) -> str:
        """Return the name of the verifier."""
        return run.verifier_name

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Return the maximum number of judge calls: one per pair if the judge verifies, else 0."""
        is_judge = run.settings.chosen_verifier == "judge"
        return len(self.get_cached_items(open_case, run)) if is_judge else 0

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return precision, recall and nDCG, or nothing if there is no ground truth."""
        record, case = outcome.open_case.record, outcome.open_case.case
        if grades := self._find_grades(record):
            return score_by_documents(grades, record.sources)
        if not case.gold or not record.sources:
            return {}
        verdicts = {
            v.item: v.label for v in outcome.verdicts[self.name] if isinstance(v, OwnVerdict)
        }
        return score_by_nuggets(verdicts, case, len(record.sources), self.name_judge(outcome.run))

    def _find_grades(self, record: Record) -> Mapping[str, int]:
        return self.qrels.get(record.topic or "") or self.qrels.get(record.id) or {}


async def _verify_case(case: Case) -> str:
    """Raise `NotImplementedError`: `OwnEvaluator` requires this function, but never calls it."""
    raise NotImplementedError


def _split_pair(item: str) -> tuple[int, int]:
    nugget, source = item.split("/")
    return int(nugget) - 1, int(source) - 1


def score_by_documents(grades: Mapping[str, int], sources: Sequence[Document]) -> dict[str, Score]:
    """Return precision, recall and nDCG based on relevance judgments.

    Chunks of the same document, "x" and "x#2", count once, at the rank of the first chunk.
    """
    names = dict.fromkeys(source.id.partition("#")[0] for source in sources)
    run = {name: float(len(names) - rank) for rank, name in enumerate(names)}
    values = run_values({"q": grades}, {"": {"q": run}}, list(MEASURES.values()))
    return {
        f"{NAME}.{name}": mean_score([values[measure][""]["q"]])
        for name, measure in MEASURES.items()
    }


def score_by_nuggets(
    labels: Mapping[str, str | None], case: Case, n_sources: int, judge: str
) -> dict[str, Score]:
    """Return precision, recall and nDCG based on the labels of nugget-source pairs."""
    nuggets = range(1, len(case.gold) + 1)
    sources = range(1, n_sources + 1)
    by_source = [_detect_support([labels.get(f"{n}/{m}") for n in nuggets]) for m in sources]
    by_nugget = [_detect_support([labels.get(f"{n}/{m}") for m in sources]) for n in nuggets]
    return {
        f"{NAME}.precision": mean_score(by_source, judge=judge),
        f"{NAME}.recall": mean_score(by_nugget, judge=judge),
        f"{NAME}.nDCG": mean_score([_compute_ndcg(by_source)], judge=judge),
    }


def _detect_support(labels: Sequence[str | None]) -> float | None:
    """Return 1 if any label is "supports", None if a missing label could be "supports", else 0.

    Example:
        >>> _detect_support(["supports", None]), _detect_support(["does not support", None])
        (1.0, None)
    """
    if SUPPORTS in labels:
        return 1.0
    return None if None in labels else 0.0


def _compute_ndcg(gains: Sequence[float | None]) -> float | None:
    """Return the nDCG of a ranking, None if a gain is unknown, or 0 if all gains are 0."""
    known: list[Any] = [gain for gain in gains if gain is not None]
    if len(known) < len(gains):
        return None
    grades = {str(rank): int(gain) for rank, gain in enumerate(known)}
    run = {name: float(len(known) - rank) for rank, name in enumerate(grades)}
    return run_values({"q": grades}, {"": {"q": run}}, ["nDCG"])["nDCG"][""]["q"]
