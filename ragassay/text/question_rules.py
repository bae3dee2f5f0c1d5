"""Turn a sentence into the question that it answers, by rules on its words. No model is called.

A rule reads one clause: its subject, the first finite verb, and a pattern behind it that says what
the rest is: a value, a change, a cause, a part, a use, a rank. The question takes subject and verb
as they stand and leaves out the rest, so that it is English where the sentence was. Where no rule
is sure of a question that can be understood alone, there is none: most sentences make none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

QuestionKind = Literal["value", "change", "cause", "relation", "use", "way", "rank", "meaning"]
"""What is asked for: a value, by how much something changed, why, what it stands in a relation to,
what for, how, which is the first of its kind, what it is."""


@dataclass(frozen=True)
class RuleQuestion:
    """A question that a rule made of a sentence.

    Attributes:
        text: The question.
        kind: What it asks for.
        subject: What the sentence is about.
    """

    text: str
    kind: QuestionKind
    subject: str


@dataclass(frozen=True)
class _Clause:
    subject: str
    verb: str
    rest: str


_LEXICAL: dict[str, tuple[str, str, str]] = {
    form: (auxiliary, base, after)
    for auxiliary, forms in {
        "does": "consists consist of|depends depend on|leads lead to|results result in|"
        "contains contain |requires require |causes cause |induces induce |produces produce |"
        "inhibits inhibit |comprises comprise |originates originate from|arises arise from|"
        "stems stem from|refers refer to|involves involve |belongs belong to|acts act as|"
        "serves serve as|binds bind to|reacts react with|affects affect |regulates regulate |"
        "mediates mediate |catalyzes catalyze |catalyses catalyse |encodes encode |"
        "activates activate |stimulates stimulate |suppresses suppress |promotes promote |"
        "facilitates facilitate |prevents prevent |increases increase |decreases decrease |"
        "reduces reduce |improves improve |enhances enhance ",
        "do": "consist consist of|depend depend on|contain contain |require require |"
        "comprise comprise |originate originate from|arise arise from|inhibit inhibit |"
        "belong belong to|affect affect ",
        "did": "depended depend on|led lead to|resulted result in|"
        "inhibited inhibit |originated originate from|arose arise from",
    }.items()
    for form, base, after in (entry.split(" ") for entry in forms.split("|"))
}
_RANGED = {"ranges": "does", "range": "do", "ranged": "did", "varied": "did"}
_HAVING = {"has": "does", "have": "do", "had": "did"}
_CHANGED = {
    "increased": "increase",
    "decreased": "decrease",
    "rose": "rise",
    "fell": "fall",
    "dropped": "drop",
    "declined": "decline",
    "improved": "improve",
}
_AUXILIARY = (
    *("is", "are", "was", "were", "can", "could", "may", "might", "will", "would", "should"),
    *("must", "has", "have", "had"),
)
_BE = ("is", "are", "was", "were")
_PAST = ("was", "were")
_FINITE = re.compile(rf"\b(?:{'|'.join((*_AUXILIARY, *_LEXICAL, *_CHANGED, *_RANGED))})\b")
_ADVERBS = r"(?:(?:\w+ly|often|also|most|widely|well)\s+)?"
_NUMBER = r"(?:[<>~\u2248\u2264\u2265]\s*)?[+\u2212\u2013-]?\d[\d.,]*"
_VALUE = re.compile(
    r"(?:(?:found|estimated|reported|measured|calculated|determined|observed) to be )?"
    r"(?:(?:about|approximately|around|only|up to|at least|roughly|nearly|almost|ca\.) )?"
    rf"{_NUMBER}(?:\s?(?:\u00b1|\u2013|-|to|\u00d7)\s?{_NUMBER})*\s?"
    r"(?:%|\u00b0|[\u03bc\u00b5]?[A-Za-z]{1,4}\b(?!\s+(?:of|and)\b)|wt|days?|hours?|years?|minutes?)"
)
_FROM_NUMBER = re.compile(rf"(?:from|between) (?:about )?{_NUMBER}")
_HAS_NUMBER = re.compile(
    rf"an? (?P<what>(?:[\w-]+ ){{0,3}}[\w-]+) of (?:about |approximately )?{_NUMBER}"
)
_SHARE = re.compile(
    rf"^(?:(?:About|Approximately|Around|Nearly|Almost|Over|Roughly|Only|More than|Less than) )?"
    rf"{_NUMBER}\s?% of (?P<clause>[^,;:]+?)(?:[,;] .*)?\.$"
)
_BY_NUMBER = re.compile(
    rf"^(?P<kept>(?:(?!by\b|from\b)\S+\s+){{0,8}}?)(?:by (?:about |approximately |only |up to |a "
    rf"factor of )?{_NUMBER}|from (?:about )?{_NUMBER}\S*(?:\s\S+){{0,3}} to (?:about )?{_NUMBER})"
)
_QUANTITY = re.compile(
    r"\b(?:rate|temperature|concentration|limit|value|sensitivity|proportion|percentage|fraction|"
    r"ratio|yield|diameter|thickness|length|width|size|area|volume|mass|weight|density|content|"
    r"level|energy|potential|voltage|conductivity|resistance|resistivity|pressure|power|efficiency|"
    r"accuracy|recovery|recoveries|range|time|duration|lifetime|half-life|ph|point|gap|constant|"
    r"coefficient|number|dose|prevalence|incidence|mortality|age|cost|capacity|strength|modulus|"
    r"hardness|speed|velocity|frequency|wavelength|distance|angle|deviation|score|index|variance|"
    r"amplitude|solubility|height|depth|intake|span|loading|coverage|permeability|viscosity)s?"
    r"(?=$|\s+(?:of|for|in|between|at|on)\b)",
    re.IGNORECASE,
)
_RELATED = re.compile(
    rf"^(?P<kept>(?:be |been )?{_ADVERBS}(?:attributed to|ascribed to|related to|due to|caused by|"
    r"composed of|made of|made up of|based on|known as|defined as|characterized by|"
    r"dominated by|limited by|controlled by|governed by|responsible for|associated with|"
    r"accompanied by|influenced by|affected by|induced by|derived from|correlated with|"
    r"proportional to|dependent on|followed by|sensitive to|resistant to|susceptible to|"
    r"capable of|involved in|replaced by|mediated by))\s+(?P<object>.+)"
)
_USED = re.compile(
    rf"^(?P<kept>(?:be |been )?{_ADVERBS}(?:used|employed))\s+"
    r"(?P<how>for|as|to(?! the\b)|in(?! order\b))\s+(?P<object>.+)"
)
_WAY = re.compile(
    rf"^(?P<kept>(?:be |been )?{_ADVERBS}(?:prepared|synthesi[sz]ed|obtained|measured|determined|"
    r"produced|formed|made|achieved|removed|detected|estimated|calculated|improved|reduced|enhanced|"
    r"prevented|avoided|overcome|separated|isolated|purified|generated|deposited|grown))\s+"
    r"(?P<how>by|using|via|through)\s+(?P<object>.+)"
)
_CAUSE = re.compile(
    r"^(?P<kept>[^,;:]{3,90}?),?\s+(?:because of|because|due to|owing to|as a result of)\s+"
    r"(?P<object>.+)"
)
_RANK = re.compile(
    r"^(?P<kept>(?:one of )?the (?:most|main|major|primary|key|only|first|largest|smallest|"
    r"highest|lowest|best|principal|dominant|simplest|leading|commonest) [^,;:]+?)"
    r"(?:,| (?:because|since|due to|owing to|which|and)\b|\.$)"
)
_MEANING = re.compile(
    r"^an? (?!(?:\w+ ){0,4}?(?:result|consequence|need|function|matter|lack|problem|topic|field|"
    r"challenge|issue|way|area|interest|candidate|step|aspect|goal|aim|task)\b)"
    r"[^,;:]*?\b(?:that|which|used|consisting|resulting|of|for|containing|in which)\b"
)
_WEAK_WAY = re.compile(
    r"^(?:(?:an?|the|two|three|several|different|standard|modified|usual|common) (?:\S+ ){0,3})?"
    r"(?:approach(?:es)?|procedures?|methods?|techniques?|protocols?|equations?|ways?|means)\b"
)
_HEDGED_END = re.compile(
    r"(?:\s*\b(?:most likely|likely|mainly|mostly|partly|probably|possibly|primarily|largely|"
    r"in part|perhaps|either|presumably|simply|just|not only|only|be|been))+$"
)
_ADJUNCT = re.compile(
    r"^(?P<where>(?:In|For|At|During|Under|Among|Within) (?!addition|general|contrast|"
    r"fact|particular|"
    r"comparison|example|instance|turn|summary|conclusion|principle|practice|order|"
    r"this|these|our|the (?:same|present|case)|most|some|many|such|all|both|recent)[^,;:()]{3,60}), "
    r"(?P<clause>.+)$"
)

_NO_SUBJECT = re.compile(
    r"^(?:\w+ly|\w+ing (?:the|of|an?)|"
    r"in|at|on|for|with|by|to|from|under|after|before|during|as|if|when|while|since|"
    r"although|though|because|however|therefore|thus|hence|moreover|furthermore|finally|"
    r"then|there|here|it|he|she|they|we|i|you|this|that|these|those|such|what|which|who|"
    r"how|no|none|nothing|each|both|some|any|several|many|most|much|few|all|every|either|"
    r"neither|another|other|others|one|two|three|similar|same|different|only|even|also|"
    r"again|now|first|second|third|next|so|yet|but|and|or|not|among|between|according|"
    r"based|using|compared|unlike|like|its|their|our|his|her|my|results?|data|analysis|"
    r"examples?|further|addition|figs?|tables?|section)\b",
    re.IGNORECASE,
)
_NOT_IN_SUBJECT = re.compile(
    r"\b(?:that|which|who|whose|whom|when|where|while|if|because|although|as|than|we|our|us|it|its|"
    r"they|their|them|this|these|those|such|here|above|below|following|same|other|former|latter|"
    r"present|latest|show\w*|suggest\w*|indicat\w*|reveal\w*|demonstrat\w*|confirm\w*|impl(?:y|ies)"
    r"|report\w*|said|not)\b|\b(?:and|or|but|of|the|a|an|to|by|with|in|for)$",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:we|our|us|it|its|they|their|them|this|these|those|such|here|herein|above|below|"
    r"following|previous(?:ly)?|same|other|another|former|latter|present|current|respectively|"
    r"stud(?:y|ies)|works?|papers?|authors?|figs?|figures?|tables?|sections?|eqs?|equations?|refs?|"
    r"et al|i\.e|e\.g|experiments?|samples?|one|each|both|similar|obtained|proposed|resulting|"
    r"corresponding|various|different|certain|described|mentioned|shown|reported|however|therefore|"
    r"also|thus|then|instead|too|so|example|et)\b|\[\]",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(r"^(?:by|that|whether|not|no|in|at|the (?:same|following))\b", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"(?:with|by|from|as|at|to|when|in|on|of|for|until|after|during|over|and|or|\w+ly)\b"
)
_DEFINITE = re.compile(r"\bthe\s+", re.IGNORECASE)
_NP_END = frozenset(
    """of for between in on to with by at from and or is are was were be been due because than as
    used using during under after before via through can may be""".split()
)
_RANKED = re.compile(r"(?:most|main|major|primary|key|only|leading|principal|\w+est)$")
_RANKED_WORDS = 4
_RANK_IN = frozenset(("of", "in", "for", "on"))
_COMPLEMENT = frozenset(("of", "between"))
_UNIQUE = frozenset(
    "world environment atmosphere air sun earth body brain liver blood ocean sea literature".split()
)
_IN_ANSWER = re.compile(
    r"\b(?:we|our|us|this|these|those|here|herein|above|below|figs?|figures?|tables?|refs?|eqs?|"
    r"equations?|et al|stud(?:y|ies)|paper|work|authors?|previous(?:ly)?|aforementioned|latter|"
    r"former|schemes?|sections?|as (?:shown|described|mentioned|discussed|illustrated|seen))\b"
    r"|\[\]|\(\s*\)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\s,;:()\[\]]+")
_FEWEST, _MOST = 4, 24


def rule_question(
    sentence: str, *, is_known: Callable[[str], bool], is_common: Callable[[str], bool]
) -> RuleQuestion | None:
    """Return the question that a sentence answers; None where no rule makes a good one.

    Args:
        sentence: A whole sentence, without citations.
        is_known: Whether words have one of the paper's keywords.
        is_common: Whether a word with a capital has it only as the first of a sentence.

    Example:
        >>> found = rule_question(
        ...     "The boiling point of benzene is 80 \u00b0C.",
        ...     is_known=lambda words: "benzene" in words,
        ...     is_common=lambda word: word == "The",
        ... )
        >>> found and found.text
        'What is the boiling point of benzene?'
    """
    if _IN_ANSWER.search(sentence) or not sentence.endswith("."):
        return None
    adjunct = _ADJUNCT.match(sentence)
    where = ""
    if adjunct:
        first, _, more = adjunct["where"].partition(" ")
        where, sentence = f"{first.lower()} {more}", adjunct["clause"]
    clause = _clause(sentence)
    if clause is None:
        return None
    subject = clause.subject if adjunct else _inside(clause.subject, is_common)
    found = next(filter(None, (rule(subject, clause) for rule in _RULES)), None)
    if found is None:
        return None
    kind, text = found
    if kind != "rank" and not is_known(clause.subject):
        return None
    question = f"{' '.join(f'{text} {where}'.split())}?"
    fits = _FEWEST <= len(question.split()) <= _MOST
    if not fits or not stands_alone(question, is_known):
        return None
    return RuleQuestion(question, kind, subject)


def stands_alone(question: str, is_known: Callable[[str], bool]) -> bool:
    """Return whether all that a question names can be known without its text, as far as words tell.

    A noun with "the" must be told apart by what follows it, which has a keyword.

    Example:
        >>> [
        ...     stands_alone(f"What was the yield{more}?", lambda words: "ethanol" in words)
        ...     for more in (" of ethanol", " of the reaction", "")
        ... ]
        [True, False, False]
    """
    if _POINTS.search(question):
        return False
    ends = [found.end() for found in _DEFINITE.finditer(question)]
    return all(_is_told(question[end:], is_known) for end in ends)


def _clause(sentence: str) -> _Clause | None:
    found = _FINITE.search(sentence)
    if found is None:
        return None
    subject, rest = sentence[: found.start()].strip(), sentence[found.end() :].strip()
    if not 1 <= len(subject.split()) <= 12 or not rest or re.search(r"[,;:\[\]?!\"]", subject):
        return None
    if _NO_SUBJECT.search(subject) or _NOT_IN_SUBJECT.search(subject):
        return None
    if subject.count("(") != subject.count(")") or _LEADS_ON.search(rest):
        return None
    return _Clause(subject, found[0], rest)


def _inside(subject: str, is_common: Callable[[str], bool]) -> str:
    """Return a subject as it stands inside a sentence: a name keeps its capital."""
    first, _, more = subject.partition(" ")
    return " ".join(filter(None, (first.lower() if is_common(first) else first, more)))


def _is_told(after: str, is_known: Callable[[str], bool]) -> bool:
    """Return whether a noun phrase behind "the" is told apart."""
    words: list[str] = []
    for found in _TOKEN.finditer(after):
        word = found[0].strip("?.").lower()
        if word in _NP_END:
            return bool(words) and bool(
                (_RANKED.match(words[0]) and (len(words) >= _RANKED_WORDS or word in _RANK_IN))
                or (word in _COMPLEMENT and is_known(after[found.end() :]))
                or words[-1] in _UNIQUE
            )
        words.append(word)
    is_ranked = len(words) >= _RANKED_WORDS and _RANKED.match(words[0])
    return bool(words) and (bool(is_ranked) or words[-1] in _UNIQUE)


def _change(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _BY_NUMBER.search(clause.rest) if clause.verb in _CHANGED else None
    if found is None:
        return None
    return "change", f"By how much did {subject} {_CHANGED[clause.verb]} {found['kept']}"


def _lexical(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    if clause.verb not in _LEXICAL:
        return None
    auxiliary, base, after = _LEXICAL[clause.verb]
    rest = clause.rest
    if not after and _PREPOSITION.match(rest):
        return None
    if after and not rest.startswith(f"{after} "):
        return None
    if len(rest.removeprefix(after).split()) < 2:
        return None
    return "relation", f"What {auxiliary} {subject} {base} {after}"


def _value(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    if clause.verb not in _BE or not _VALUE.match(clause.rest):
        return None
    head = re.split(r"\s(?:of|for|in|between|at|on)\b", subject)[0]
    if not _QUANTITY.search(head) or (clause.verb in _PAST and subject.count("the ") > 1):
        return None
    return "value", f"What {clause.verb} {subject}"


def _related(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _RELATED.match(clause.rest)
    if found is None or _is_plain(clause):
        return None
    return "relation", f"What {clause.verb} {subject} {found['kept']}"


def _used(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _USED.match(clause.rest)
    # What was used once is a step of one experiment, which a question would have to tell.
    if found is None or _is_plain(clause) or clause.verb in _PAST:
        return None
    after = "for" if found["how"] == "to" else found["how"]
    return "use", f"What {clause.verb} {subject} {found['kept']} {after}"


def _way(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _WAY.match(clause.rest)
    if found is None or _is_plain(clause) or clause.verb in _PAST:
        return None
    if _WEAK_WAY.match(found["object"]):
        return None
    return "way", f"How {clause.verb} {subject} {found['kept']}"


def _cause(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _CAUSE.match(clause.rest) if clause.verb in _AUXILIARY else None
    kept = _HEDGED_END.sub("", found["kept"]) if found else ""
    return ("cause", f"Why {clause.verb} {subject} {kept}") if kept else None


def _rank(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _RANK.match(clause.rest) if clause.verb in _BE else None
    return None if found is None else ("rank", f"What {clause.verb} {found['kept']}")


def _range(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    if clause.verb not in _RANGED or not _FROM_NUMBER.match(clause.rest):
        return None
    return "value", f"In what range {_RANGED[clause.verb]} {subject} lie"


def _has(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = _HAS_NUMBER.match(clause.rest) if clause.verb in _HAVING else None
    if found is None or not _QUANTITY.search(found["what"]):
        return None
    return "value", f"What {found['what']} {_HAVING[clause.verb]} {subject} have"


def _meaning(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    is_name = len(subject.split()) <= 6 and not subject.startswith("the ")
    if clause.verb != "is" or not _MEANING.match(clause.rest) or not is_name:
        return None
    return "meaning", f"What is {subject}"


def _is_plain(clause: _Clause) -> bool:
    """Return whether a verb takes no participle: "has" wants "been" first."""
    has = clause.verb in ("has", "have", "had")
    modal = clause.verb not in _BE and not has
    return (has and not clause.rest.startswith("been ")) or (
        modal and not clause.rest.startswith("be ")
    )


_RULES = (_change, _lexical, _range, _has, _value, _cause, _related, _used, _way, _rank, _meaning)
