"""Find flawed test bank items: poor wording, duplicates and unanswerable questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, find_item_id
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_models import open_matcher
from ragassay.retrievers.literature import Literature
from ragassay.runs.banks import BankFile, Encode, map_duplicates
from ragassay.runs.job import open_corpus
from ragassay.runs.progress import show_steps
from ragassay.settings import Settings
from ragassay.text.questions import find_question_flaws
from ragassay.text.search import list_windows

if TYPE_CHECKING:
    from ragassay.options import CorpusLike

CLOSE = 0.45
"""Lowest cosine similarity (all-MiniLM-L6-v2) at which a passage may answer an item.

A lower similarity is only a hint that no passage does. Of 311 questions written from papers, 9%
have no such passage in their own paper, and 39% have none in the 34 other papers."""

N_DOCUMENTS = 5
"""Number of documents to search for an answer to an item."""

TITLES = {
    "leading": "leading",
    "answer_told": "tells its answer",
    "two_questions": "two questions in one",
    "asks_reader": "asks its reader",
    "out_of_context": "unclear alone",
    "duplicate": "duplicate",
    "unanswerable": "perhaps unanswerable",
}


@dataclass(frozen=True)
class Lint:
    """A flaw of a test bank item.

    Attributes:
        kind: Kind of flaw, a key of `TITLES`.
    """

    query: str
    item: str
    text: str
    kind: str
    why: str
    mend: str


def lint_banks(
    banks: Sequence[RubricBank],
    encode: Encode,
    corpus: Literature | None = None,
    *,
    least: float | None = None,
    on_bank: Callable[[], None] = lambda: None,
) -> tuple[Lint, ...]:
    """Return the flaws of all test bank items, in the order of the banks.

    Args:
        banks: Test banks, as returned by `read_bank_file`.
        corpus: Documents to search for answers, or None to skip this check.
        least: Cosine similarity from which nuggets are duplicates. See `repeats`.
    """
    duplicates: dict[tuple[str, str], Lint] = {}
    groups: dict[tuple[str, str], list[tuple[RubricBank, BankItem]]] = {}
    for bank in banks:
        group = groups.setdefault((bank.query_id, bank.kind), [])
        group += [(bank, item) for item in bank.items]
    for (_, kind), members in groups.items():
        texts = [item.text for _, item in members]
        first = map_duplicates(
            texts, "nuggets" if kind == "nuggets" else "questions", encode, least
        )
        for later, earlier in first.items():
            bank, item = members[later]
            original = members[earlier][1]
            why = f'same meaning as "{original.text}" ({find_item_id(original, bank)})'
            key = (bank.query_id, find_item_id(item, bank))
            duplicates[key] = _build_lint(bank, item, "duplicate", why, "remove one of the two")
    flaws: list[Lint] = []
    for bank in banks:
        for item in bank.items:
            if bank.kind == "questions":
                wording = find_question_flaws(item.text, item.answers)
                flaws += [_build_lint(bank, item, **asdict(flaw)) for flaw in wording]
            if duplicate := duplicates.get((bank.query_id, find_item_id(item, bank))):
                flaws.append(duplicate)
            if corpus is not None:
                flaws += _lint_unanswered(bank, item, encode, corpus)
        on_bank()
    return tuple(flaws)


def _build_lint(bank: RubricBank, item: BankItem, kind: str, why: str, mend: str) -> Lint:
    return Lint(bank.query_id, find_item_id(item, bank), item.text, kind, why, mend)


def _lint_unanswered(
    bank: RubricBank, item: BankItem, encode: Encode, corpus: Literature
) -> Iterator[Lint]:
    """Yield a flaw if no passage in the first `N_DOCUMENTS` search hits is similar to the item."""
    hits = corpus.search(f"{bank.query_text} {item.text}", N_DOCUMENTS)
    passages = [span.text for hit in hits for span in list_windows(hit.document)]
    best = float((encode(passages) @ encode([item.text])[0]).max()) if passages else 0.0
    if best < CLOSE:
        why = f"a hint: no similar passage in {len(hits)} documents (best similarity {best:.2f})"
        mend = "look for an answer yourself, and reword or remove the item if there is none"
        yield _build_lint(bank, item, "unanswerable", why, mend)


def lint_file(
    file: BankFile,
    settings: Settings,
    corpus: CorpusLike | None = None,
    *,
    query: str = "",
    is_shown: bool = False,
) -> tuple[Lint, ...]:
    """Return the flaws of all items in a file of test banks.

    Args:
        corpus: Documents to search for answers, or None to skip this check.
        query: Id of the query whose items are checked (empty for all queries).

    Raises:
        InputError: The query does not exist, or the corpus cannot be opened.
    """
    banks = [bank for bank in file.banks if query in ("", bank.query_id)]
    if not banks:
        raise InputError(f"{file.path} has no query {query!r}")
    literature = open_corpus(corpus, settings).literature if corpus else None
    matcher = open_matcher(settings.nuggets.nugget_matcher, settings.literature.embedder)
    with show_steps(len(banks), "checking", is_shown) as on_bank:
        return lint_banks(
            banks,
            Embedder(settings.literature.embedder).encode,
            literature,
            least=matcher.similarity_threshold if matcher else None,
            on_bank=on_bank,
        )
