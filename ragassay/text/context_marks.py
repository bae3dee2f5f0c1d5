"""Find the words of a pair that need its paper: "this study", "the authors", "Figure 5".

Rules only. A pair without them is agnostic (SciQAG, section 3.3). What a question points to ("this
acid") it must name itself; an answer may point to its question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_RULES: tuple[tuple[str, str], ...] = (
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
    (
        "authors",
        r"\bthe (?:authors?|researchers?|investigators?|experimenters?|team)\b(?! of )",
    ),
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
_COMPILED = tuple((kind, re.compile(rule, re.IGNORECASE)) for kind, rule in _RULES)

_POINTING = re.compile(r"\b(?:this|these)\s+(?!is\b|are\b|was\b|were\b|who\b)([a-z]+)")
_BARE = re.compile(
    r"\bthe\s+(show|movie|film|book|novel|story|series|song|game|passage|text|article|author|study"
    r"|document|character|speaker|paragraph|query)\b(?!\s+(?:of|['\u2018\u201c\"A-Z]))"
)
_NAME = re.compile(r"(?<=\w)\W+[A-Z][\w.]*|['\u2018\u201c\"]\w")


def context_marks(question: str, answer: str) -> tuple[ContextMark, ...]:
    """Return the words of a question and its answer that need the paper, in order.

    Args:
        question: The question.
        answer: Its answer; may be empty.

    Returns:
        Empty for a pair that stands alone, as far as the rules see.

    Example:
        >>> [mark.text for mark in context_marks("What does Figure 5 show?", "We used ice.")]
        ['Figure 5', 'We']
    """
    return (*_marks(question, "question"), *_marks(answer, "answer"))


def _marks(text: str, part: PairPart) -> Iterator[ContextMark]:
    spans = [(*found.span(), kind) for kind, rule in _COMPILED for found in rule.finditer(text)]
    if part == "question" and (found := unnamed(text)):
        spans.append((*found.span(), "pointing"))
    end = 0
    for start, stop, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= end:
            yield ContextMark(part=part, text=text[start:stop], start=start, end=stop, kind=kind)
            end = stop


def unnamed(question: str) -> re.Match[str] | None:
    """Return the first "this X" of a question that does not say before which X it is."""
    folded = question.casefold()
    for found in _POINTING.finditer(question):
        if folded.find(found[1].rstrip("s"), 0, found.start()) < 0:
            return found
    return None


def bare(question: str) -> re.Match[str] | None:
    """Return "the show", "the author" and the like in a question that names nothing."""
    found = _BARE.search(question)
    return found if found and not _NAME.search(question) else None
