"""Search within texts: words as searches compare them, BM25 over small sets, passages."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Sequence

from ragassay.records import Document, EvidenceSpan
from ragassay.text.sentences import sentences_of, split_sentences

_WORD = re.compile(r"\w+(?:[-.]\w+)*")
_SIMPLE_WORD = re.compile(r"[^\W\d_]\w*")
_STOPWORDS = frozenset(
    "a an and are as at be been but by can for from had has have in into is it its may not of on "
    "or our than that the their there these they this those to was we were which with".split()
)


def tokenize(text: str) -> list[str]:
    """Return lower-case words and numbers, without stop words and plural endings."""
    words = (match.group().lower() for match in _WORD.finditer(text))
    return [_stem(word) for word in words if word not in _STOPWORDS]


def words_with_places(text: str) -> list[tuple[int, str]]:
    """Return the words that begin with a letter, as `tokenize` writes them, each with its start.

    Example:
        >>> words_with_places("Of 5-day cycles")
        [(5, 'day'), (9, 'cycle')]
    """
    words = ((match.start(), match.group().lower()) for match in _SIMPLE_WORD.finditer(text))
    return [(start, _stem(word)) for start, word in words if word not in _STOPWORDS]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class Bm25Index:
    """An in-memory index. Each query scores every text: right for thousands, not for millions.

    Args:
        texts: The texts to search; may be empty.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Plus

        tokens = [tokenize(text) for text in texts]
        # BM25Okapi gives a negative weight to a word found in more than half of a small set.
        self._bm25 = BM25Plus(tokens) if any(tokens) else None

    def search(self, query: str, k: int | None = None) -> list[tuple[int, float]]:
        """Return the best `k` texts as (position, score), best first; ties in the texts' order.

        Texts that share no word with the query are left out: rank-bm25 adds its delta for each word
        of the query to every text, while Lv & Zhai (2011) add it only for words in the text.
        """
        import numpy as np

        if self._bm25 is None:
            return []
        words = [word for word in tokenize(query) if word in self._bm25.idf]
        asked = set(words)
        scores = self._bm25.get_scores(words)
        order = np.argsort(-scores, kind="stable")
        matching = (int(i) for i in order if not asked.isdisjoint(self._bm25.doc_freqs[i]))
        return [(i, float(scores[i])) for i in itertools.islice(matching, k)]


def rank(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return all texts as (position, score), best first; 0 where no word is shared."""
    found = Bm25Index(texts).search(query)
    rest = set(range(len(texts))).difference(position for position, _ in found)
    return [*found, *((position, 0.0) for position in sorted(rest))]


PASSAGE_WORDS = 400
"""Longest passage of a generated response (Dietz 2024, section 6)."""


def passages_of(text: str, most_words: int = PASSAGE_WORDS) -> tuple[str, ...]:
    """Cut a text into passages of whole sentences, each as long as it may be.

    A longer sentence is a passage of its own.

    The text itself where it is short enough, and where it has no sentence.

    Example:
        >>> passages_of("One two three. Four five. Six.", most_words=5)
        ('One two three. Four five.', 'Six.')
    """
    spans = split_sentences(text)
    if len(text.split()) <= most_words or not spans:
        return (text,)
    pieces: list[tuple[int, int]] = []
    for start, end in spans:
        if pieces and len(text[pieces[-1][0] : end].split()) <= most_words:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return tuple(text[start:end] for start, end in pieces)


WINDOW = 3
"""Sentences of a passage; the best number for answers against documents (BioACE, 4.1.3)."""

CUT = "[...]"
"""Marks omitted sentences."""


def windows(document: Document, size: int = WINDOW) -> tuple[EvidenceSpan, ...]:
    """Return all runs of `size` neighbouring sentences; the whole document where it has fewer.

    An empty text gives no passage.
    """
    return _windows(document.id, document.title, document.text, size)


@functools.lru_cache(maxsize=1024)
def _windows(identifier: str, title: str, text: str, size: int) -> tuple[EvidenceSpan, ...]:
    """Return the passages of a document; cached, as the same articles recur for many sentences."""
    spans = split_sentences(text)
    if not spans:
        return ()
    runs = [spans[i : i + size] for i in range(max(1, len(spans) - size + 1))]
    places = [(run[0][0], run[-1][1]) for run in runs]
    return tuple(
        EvidenceSpan(document=identifier, start=start, end=end, text=text[start:end], title=title)
        for start, end in places
    )


def condense(documents: Sequence[Document], query: str, n_chars: int) -> list[Document]:
    """Shorten documents to a budget, keeping the sentences that BM25 ranks closest to the query.

    Each document keeps its position, id and title, so that numbering is unchanged. Sentences keep
    their order; "[...]" marks omitted ones.

    Args:
        documents: In their order.
        query: The text that sentences are ranked against; where it shares no word with any, the
            first sentences are kept.
        n_chars: Budget over all texts. Exceeded where it is below one "[...]" a document.
    """
    if sum(len(document.text) for document in documents) <= n_chars:
        return list(documents)
    split = [[d.text[start:end] for start, end in split_sentences(d.text)] for d in documents]
    texts = [text for pieces in split for text in pieces]
    kept: set[int] = set()
    room = n_chars - len(CUT) * len(documents)
    for position, _ in rank(query, texts):
        # A kept sentence costs two spaces, and possibly another cut next to it.
        cost = len(texts[position]) + len(CUT) + 2
        if cost <= room:
            kept.add(position)
            room -= cost
    shown: list[Document] = []
    first = 0
    for document, pieces in zip(documents, split, strict=True):
        parts = [text if first + i in kept else CUT for i, text in enumerate(pieces)]
        shown.append(document.model_copy(update={"text": _join_sentences(parts)}))
        first += len(pieces)
    return shown


def _join_sentences(parts: Sequence[str]) -> str:
    """Join sentences in a row, neighbouring cuts as one."""
    pairs = zip(parts, ["", *parts], strict=False)
    return " ".join(part for part, before in pairs if not part == before == CUT)


N_WORDS = 300
"""Most words to read of a document: with title and claim, some 512 word pieces."""

ALL_WORDS = 1_000_000
"""For models that read whole documents."""


def passage_of(claim: str, text: str, title: str = "", n_words: int = N_WORDS) -> str:
    """Return the passage of a document that a claim is compared with."""
    return passage_of_sentences(claim, sentences_of(text), title, n_words=n_words)


def passage_of_sentences(
    claim: str,
    sentences: Sequence[str],
    title: str = "",
    wanted: Collection[int] = (),
    n_words: int = N_WORDS,
) -> str:
    r"""Return the passage of a document that was cut into sentences.

    Of more than `n_words`, those sentences are read that BM25 ranks closest to the claim, in their
    order; those at the `wanted` positions come first.

    Example:
        >>> passage_of_sentences("It fell.", ["Pressure fell.", "Pain rose."], "A trial")
        'A trial.\nPressure fell.\nPain rose.'
    """
    lengths = [len(sentence.split()) for sentence in sentences]
    kept = set(range(len(sentences)))
    if sum(lengths) > n_words:
        kept, room = set(), n_words
        ranked = [place for place, _ in rank(claim, sentences)]
        for place in sorted(ranked, key=lambda place: place not in wanted):
            if kept and lengths[place] > room:
                break
            kept.add(place)
            room -= lengths[place]
    lines = (" ".join(sentences[place].split()) for place in sorted(kept))
    return "\n".join([f"{title}." if title else "", *lines])


def with_closest(claim: str, passage: str) -> str:
    r"""Repeat the sentence closest to the claim, by BM25, in front of the others.

    Example:
        >>> with_closest("Pain rose.", "A trial.\nPressure fell.\nPain rose.\nAll was well.")
        'A trial.\nPain rose.\nPressure fell.\nPain rose.\nAll was well.'
    """
    title, *lines = passage.split("\n")
    if len(lines) < 3:
        return passage
    return "\n".join([title, lines[rank(claim, lines)[0][0]], *lines])
