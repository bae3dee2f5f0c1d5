"""Question-answer pairs without a language model: sentences of the paper, and rules that ask.

A sentence is an answer where it states one thing about a keyword and can be understood alone: none
of its words points elsewhere ("this", "we", "Figure 5"). Its question is made by rule of its own
subject and verb (`text.question_rules`): "What is benzene responsible for?". What was done or seen
once (was, were) is left alone, as such a question would have to tell the experiment. Abbreviations
are spelled out as the paper does; those that it does not spell out make no pair.

It generates only what it can carry, and that is little: of SciQAG's 35 papers, on which the rules
were tightened, 21 get 42 pairs, at most 5 each; 40 of these are grammatical, answered by their
sentence and understood alone, as one reader found. Of 600 abstracts of PubMed that were not in
sight, 78 get 96 pairs, of which 88 are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragassay.records import Paper, QAPair
from ragassay.text.abbreviations import long_forms
from ragassay.text.context_marks import context_marks
from ragassay.text.keywords import find_keywords
from ragassay.text.papers import PaperSentence, paper_sentences
from ragassay.text.question_rules import QuestionKind, RuleQuestion, lacks_article, rule_question

EXTRACTOR = "sentences by rule"
"""In place of a model's name."""

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_CITATION = re.compile(
    r"(?<!\s)\s*+(?:"
    r"\((?:see (?:also )?)?(?:figs?|tables?|refs?|eqs?|sections?|schemes?|supplementary)\b"
    r"[^()]*\)|\[\]|\[\d[\d,\s\u2013-]*\]"
    r"|\((?=[^()]*\))(?:[^()]*\bet al\b[^()]*|[^()]*\b(?:19|20)\d\d[a-z]?)\))",
    re.IGNORECASE,
)
_TIE = re.compile(
    r"(?:However|Therefore|Thus|Hence|Moreover|Furthermore|In addition|Additionally|Finally|"
    r"Consequently|Nevertheless|Meanwhile|In general|Generally|In fact|Indeed|Besides|Also), "
)
_GAP = re.compile(r"(?<!\s)\s++(?=[.,;])")
_NAME = re.compile(r"\w[A-Z]|[A-Za-z]\d")
_COMMON_ENDING = re.compile(
    r"(?:ing|tion|sion|ment|ity|ed|al|ic|ive|ance|ence|sis|ism|ous|ics|logy|ine|ol|ide|ate|ness|"
    r"ships?|ers|ors|ins|ies|ants|ents|ages?|less|able|ible|oid|itis|emia|athy)s?$"
)
_LEAST_CHARS = 4
_GENERIC = frozenset(
    """
    addition advantage amount analysi application approach approache benefit capacity care cell
    change child children clinical compliance confusion cost current data decrease detection
    determination device diagnosi difference disease drug effect efficacy electrode event
    evidence factor feature film function group health high improvement increase individual
    knowledge level list majority management material measure measurement mechanism medicine
    membrane men method model number outcome participant patient performance period potential
    pressure problem process product progress property rate reaction recommendation reduction
    remission response risk role sample saving screening selection sensor solution spectrum
    structure studie study subject surface surgery symptom system technique temperature testing
    therapie therapy time treatment trial type use value women year
    """.split()
)
"""Words that tell nothing of what a paper is about, without their last s."""
_SHORT_FORM = re.compile(
    r"(?<![\w\u2013-])(?:(?<!/)[\w/-]*[A-Z][\w/-]*[A-Z][\w/-]*|[A-Z]\d{2,})(?![\w-])"
)
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d*){1,3}\d|(?:[A-Z][a-z]\d*){2,}|[A-Z][a-z]?O|NaCl|HCl|KCl")
_KNOWN = frozenset("DNA RNA GC MS HPLC NMR PCR UV IR USA EU HIV ATP GC-MS LC-MS".split())
"""Abbreviations that readers of any field know."""
_SHORT, _LONG = 8, 45
"""Fewest and most words of a sentence."""

_RANKS: tuple[QuestionKind, ...] = (
    *("value", "cause", "way", "relation", "rank", "use", "meaning"),
)
"""The order of choice where a stretch of the paper has more pairs than are wanted."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that makes a pair.

    Attributes:
        sentence: The sentence, as the paper has it.
        answer: Without citations.
        asked: Its question.
    """

    sentence: PaperSentence
    answer: str
    asked: RuleQuestion


def extract_pairs(paper: Paper, number: int, keywords: Sequence[str] = ()) -> tuple[QAPair, ...]:
    """Return pairs whose answers are sentences of a paper, in its order.

    Args:
        paper: The paper.
        number: Most pairs: where there are more, they are spread over the paper.
        keywords: What they are about; by default the paper's own, or those found in it.
    """
    found = _chosen(candidates(paper, keywords), number)
    return tuple(
        QAPair(
            id=f"{paper.id}/{n}",
            question=one.asked.text,
            answer=one.answer,
            paper=paper.id,
            system=EXTRACTOR,
            sources=(one.sentence.text,),
        )
        for n, one in enumerate(found, 1)
    )


def candidates(paper: Paper, keywords: Sequence[str] = ()) -> list[Candidate]:
    """Return all sentences that make a pair, each question once, in the paper's order."""
    # Frozen models can be hashed, which pydantic does not tell.
    sentences = paper_sentences(paper)  # pyright: ignore[reportArgumentType]
    is_known = _keyword_finder(keywords or paper.keywords or find_keywords(paper.text))
    is_common = _common_words(sentences)
    forms = long_forms(paper.text)
    found: dict[tuple[str, str], Candidate] = {}
    for one in sentences:
        plain = _opened(_GAP.sub("", _CITATION.sub("", one.text)).strip())
        if not _SHORT <= len(plain.split()) <= _LONG:
            continue
        asked = rule_question(plain, is_known=is_known, is_common=is_common)
        if asked is None:
            continue
        text = _spelled_out(asked.text, forms, is_common)
        if text and not lacks_article(text) and not context_marks(text, plain):
            asked = replace(asked, text=text)
            found.setdefault((asked.kind, asked.subject.casefold()), Candidate(one, plain, asked))
    return list(found.values())


def _spelled_out(
    question: str, forms: Mapping[str, str], is_common: Callable[[str], bool | None]
) -> str:
    """Return a question with its abbreviations spelled out; "" where one is not known."""
    for short in dict.fromkeys(_SHORT_FORM.findall(question)):
        plain = short.removesuffix("s")
        if f"({short})" in question or plain in _KNOWN or _FORMULA.fullmatch(short):
            continue
        long = forms.get(plain)
        if long is None or f"{short} (" in question:
            return ""
        first = long.partition(" ")[0]
        long = long[0].lower() + long[1:] if is_common(first) is not False else long
        is_many = short != plain and not long.endswith("s")
        whole = f"{long}{'s' if is_many else ''} ({short})"
        place = re.compile(rf"(?<![\w\u2013-]){re.escape(short)}(?![\w-])")
        question = place.sub(lambda _, whole=whole: whole, question, count=1)
        article = re.compile(rf"\b(?:a|an) (?={re.escape(whole)})")
        question = article.sub(f"{_article(long)} ", question)
    return question


def _article(words: str) -> str:
    return "an" if words[0].lower() in "aeiou" else "a"


def _opened(sentence: str) -> str:
    """Return a sentence without the word that ties it to the one before."""
    found = _TIE.match(sentence)
    rest = sentence[found.end() :] if found else sentence
    return rest[:1].upper() + rest[1:]


def _chosen(found: list[Candidate], number: int) -> list[Candidate]:
    """Return the best of each stretch of the paper, as many stretches as pairs are wanted."""
    if len(found) <= number:
        return found
    stretches = [
        found[i * len(found) // number : (i + 1) * len(found) // number] for i in range(number)
    ]
    return [min(stretch, key=lambda one: _RANKS.index(one.asked.kind)) for stretch in stretches]


def _common_words(sentences: Sequence[PaperSentence]) -> Callable[[str], bool | None]:
    words = [_WORD.findall(one.text) for one in sentences]
    lower = {word for row in words for word in row if word.islower()}
    names = {word for row in words for word in row[1:]}

    def is_common(word: str) -> bool | None:
        plain = word.replace("-", "")
        if word[1:2] == "-":  # "N-acetyl"
            return False
        if not plain[:1].isupper() or not (len(plain) == 1 or plain[1:].islower()):
            return False
        if word.lower() in lower or plain in ("A", "An", "The"):
            return True
        if word in names:
            return False
        return True if _COMMON_ENDING.search(word) else None

    return is_common


def _keyword_finder(keywords: Sequence[str]) -> Callable[[str], bool]:
    words = {word for keyword in keywords for word in _stems(keyword)}
    wanted = {word for word in words if len(word) >= _LEAST_CHARS} - _GENERIC

    def is_known(text: str) -> bool:
        names = (word for word in _WORD.findall(text) if _NAME.search(word))
        return not wanted.isdisjoint(_stems(text)) or any(names)

    return is_known


def _stems(text: str) -> tuple[str, ...]:
    return tuple(word.casefold().rstrip("s") for word in _WORD.findall(text))
