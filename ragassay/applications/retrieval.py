"""Measure what an application retrieved: by judged documents, or by gold nuggets."""

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
from ragassay.process import in_thread
from ragassay.records import Case, Document, OwnVerdict, Record, Score

NAME = RETRIEVAL
SUPPORTS, OTHER = "supports", "does not support"
MEASURES = {"precision": "SetP", "recall": "SetR", "nDCG": "nDCG"}
"""By judged documents, in the notation of ir_measures."""


class RetrievalEvaluator(OwnEvaluator):
    """Context precision, context recall and nDCG of the retrieved sources, each in [0, 1].

    By judged documents (qrels) where the answer's topic, else its id, has some: the share of
    sources that are relevant, the share of relevant documents that are sources, and nDCG over all
    sources in their order; ir_measures computes them.

    By gold nuggets where there are any: each nugget is compared with each source by what verifies
    in the run. Recall is the share of nuggets that some source supports, precision the share of
    sources that support some nugget, and nDCG that of the sources' order, its gains 1 for a source
    that supports a nugget; its ideal is the best order of the same sources.

    Args:
        qrels: Grades of documents by topic or record id; 1 and more is relevant.
    """

    def __init__(self, qrels: Qrels | None = None) -> None:
        self.qrels: Qrels = qrels or {}
        version = repr(sorted((q, sorted(grades.items())) for q, grades in self.qrels.items()))
        super().__init__(_verify_case, name=NAME, labels=(SUPPORTS, OTHER), version=version)

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, OwnItem]:
        """Return each pair of a gold nugget and a source; none where documents are judged."""
        if self._judge_record(open_case.record):
            return {}
        pairs = [
            (n, m)
            for n, _ in enumerate(open_case.case.gold)
            for m in range(len(_sources(open_case)))
        ]
        return {f"{n + 1}/{m + 1}": OwnItem(criterion=f"{n + 1}/{m + 1}") for n, m in pairs}

    async def ask(self, item: OwnItem, open_case: OpenCase, run: Run) -> Sequence[OwnVerdict]:
        """Compare a nugget with a source."""
        n, m = _pair(item.criterion)
        nugget, source = open_case.case.gold[n].text, _sources(open_case)[m]
        encoder = run.models.encoder
        if encoder is None:
            found = await compare(run, open_case.case, nugget, source.text, source.title)
        else:  # in the one worker: nothing else has loaded its libraries yet
            found = await in_thread(encoder.compare, nugget, source.text, source.title)
        label = None if found.verdict is None else SUPPORTS if found.verdict == SUPPORTS else OTHER
        return [
            self._verdict(
                item,
                label=label,
                confidence=found.confidence,
                entropy_bits=found.entropy_bits,
                tentative_label=found.tentative_label,
                usage=found.usage,
                failure=found.failure,
            )
        ]

    def depends_on(self, item: OwnItem, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return the nugget, the source, and what compares."""
        n, m = _pair(item.criterion)
        yield from (open_case.case.gold[n].text, _sources(open_case)[m].model_dump_json())
        yield from (str(run.settings.verification.verdict_labels), *run.verifier_identity)

    def judged_by(self, run: Run) -> str:
        """Name what compares."""
        return run.verifier_name

    def n_most_calls(self, open_case: OpenCase, run: Run) -> int:
        """A verifier other than the judge takes no call."""
        is_judge = run.settings.chosen_verifier == "judge"
        return len(self.known_items(open_case, run)) if is_judge else 0

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return precision, recall and nDCG; none without judged documents and gold nuggets."""
        record, case = outcome.open_case.record, outcome.open_case.case
        if grades := self._judge_record(record):
            return score_by_documents(grades, record.sources)
        if not case.gold or not record.sources:
            return {}
        verdicts = {
            v.item: v.label for v in outcome.verdicts[self.name] if isinstance(v, OwnVerdict)
        }
        return score_by_nuggets(verdicts, case, len(record.sources), self.judged_by(outcome.run))

    def _judge_record(self, record: Record) -> Mapping[str, int]:
        return self.qrels.get(record.topic or "") or self.qrels.get(record.id) or {}


async def _verify_case(case: Case) -> str:
    """Stand where a user's function stands; `RetrievalEvaluator.ask` does not call it."""
    raise NotImplementedError


def _sources(open_case: OpenCase) -> tuple[Document, ...]:
    return open_case.record.sources


def _pair(item: str) -> tuple[int, int]:
    nugget, source = item.split("/")
    return int(nugget) - 1, int(source) - 1


def score_by_documents(grades: Mapping[str, int], sources: Sequence[Document]) -> dict[str, Score]:
    """Return the measures of ir_measures for one query.

    Chunks of one document, "x" and "x#2", count once, at the place of the first.
    """
    names = dict.fromkeys(source.id.partition("#")[0] for source in sources)
    run = {name: float(len(names) - place) for place, name in enumerate(names)}
    found = run_values({"q": grades}, {"": {"q": run}}, list(MEASURES.values()))
    return {
        f"{NAME}.{name}": mean_score([found[measure][""]["q"]])
        for name, measure in MEASURES.items()
    }


def score_by_nuggets(
    labels: Mapping[str, str | None], case: Case, n_sources: int, judge: str
) -> dict[str, Score]:
    """Return the shares of nuggets and of sources, and the nDCG of the sources' order."""
    nuggets = range(1, len(case.gold) + 1)
    sources = range(1, n_sources + 1)
    by_source = [_any_supports([labels.get(f"{n}/{m}") for n in nuggets]) for m in sources]
    by_nugget = [_any_supports([labels.get(f"{n}/{m}") for m in sources]) for n in nuggets]
    return {
        f"{NAME}.precision": mean_score(by_source, judge=judge),
        f"{NAME}.recall": mean_score(by_nugget, judge=judge),
        f"{NAME}.nDCG": mean_score([_ndcg(by_source)], judge=judge),
    }


def _any_supports(labels: Sequence[str | None]) -> float | None:
    """Return 1 where one supports, 0 where none does; None where that is open.

    Example:
        >>> _any_supports(["supports", None]), _any_supports(["does not support", None])
        (1.0, None)
    """
    if SUPPORTS in labels:
        return 1.0
    return None if None in labels else 0.0


def _ndcg(gains: Sequence[float | None]) -> float | None:
    """Return the nDCG of an order; None where a gain is unknown, 0 where all are 0."""
    known: list[Any] = [gain for gain in gains if gain is not None]
    if len(known) < len(gains):
        return None
    grades = {str(place): int(gain) for place, gain in enumerate(known)}
    run = {name: float(len(known) - place) for place, name in enumerate(grades)}
    return run_values({"q": grades}, {"": {"q": run}}, ["nDCG"])["nDCG"][""]["q"]
