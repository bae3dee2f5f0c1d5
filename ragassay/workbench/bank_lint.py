"""Flaws of the items of a test bank: wording, repeats, and what no document answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.formats import BankItem, RubricBank, item_id
from ragassay.models.embeddings import Embedder
from ragassay.models.fitted_models import opened_matcher
from ragassay.retrievers.literature import Literature
from ragassay.runs.banks import BankFile, Encode, repeats
from ragassay.runs.job import opened_corpus
from ragassay.runs.progress import shown_steps
from ragassay.settings import Settings
from ragassay.text.search import windows

if TYPE_CHECKING:
    from ragassay.options import CorpusLike
from ragassay.text.questions import question_flaws

CLOSE = 0.45
"""Cosine similarity from which a passage may answer an item, by all-MiniLM-L6-v2.

Of 311 questions that were written from papers, 9 % have no such passage in the paper, and 39 % have
none in the 34 other papers: a hint, no more."""

N_DOCUMENTS = 5
"""Documents whose passages are compared with an item."""

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
    """A flaw of an item.

    Attributes:
        kind: What is wrong, a key of `TITLES`.
        why: What shows it.
        mend: How to mend it.
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
    """Return what is wrong with the items, in the banks' order.

    Args:
        banks: As `read_bank_file` returns them.
        encode: The embedder's.
        corpus: Where an answer to each item should be found; None to leave that open.
        least: Least similarity of nuggets that are one; see `repeats`.
        on_bank: Called after each bank.
    """
    told: dict[tuple[str, str], Lint] = {}
    groups: dict[tuple[str, str], list[tuple[RubricBank, BankItem]]] = {}
    for bank in banks:
        group = groups.setdefault((bank.query_id, bank.kind), [])
        group += [(bank, item) for item in bank.items]
    for (_, kind), members in groups.items():
        texts = [item.text for _, item in members]
        first = repeats(texts, "nuggets" if kind == "nuggets" else "questions", encode, least)
        for later, one in first.items():
            bank, item = members[later]
            why = f'says what "{members[one][1].text}" does ({item_id(members[one][1], bank)})'
            mend = "remove one of the two"
            told[(bank.query_id, item_id(item, bank))] = _lint(bank, item, "duplicate", why, mend)
    found: list[Lint] = []
    for bank in banks:
        for item in bank.items:
            found += _lint_wording(bank, item)
            twice = told.get((bank.query_id, item_id(item, bank)))
            found += [twice] if twice else []
            if corpus is not None:
                found += _lint_unanswered(bank, item, encode, corpus)
        on_bank()
    return tuple(found)


def _lint(bank: RubricBank, item: BankItem, kind: str, why: str, mend: str) -> Lint:
    return Lint(bank.query_id, item_id(item, bank), item.text, kind, why, mend)


def _lint_wording(bank: RubricBank, item: BankItem) -> Iterator[Lint]:
    if bank.kind == "questions":
        for flaw in question_flaws(item.text, item.answers):
            yield _lint(bank, item, **asdict(flaw))


def _lint_unanswered(
    bank: RubricBank, item: BankItem, encode: Encode, corpus: Literature
) -> Iterator[Lint]:
    """Tell of an item to which no passage of the closest documents comes close."""
    hits = corpus.search(f"{bank.query_text} {item.text}", N_DOCUMENTS)
    passages = [span.text for hit in hits for span in windows(hit.document)]
    best = float((encode(passages) @ encode([item.text])[0]).max()) if passages else 0.0
    if best < CLOSE:
        why = f"a hint: no passage of {len(hits)} documents comes close (at best {best:.2f})"
        mend = "look for an answer by hand; reword or remove it where there is none"
        yield _lint(bank, item, "unanswerable", why, mend)


def lint_file(
    file: BankFile,
    settings: Settings,
    corpus: CorpusLike | None = None,
    *,
    query: str = "",
    is_shown: bool = False,
) -> tuple[Lint, ...]:
    """Return what is wrong with the items of a file.

    Args:
        settings: They name the embedder and the matcher of nuggets.
        corpus: Where answers should be found; None to leave that open.
        query: Only this query; empty for all.
        is_shown: Whether a progress bar is.

    Raises:
        InputError: There is no such query, or the corpus cannot be opened.
    """
    banks = [bank for bank in file.banks if query in ("", bank.query_id)]
    if not banks:
        raise InputError(f"{file.path} has no query {query!r}")
    literature = opened_corpus(corpus, settings).literature if corpus else None
    matcher = opened_matcher(settings.nuggets.nugget_matcher, settings.literature.embedder)
    with shown_steps(len(banks), "checking", is_shown) as on_bank:
        return lint_banks(
            banks,
            Embedder(settings.literature.embedder).encode,
            literature,
            least=matcher.similarity_threshold if matcher else None,
            on_bank=on_bank,
        )
