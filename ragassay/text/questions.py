"""Analyse the wording of questions: dependence on a paper, flaws, and duplicates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ragassay.records.qa import ContextMark, PairPart

_TEXT = "article|manuscript|text|passage|document|excerpt|abstract"
_WORK = (
    f"{_TEXT}|papers?|stud(?:y|ies)|work|research|investigation|report|review|publication|thesis"
    "|survey"
)
_SAYING = (
    "(?:say|state|report|describe|discuss|present|propose|suggest|find|found|show|conclude|claim"
    "|mention|focus|demonstrate|investigate|examine|explore|introduce|argue|reveal|use|highlight"
    "|indicate|aim|address|define|explain|provide|analy[sz]e|compare|evaluate|observe|note|employ)"
    "(?:s|e?d)?"
)
_TOLD = (
    "(?:mentioned|described|discussed|reported|presented|noted|shown|stated|given|used|introduced"
    "|outlined|defined|performed|listed|explained)"
)
_METHOD = (
    "(?:method|approach|technique|model|framework|system|algorithm|procedure|protocol|scheme"
    "|strategy|process|experiment|device|sensor|biosensor|material|structure|design|mechanism"
    "|assay|sample|analysis|electrode|setup|solution|theory|architecture|pipeline)s?"
)
_RESULT = "(?:results?|findings?|data|experiments?|observations?|measurements?|conclusions?)"
_FIGURE = "(?:figures?|tables?|graphs?|diagrams?|plots?|charts?|equations?)"
_NUMBERED = (
    r"(?:[Ff]ig(?:ure)?s?\.?|[Tt]ables?|[Ss]chemes?|[Ee]qs?\.|[Ee]quations?|[Ss]ections?"
    r"|[Cc]hapters?|[Aa]ppendix|[Cc]harts?|[Rr]efs?\.?|[Rr]eferences?)"
)
_ENDS = r"(?=\s*[?.,;]|\s*$"
_ALL = "know|live|breathe|eat|can|need|should|must|call"
_OURS = (
    "body|bodies|planet|li[fv]es?|health|understanding|knowledge|world|universe|galaxy|sun|brains?"
    "|genes|immune|daily|society|own|environment|everyday|eyes|ability|modern"
)
RULES: tuple[tuple[str, str], ...] = (
    ("paper", rf"\b(?:this|the (?:present|given|presented|reported|cited)) (?:{_WORK})\b"),
    ("paper", rf"\bthe current (?:paper|study|work|investigation|{_TEXT})\b(?! (?:load|force)\b)"),
    ("paper", rf"\b(?:in|of|from|by) (?:the )?present (?:{_WORK})\b"),
    ("paper", rf"\bthe (?:{_TEXT})\b(?! of\b| by [A-Z])"),
    (
        "paper",
        r"\bthe (?:paper|study|work|research|review|report)"
        rf"(?='s\b|, | (?:\w+ly |also )?{_SAYING}\b)",
    ),
    (
        "paper",
        r"\b(?:in|of|by|according to|based on|throughout|as per) the paper\b(?! (?:of|by)\b)",
    ),
    (
        "paper",
        r"\b(?:in|of|by|from|to|on|throughout|for|during) the (?:study|trial|investigation|survey)"
        r"\b(?! (?:of|on|in|area|areas|by|with|that|which|into)\b)",
    ),
    ("paper", r"\bdo(?:es)? the (?:paper|study|research|review|report)\b(?! (?:of|by)\b)"),
    ("paper", r"\b(?:supplementary|supporting) (?:materials?|information|data|figures?|tables?)\b"),
    ("paper", r"\bthe (?:provided|given|supplied) (?:context|information|source|data)\b"),
    ("paper", r"\bthe (?:context|information|source|data) (?:provided|given|supplied|above)\b"),
    ("authors", r"\bthe (?:authors?|researchers?|investigators?|experimenters?|team)\b(?! of )"),
    ("authors", r"\btheir (?:own )?(?:experiments?|study|paper|article|findings)\b"),
    ("figure", rf"(?-i:\b{_NUMBERED}[ \u00a0]\(?(?:S?\d+\w?|[A-H]|[IVX]+)\b(?!\s?%| of [A-Z]))"),
    (
        "figure",
        rf"\bthe {_FIGURE}(?: (?:above|below|shown|provided))?"
        rf"{_ENDS}| (?:show|depict|illustrate|present|list|above|below|provided|given))",
    ),
    ("figure", r"\b(?:which|what) (?:figure|table|equation|paragraph)\b(?! of\b)"),
    (
        "figure",
        r"\bthe (?:first|second|third|fourth|last|left|right|upper|lower|top|bottom) "
        r"(?:column|row|panel|paragraph|figure|table|sentence)s?\b",
    ),
    ("figure", r"(?<!\w)\[\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3}){0,20}\]"),
    (
        "we",
        r"(?<!can )(?<!could )(?<!should )(?<!must )(?<!do )(?<!may )(?<!might )(?<!did )"
        rf"\bwe\b(?! (?:{_ALL})\b)|\bdid we\b",
    ),
    ("we", rf"\bours?\b(?! (?:{_OURS})\b)"),
    ("above", r"\b(?:the )?(?:above|afore|before)[- ]?(?:mentioned|said|described)\b"),
    ("above", r"\bthe (?:above|foregoing)\b(?!-)|\bherein\b"),
    (
        "above",
        rf"\b{_TOLD} (?:above|below|here|herein|earlier|previously in|in the (?:{_TEXT}|paper"
        r"|previous|following|introduction|discussion))\b",
    ),
    ("above", r"\b\w{2,20}(?:ed|wn|ne) here(?= by\b|\s*[?.,;])"),
    ("above", r"\bthe (?:introduction|discussion|methods?|results?|conclusions?) section\b"),
    (
        "above",
        r"\bthe (?:previous|preceding|following|next|last) "
        r"(?:section|paragraph|figure|table|chapter|equation|page)s?\b",
    ),
    (
        "pointing",
        r"\bthe (?:newly |recently )?(?:proposed|developed|suggested|introduced|employed) "
        rf"(?:[\w-]+ ){{0,2}}{_METHOD}\b(?! (?:of|for|by|between|behind|to)\b)",
    ),
    ("pointing", rf"\bthe (?:described|presented|reported) (?:[\w-]+ ){{0,2}}{_METHOD}\b"),
    ("pointing", r"\b(?:in|during) the experiments?(?=\s*[?.,;])|\bd(?:id|o) the experiments?\b"),
    ("pointing", r"\bthe (?:mentioned|said|aforesaid|listed|cited)\b"),
    (
        "pointing",
        rf"\bthe (?:obtained|reported|presented|present) {_RESULT}\b(?! (?:of|from|on|for) )",
    ),
)
_COMPILED = tuple((kind, re.compile(rule, re.IGNORECASE)) for kind, rule in RULES)

_POINTING = re.compile(r"\b(?:this|these)\s+(?!is\b|are\b|was\b|were\b|who\b)([a-z]+)")
_BARE = re.compile(
    r"\bthe\s+(show|movie|film|book|novel|story|series|song|game|passage|text|article|author|study"
    r"|document|character|speaker|paragraph|query)\b(?!\s+(?:of|['\u2018\u201c\"A-Z]))"
)
_NAME = re.compile(r"(?<=\w)\W+[A-Z][\w.]*|['\u2018\u201c\"]\w")


def find_context_marks(question: str, answer: str) -> tuple[ContextMark, ...]:
    """Return the phrases in a question and its answer that are unclear without the paper.

    The answer may be empty. The result is empty if the rules consider the pair self-contained.

    Example:
        >>> [mark.text for mark in find_context_marks("What does Figure 5 show?", "We used ice.")]
        ['Figure 5', 'We']
    """
    return (*_find_marks(question, "question"), *_find_marks(answer, "answer"))


def _find_marks(text: str, part: PairPart) -> Iterator[ContextMark]:
    spans = [(*match.span(), kind) for kind, rule in _COMPILED for match in rule.finditer(text)]
    if part == "question" and (match := find_unnamed(text)):
        spans.append((*match.span(), "pointing"))
    end = 0
    for start, stop, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= end:
            yield ContextMark(part=part, text=text[start:stop], start=start, end=stop, kind=kind)
            end = stop


def find_unnamed(question: str) -> re.Match[str] | None:
    """Return the first phrase such as "this trial" if the question mentions no trial before."""
    folded = question.casefold()
    for match in _POINTING.finditer(question):
        if folded.find(match[1].rstrip("s"), 0, match.start()) < 0:
            return match
    return None


def find_bare_phrase(question: str) -> re.Match[str] | None:
    """Return a phrase such as "the author" if the question does not contain a proper name."""
    match = _BARE.search(question)
    return match if match and not _NAME.search(question) else None


FlawKind = Literal["leading", "answer_told", "two_questions", "asks_reader", "out_of_context"]

_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must)"
)
_NEGATED = r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|must)n['\u2019]?t"
_WHO = r"(?:it|they|he|she|we|you|there|this|that|these|those|one)"
_ASKING = r"(?:who|whom|whose|what|when|where|why|how|which)"

_TAG = re.compile(
    rf"[,;\u2013-]\s*(?:(?:{_NEGATED}|{_AUXILIARY})\s+{_WHO}(?:\s+not)?"
    r"|right|correct|no|yes|true|agreed|don['\u2019]t you think|or not)\s*\?\s*$",
    re.IGNORECASE,
)
_NEGATED_OPENING = re.compile(
    rf"^(?:{_NEGATED}|{_AUXILIARY}\s+{_WHO}\s+not|would(?:n['\u2019]?t)?\s+you\s+(?:not\s+)?(?:agree|say))\b",
    re.IGNORECASE,
)
_PRESUMED = re.compile(
    r"\b(?:obvious(?:ly)?|of course|undoubtedly|undeniabl[ey]|unquestionabl[ey]"
    r"|needless to say|as (?:we|everyone|everybody) (?:all )?knows?|(?:as is|it is) well[- ]known"
    r"|it is (?:clear|true) that|everyone knows|surely|no doubt)\b",
    re.IGNORECASE,
)
_LEADING = (
    (
        _TAG,
        'the tag "{}" expects one answer',
        "ask without the tag: a question that may be answered either way",
    ),
    (_NEGATED_OPENING, 'the opening "{}" expects one answer', "ask it without the negation"),
    (_PRESUMED, '"{}" takes the answer for granted', "leave it out"),
)
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|\([^()]*\)")
_SECOND_CLAUSE = re.compile(
    rf"\b(?:and|as well as)\s++(?:then|also|in turn)?,?+\s*+{_ASKING}\b"
    rf"|,\s*and\s+(?:{_ASKING}|{_AUXILIARY})\b|\bif so,?\s+(?:{_ASKING}|{_AUXILIARY})\b"
    rf"|;\s*(?:{_ASKING}|{_AUXILIARY})\b",
    re.IGNORECASE,
)
_OPENS_ASKING = re.compile(rf"^(?:\W*+\w++\s++){{0,3}}?(?:{_ASKING}|{_AUXILIARY})\b", re.IGNORECASE)
_TO_READER = re.compile(
    r"^(?:have|do|did|are|were|will)\s+you\b|\byou\s+(?:want|plan|wish|intend)\b", re.IGNORECASE
)
_NO_KEY = frozenset({"yes", "no", "true", "false", "both", "neither", "none"})
_WORD = re.compile(r"[^\W_]+(?:[.'-][^\W_]+)*")


@dataclass(frozen=True)
class Flaw:
    """A flaw in the wording of a question, with an explanation and a suggested correction."""

    kind: FlawKind
    why: str
    mend: str


def find_question_flaws(text: str, answers: Iterable[str] = ()) -> tuple[Flaw, ...]:
    """Return the wording flaws that the rules detect in a question.

    Example:
        >>> [flaw.kind for flaw in find_question_flaws("It began in 1951, didn't it?")]
        ['leading']
    """
    told = _find_told_answer(text, answers)
    flaws = (
        _find_leading_words(text),
        told,
        _find_second_question(text),
        _find_reader_question(text),
        _find_unclear_reference(text),
    )
    return tuple(flaw for flaw in flaws if flaw is not None)


def _find_leading_words(text: str) -> Flaw | None:
    for pattern, why, mend in _LEADING:
        if match := pattern.search(text):
            return Flaw("leading", why.format(match[0].strip(" ,;")), mend)
    return None


def _find_told_answer(text: str, answers: Iterable[str]) -> Flaw | None:
    question_text = f" {' '.join(_WORD.findall(text.casefold()))} "
    for answer in answers:
        words = " ".join(_WORD.findall(answer.casefold()))
        is_told = len(words) > 1 and f" {words} " in question_text
        if is_told and words not in _NO_KEY and " or " not in question_text:
            why = f'the known answer "{answer}" stands in the question'
            return Flaw("answer_told", why, "ask for it without naming it")
    return None


def _find_second_question(text: str) -> Flaw | None:
    unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    mend = "make two items of it, or keep the part that matters"
    if unquoted.count("?") > 1:
        return Flaw("two_questions", "it has more than one question mark", mend)
    second = _SECOND_CLAUSE.search(unquoted)
    if second and second.start() and _OPENS_ASKING.search(unquoted):
        return Flaw(
            "two_questions", f'"{second[0].strip(" ,;")} ..." asks for something more', mend
        )
    return None


def _find_reader_question(text: str) -> Flaw | None:
    match = _TO_READER.search(text)
    if not match:
        return None
    mend = "ask what a text can tell: who needs it, what it takes"
    return Flaw("asks_reader", f'"{match[0]}" asks its reader, whom no passage knows', mend)


def _find_unclear_reference(text: str) -> Flaw | None:
    mend = "name it: the question is graded without the query"
    this, the = find_unnamed(text), find_bare_phrase(text)
    if this:
        return Flaw("out_of_context", f'"{this[0]}" is named nowhere in it', mend)
    if the:
        return Flaw("out_of_context", f'it does not say which {the[1]} "{the[0]}" is', mend)
    return None


_PLACE = r"\W*(?:(?:in|at|on|by|for|to|from|of|with)\s+)?"
_TIME = re.compile(rf"{_PLACE}(?:what|which)\s+(?:year|date|day|month|century|time)\b")
_ASKED = re.compile(
    rf"{_PLACE}(how\s+(?:many|much|old|long|often|far|fast|big|large|tall)|who|whom|whose|what"
    r"|which|when|where|why|how)\b"
)
_SAME = {"which": "what", "whom": "who"}
_FILLING = frozenset(
    """
    a an the is are was were be been being do does did has have had can could may might will would
    should shall must there any some specific particular certain main major key of in on for to by
    with at from as that it its their they this these or and if you please typically usually
    generally commonly exactly actually give provide what which who whom whose when where why how
    year date day time
    """.split()
)
_CONTENT_WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
_ENDING = re.compile(r"(?:ing|ed|es|s|e|ly)$")


def find_question_word(question: str) -> str:
    """Return a question word such as "who" or "how many", or "whether" if there is none.

    Example:
        >>> find_question_word("In which year did it begin?"), find_question_word("Is it old?")
        ('when', 'whether')
    """
    folded = question.casefold()
    if _TIME.match(folded):
        return "when"
    match = _ASKED.match(folded)
    return _SAME.get(match[1], " ".join(match[1].split())) if match else "whether"


def is_one_question(first: str, second: str) -> bool:
    """Return whether two questions have the same question word and content words in the same order.

    Function words and word endings are ignored.

    Example:
        >>> is_one_question("When was Ada born?", "In what year was Ada born?")
        True
        >>> is_one_question("How does sleep affect pain?", "How does pain affect sleep?")
        False
    """
    return find_question_word(first) == find_question_word(second) and _list_content_words(
        first
    ) == _list_content_words(second)


def _list_content_words(question: str) -> list[str]:
    words = _CONTENT_WORD.findall(question.casefold().replace("'s", "").replace("\u2019s", ""))
    return [_ENDING.sub("", word) for word in words if word not in _FILLING]
