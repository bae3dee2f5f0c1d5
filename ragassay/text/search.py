"""Search texts: tokens, BM25 over small sets of texts, and passages."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Sequence

from ragassay.records import Document, EvidenceSpan
from ragassay.text.sentences import extract_sentences, split_sentences

_WORD = re.compile(r"\w+(?:[-.]\w+)*")
_SIMPLE_WORD = re.compile(r"[^\W\d_]\w*")
_STOPWORDS = frozenset(
    "a an and are as at be been but by can for from had has have in into is it its may not of on "
    "or our than that the their there these they this those to was we were which with".split()
)


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case words and numbers without stop words and plural endings."""
    words = (match.group().lower() for match in _WORD.finditer(text))
    return [_stem_word(word) for word in words if word not in _STOPWORDS]


def find_word_positions(text: str) -> list[tuple[int, str]]:
    """Return the start and the token of each word that begins with a letter.

    Example:
        >>> find_word_positions("Of 5-day cycles")
        [(5, 'day'), (9, 'cycle')]
    """
    words = ((match.start(), match.group().lower()) for match in _SIMPLE_WORD.finditer(text))
    return [(start, _stem_word(word)) for start, word in words if word not in _STOPWORDS]


def _stem_word(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class Bm25Index:
    """In-memory BM25 index for up to thousands of texts. Each query scores every text."""

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Plus

        tokens = [tokenize(text) for text in texts]
        # BM25Okapi gives negative weights to words found in more than half of a small set.
        self._bm25 = BM25Plus(tokens) if any(tokens) else None

    def search(self, query: str, k: int | None = None) -> list[tuple[int, float]]:
        """Return the best `k` texts as (position, score), by descending score and then by position.

        Texts that share no word with the query are left out. For each query word, rank-bm25 adds
        its delta to the score of every text, unlike Lv & Zhai (2011), who add it only for texts
        with the word.
        """
        import numpy as np

        if self._bm25 is None:
            return []
        words = [word for word in tokenize(query) if word in self._bm25.idf]
        query_words = set(words)
        scores = self._bm25.get_scores(words)
        order = np.argsort(-scores, kind="stable")
        matching = (int(i) for i in order if not query_words.isdisjoint(self._bm25.doc_freqs[i]))
        return [(i, float(scores[i])) for i in itertools.islice(matching, k)]


def rank_texts(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    """Return all texts as (position, score), best first. Texts that share no word score 0."""
    matches = Bm25Index(texts).search(query)
    rest = set(range(len(texts))).difference(position for position, _ in matches)
    return [*matches, *((position, 0.0) for position in sorted(rest))]


PASSAGE_WORDS = 400
"""Default maximum number of words in a passage of a response (Dietz 2024, section 6)."""


def cut_passages(text: str, most_words: int = PASSAGE_WORDS) -> tuple[str, ...]:
    """Split a text into passages of whole sentences with up to `most_words` words each.

    A longer sentence becomes its own passage. A text that is short enough or contains no sentence
    is returned unchanged.

    Example:
        >>> cut_passages("One two three. Four five. Six.", most_words=5)
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
"""Default number of sentences in a passage, which is the best value of BioACE (section 4.1.3)."""

CUT = "[...]"
"""Text that replaces omitted sentences."""


def list_windows(document: Document, size: int = WINDOW) -> tuple[EvidenceSpan, ...]:
    """Return every run of `size` neighbouring sentences, or the whole document if it is shorter.

    An empty document has no passages.
    """
    return _build_windows(document.id, document.title, document.text, size)


@functools.lru_cache(maxsize=1024)
def _build_windows(identifier: str, title: str, text: str, size: int) -> tuple[EvidenceSpan, ...]:
    spans = split_sentences(text)
    if not spans:
        return ()
    runs = [spans[i : i + size] for i in range(max(1, len(spans) - size + 1))]
    return tuple(
        EvidenceSpan(document=identifier, start=start, end=end, text=text[start:end], title=title)
        for start, end in ((run[0][0], run[-1][1]) for run in runs)
    )


def condense_documents(documents: Sequence[Document], query: str, n_chars: int) -> list[Document]:
    """Shorten documents to a total length. Sentences are kept by their BM25 score for the query.

    Documents keep their position, id and title. Sentences stay in order, and "[...]" marks omitted
    sentences. If no sentence shares a word with the query, the first sentences are kept. The total
    exceeds `n_chars` only if `n_chars` is too small for one "[...]" per document.
    """
    if sum(len(document.text) for document in documents) <= n_chars:
        return list(documents)
    split = [[d.text[start:end] for start, end in split_sentences(d.text)] for d in documents]
    texts = [text for pieces in split for text in pieces]
    kept: set[int] = set()
    room = n_chars - len(CUT) * len(documents)
    for position, _ in rank_texts(query, texts):
        # A kept sentence costs two spaces, and possibly another "[...]" next to it.
        cost = len(texts[position]) + len(CUT) + 2
        if cost <= room:
            kept.add(position)
            room -= cost
    parts = (text if i in kept else CUT for i, text in enumerate(texts))
    joined = [_join_sentences(list(itertools.islice(parts, len(pieces)))) for pieces in split]
    return [
        document.model_copy(update={"text": text})
        for document, text in zip(documents, joined, strict=True)
    ]


def _join_sentences(parts: Sequence[str]) -> str:
    pairs = zip(parts, ["", *parts], strict=False)
    return " ".join(part for part, before in pairs if not part == before == CUT)


N_WORDS = 300
"""Default maximum number of words read from a document (about 512 tokens with title and claim)."""

ALL_WORDS = 1_000_000
"""Value of `n_words` for models that read whole documents."""


def extract_passage(claim: str, text: str, title: str = "", n_words: int = N_WORDS) -> str:
    """Return the title and the sentences of a document with which a claim is compared."""
    return build_passage(claim, extract_sentences(text), title, n_words=n_words)


def build_passage(
    claim: str,
    sentences: Sequence[str],
    title: str = "",
    wanted: Collection[int] = (),
    n_words: int = N_WORDS,
) -> str:
    r"""Return the title and those sentences of a document with which a claim is compared.

    If the document has more than `n_words` words, the sentences at the `wanted` positions are
    included first, followed by the sentences that BM25 ranks closest to the claim. Sentences stay
    in order.

    Example:
        >>> build_passage("It fell.", ["Pressure fell.", "Pain rose."], "A trial")
        'A trial.\nPressure fell.\nPain rose.'
    """
    lengths = [len(sentence.split()) for sentence in sentences]
    kept = set(range(len(sentences)))
    if sum(lengths) > n_words:
        kept, room = set(), n_words
        ranked = [index for index, _ in rank_texts(claim, sentences)]
        for index in sorted(ranked, key=lambda i: i not in wanted):
            if kept and lengths[index] > room:
                break
            kept.add(index)
            room -= lengths[index]
    lines = (" ".join(sentences[index].split()) for index in sorted(kept))
    return "\n".join([f"{title}." if title else "", *lines])


def insert_closest_sentence(claim: str, passage: str) -> str:
    r"""Insert a copy of the sentence closest to the claim (BM25) before the first sentence.

    Example:
        >>> insert_closest_sentence("Pain rose.", "A trial.\nIt fell.\nPain rose.\nAll left.")
        'A trial.\nPain rose.\nIt fell.\nPain rose.\nAll left.'
    """
    title, *lines = passage.split("\n")
    if len(lines) < 3:
        return passage
    return "\n".join([title, lines[rank_texts(claim, lines)[0][0]], *lines])
