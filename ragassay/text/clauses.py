"""Split a sentence into independent clauses by rules.

A sentence is split at semicolons, before coordinated clauses, between predicates that share a
subject, and around a relative clause that follows the subject. TextBlob tags the parts of speech.
The sentence is not split where its meaning might change: after "if", "whether", "that" and similar
words, before "or", before a pronoun, and inside brackets or quotations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragassay.text.tagger import tag_words

LEAST_WORDS = 3
"""A sentence is split only if each clause has more than this number of tokens."""

MOST_SUBJECT = 25
"""Maximum number of words in a subject that may be repeated in each clause."""

MOST_ITEM = 8
"""Maximum number of words in the last item of a list within a sentence."""

MOST_WORDS = 200
"""Maximum number of tokens in a sentence to be split. Longer sentences are usually not prose."""

_TOKEN = re.compile(r"\w+(?:[-./,'\u2019\u00b7]\w+)*%?|\S")
_OPENING, _CLOSING = "([{\u201c", ")]}\u201d"
_NOUNS = ("NN", "CD", "DT", "EX")
_JOINING = frozenset({"and", "but", "while", "whereas", "although", "though", "yet"})
_CONCEDING = frozenset({"although", "though", "while", "whereas"})
_SCOPES = frozenset(
    "if when whenever unless because since whether that who whom which whose where until once as "
    "than after before either neither both only what how why while whereas although though or nor "
    "between provided".split()
)
"""Words after which a sentence is not split unless a comma precedes the conjunction."""
_CONDITIONS = frozenset(
    "if when whenever unless whether that either neither only how where which who whose "
    "whom".split()
)
"""Words after which a sentence is not split even after a comma."""
_PRONOUNS = frozenset(
    "it they this these those that he she we such others both neither either one some its their "
    "so not".split()
)
_DETERMINERS = frozenset({"the", "a", "an", "no", "there", "most", "all", "each", "every"})
_AUXILIARIES = frozenset(
    "is are was were has have had does do did can could may might will would should must".split()
)
_OPENERS = re.compile(
    r"(?:(?:and|but|yet|while|whereas|although|though|however|nevertheless|nonetheless|moreover"
    r"|furthermore|thus|therefore|hence|conversely|consequently|similarly)\b[\s,]+)+",
    re.IGNORECASE,
)
_LOWER_WORD = re.compile(r"[a-z]+\b(?![-\d])")


@dataclass(frozen=True)
class _Word:
    """A lower-case token with its part of speech, its offsets, and whether it is in brackets."""

    text: str
    tag: str
    start: int
    end: int
    is_inside: bool


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence without citation markers, each as a full sentence.

    A sentence that cannot be split is returned unchanged. For a blank sentence, the list is empty.

    Example:
        >>> split_clauses("Nausea was common; two patients stopped the drug, and no patient died.")
        ['Nausea was common.', 'Two patients stopped the drug.', 'No patient died.']
    """
    plain = " ".join(sentence.split())
    if not plain:
        return []
    words = _parse_words(plain)
    texts = [
        text
        for part in _split_semicolons(words)
        for piece in _cut_coordinated(_cut_concession(part))
        for text in _split_predicates(piece, plain)
    ]
    clauses = list(dict.fromkeys(_format_sentence(text) for text in texts))
    is_cut = len(clauses) > 1 and all(len(_TOKEN.findall(c)) > LEAST_WORDS for c in clauses)
    return clauses if is_cut else [plain]


Words = Sequence[_Word]


def _parse_words(text: str) -> list[_Word]:
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) > MOST_WORDS:
        return []
    tags = tag_words([match.group() for match in tokens])
    if len(tags) != len(tokens):
        return []
    words, depth, is_quoted = list[_Word](), 0, False
    for match, kind in zip(tokens, tags, strict=True):
        token = match.group()
        depth += token in _OPENING
        is_inside = depth > 0 or is_quoted or token == '"'
        words.append(_Word(token.lower(), kind, match.start(), match.end(), is_inside))
        depth = max(0, depth - (token in _CLOSING))
        is_quoted ^= token == '"'
    return words


def _find_verb(words: Words) -> int | None:
    for index, word in enumerate(words):
        next_text = words[index + 1].text if index + 1 < len(words) else ""
        is_participle = word.text.endswith("ed") and next_text in ("by", "with")
        is_finite = word.text in _AUXILIARIES or word.tag in ("MD", "VBZ", "VBP", "VBD")
        if is_finite and not word.is_inside and not is_participle:
            return index
    return None


def _is_statement(words: Words) -> bool:
    verb = _find_verb(words)
    if not verb or words[0].text in _PRONOUNS:
        return False
    before = words[:verb]
    is_scoped = any(word.text in _SCOPES for word in before)
    is_list = any(word.text == "," for word in before) and before[0].tag != "IN"
    return not (is_scoped or is_list) and any(word.tag.startswith(_NOUNS) for word in before)


def _split_semicolons(words: Words) -> list[Words]:
    if any(word.text == ":" and not word.is_inside for word in words):
        return [words]
    parts: list[Words] = []
    start = 0
    for index, word in enumerate(words):
        if (
            word.text == ";"
            and not word.is_inside
            and _is_statement(_strip_opener(words[index + 1 :]))
        ):
            parts.append(words[start:index])
            start = index + 1
    parts.append(words[start:])
    return parts if all(_find_verb(part) is not None for part in parts) else [words]


def _strip_opener(words: Words) -> Words:
    opener = _OPENERS.match(" ".join(word.text for word in words[:4]))
    return words[len(opener.group().split()) :] if opener else words


def _cut_concession(words: Words) -> list[Words]:
    """Split "Although A, B" into A and B."""
    if not words or words[0].text not in _CONCEDING:
        return [words]
    for index, word in enumerate(words):
        if word.text == "," and not word.is_inside and _is_statement(words[1:index]):
            rest = words[index + 1 :]
            return [words[1:index], rest] if _is_statement(rest) else [words]
    return [words]


def _cut_coordinated(parts: Sequence[Words]) -> list[Words]:
    clauses: list[Words] = []
    for words in parts:
        start = 0
        for index in range(1, len(words) - 1):
            if _is_joint(words[start:index], words[index:]):
                clauses.append(words[start:index])
                start = index
        clauses.append(words[start:])
    return clauses


def _is_joint(left: Words, right: Words) -> bool:
    """Return whether a sentence may be split at a conjunction between two clauses."""
    word = right[0]
    if word.text not in _JOINING or word.is_inside or _find_verb(left) is None:
        return False
    after_comma = left[-1].text == ","
    clause = _strip_opener(right)
    scopes = _CONDITIONS if after_comma else _SCOPES
    if not _is_statement(clause) or any(one.text in scopes for one in left) or _is_list(left):
        return False
    return after_comma or (clause[0].text in _DETERMINERS and word.text not in _CONCEDING)


def _is_list(words: Words) -> bool:
    commas = [n for n, word in enumerate(words) if word.text == "," and not word.is_inside]
    if len(commas) < 2 or commas[-1] != len(words) - 1:
        return False
    item = words[commas[-2] + 1 : commas[-1]]
    return len(item) <= MOST_ITEM and _find_verb(item) is None


def _split_predicates(words: Words, text: str) -> list[str]:
    """Split a clause into its predicates, repeating the subject, or around a relative clause."""
    if not words:
        return []
    verb = _find_verb(words)
    if verb is not None and (relative := _split_relative(words, text)):
        return relative
    if not verb or verb > MOST_SUBJECT:
        return [_cut_text(words, text)]
    subject = text[words[0].start : words[verb].start]
    scope = next((n for n, word in enumerate(words) if word.text in _SCOPES), len(words))
    cuts = [n for n in range(verb + 2, min(scope, len(words) - 1)) if _is_predicate(words, verb, n)]
    ends = [*cuts, len(words)]
    others = (subject + _cut_text(words[n + 1 : end], text) for n, end in pairwise(ends))
    return [_cut_text(words[: ends[0]], text), *others]


def _cut_text(words: Words, text: str) -> str:
    return text[words[0].start : words[-1].end] if words else ""


def _is_predicate(words: Words, verb: int, index: int) -> bool:
    """Return whether "and" or "but" introduces another finite verb with the same subject."""
    joint = words[index]
    if joint.text not in ("and", "but") or joint.is_inside:
        return False
    following = [word for word in words[index + 1 : index + 3] if word.tag != "RB"]
    if not following:
        return False
    first, second = words[verb], following[0]
    # "were washed and dried": one auxiliary serves both.
    is_alike = first.text not in _AUXILIARIES and first.tag == second.tag
    is_present = second.tag == "VBZ" and first.text in _AUXILIARIES and first.tag == "VBZ"
    is_finite = second.tag in ("VBZ", "VBD") and (is_alike or is_present)
    return second.text in _AUXILIARIES or is_finite


def _is_verb(word: _Word) -> bool:
    return word.text in _AUXILIARIES or word.tag in ("MD", "VBZ", "VBD")


def _split_relative(words: Words, text: str) -> list[str]:
    """Split "S, which P, Q" into "S Q" and "S P"."""
    pronouns = (n for n in range(2, len(words)) if words[n].text in ("which", "who"))
    index = next((n for n in pronouns if words[n - 1].text == ","), None)
    if index is None:
        return []
    before, rest = words[: index - 1], words[index + 1 :]
    end = next((n for n, one in enumerate(rest) if one.text == "," and not one.is_inside), None)
    is_example = any(one.text in (*_SCOPES, "like", "including") for one in before)
    if end is None or _find_verb(before) is not None or is_example:
        return []
    inner, outer = rest[:end], rest[end + 1 :]
    if not (inner and outer and _is_verb(inner[0]) and _is_verb(outer[0])):
        return []
    if any(one.text in _SCOPES for one in (*inner, *outer)):
        return []
    return [f"{_cut_text(before, text)} {_cut_text(one, text)}" for one in (outer, inner)]


def _format_sentence(clause: str) -> str:
    text = _OPENERS.sub("", clause.strip(" ,;"), count=1) if _OPENERS.match(clause) else clause
    text = text.strip(" ,;")
    if _LOWER_WORD.match(text):
        text = text[0].upper() + text[1:]
    return text if text[-1:] in tuple(".!?") else f"{text}."
