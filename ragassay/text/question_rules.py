"""Turn a sentence into the question that it answers, by rules on its words. No model is called.

A rule reads one clause: its subject, the first finite verb, and a pattern behind it that says what
the rest is: a value, a cause, a part, a use, a rank. The question takes subject and verb
as they stand and leaves out the rest, so that it is English where the sentence was. Where no rule
is sure of a question that can be understood alone, there is none: most sentences make none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ragassay.text import question_patterns as say
from ragassay.text.word_kinds import kind_of_word

QuestionKind = Literal["value", "cause", "relation", "use", "way", "rank", "meaning"]
"""The aim of a question: a value, why, what something stands in a relation to, what for, how, which
is the first of its kind, what something is."""


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


def rule_question(
    sentence: str, *, is_known: Callable[[str], bool], is_common: Callable[[str], bool | None]
) -> RuleQuestion | None:
    """Return the question that a sentence answers; None where no rule makes a good one.

    Args:
        sentence: A whole sentence, without citations.
        is_known: Whether words have one of the paper's keywords.
        is_common: Whether a word with a capital has it only as the first of a sentence; None where
            that cannot be told, and there is no question.

    Example:
        >>> found = rule_question(
        ...     "The boiling point of benzene is 80 \u00b0C.",
        ...     is_known=lambda words: "benzene" in words,
        ...     is_common=lambda word: word == "The",
        ... )
        >>> found and found.text
        'What is the boiling point of benzene?'
    """
    if say.IN_ANSWER.search(sentence) or not sentence.endswith("."):
        return None
    adjunct = say.ADJUNCT.match(sentence)
    where = ""
    if adjunct:
        first, _, more = adjunct["where"].partition(" ")
        where, sentence = f"{first.lower()} {more}", adjunct["clause"]
    clause = _clause(sentence)
    if clause is None or (not adjunct and is_common(clause.subject.split()[0]) is None):
        return None
    subject = clause.subject if adjunct else _inside(clause.subject, is_common)
    found = next(filter(None, (rule(subject, clause) for rule in _RULES)), None)
    if found is None:
        return None
    kind, text = found
    if kind != "rank" and not is_known(clause.subject):
        return None
    question = f"{' '.join(f'{text} {where}'.split())}?"
    fits = say.FEWEST <= len(question.split()) <= say.MOST
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
    if say.POINTS.search(question):
        return False
    ends = [found.end() for found in say.DEFINITE.finditer(question)]
    return all(_is_told(question[end:], is_known) for end in ends)


def lacks_article(text: str) -> bool:
    """Return whether a noun that is counted stands alone: "of sensor".

    Example:
        >>> lacks_article("drift of gas sensor"), lacks_article("drift of the gas sensor")
        (True, False)
    """
    return say.BARE_COUNT.search(text) is not None


def _clause(sentence: str) -> _Clause | None:
    found = say.FINITE.search(sentence)
    if found is None:
        return None
    subject, rest = sentence[: found.start()].strip(), sentence[found.end() :].strip()
    if not 1 <= len(subject.split()) <= 12 or not rest or not _is_one_phrase(subject):
        return None
    if say.NO_SUBJECT.search(subject) or say.NOT_IN_SUBJECT.search(subject):
        return None
    if say.BARE_PLURAL.fullmatch(subject) or say.AMOUNT.search(subject) or lacks_article(subject):
        return None
    if subject.count("(") != subject.count(")") or say.LEADS_ON.search(rest):
        return None
    return _Clause(subject, found[0], rest)


def _is_one_phrase(subject: str) -> bool:
    bare = say.BRACKETS.sub("", subject)
    return not re.search(r"[,;:\[\]?!\"()]", bare) or bool(say.LISTED.fullmatch(bare))


def _inside(subject: str, is_common: Callable[[str], bool | None]) -> str:
    """Return a subject as it stands inside a sentence: a name keeps its capital."""
    first, _, more = subject.partition(" ")
    return " ".join(filter(None, (first.lower() if is_common(first) else first, more)))


def _is_told(after: str, is_known: Callable[[str], bool]) -> bool:
    """Return whether a noun phrase behind "the" is told apart."""
    words: list[str] = []
    for found in say.TOKEN.finditer(after):
        word = found[0].strip("?.").lower()
        if word in say.NP_END:
            return bool(words) and bool(
                (
                    say.RANKED.match(words[0])
                    and (len(words) >= say.RANKED_WORDS or word in say.RANK_IN)
                )
                or (word in say.COMPLEMENT and is_known(after[found.end() :]))
                or words[-1] in say.UNIQUE
            )
        words.append(word)
    is_ranked = len(words) >= say.RANKED_WORDS and say.RANKED.match(words[0])
    return bool(words) and (bool(is_ranked) or words[-1] in say.UNIQUE)


def _lexical(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    if clause.verb not in say.LEXICAL:
        return None
    auxiliary, base, after = say.LEXICAL[clause.verb]
    words = [word for word in subject.split() if not word.endswith("ly")]
    if kind_of_word(words[-1].strip("()").lower()) != "noun":
        return None  # "known causes", "better results": no verb.
    if base == "include" and not say.TOLD_APART.search(subject):
        return None
    if base == "play":
        return None
    rest = clause.rest
    if say.VAGUE_OBJECT.match(rest) or (not after and say.PREPOSITION.match(rest)):
        return None
    if after and not rest.startswith(f"{after} "):
        return None
    if len(rest.removeprefix(after).split()) < 2:
        return None
    return "relation", f"What {auxiliary} {subject} {base} {after}"


def _value(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.VALUE.match(clause.rest) if clause.verb in say.BE else None
    # A value that holds "in ..." or "at ..." only is not the subject's.
    if found is None or not say.AFTER_VALUE.match(clause.rest[found.end() :]):
        return None
    head = re.split(r"\s(?:of|for|in|between|at|on)\b", subject)[0]
    if not say.QUANTITY.search(head) or clause.verb in say.PAST:
        return None
    return "value", f"What {clause.verb} {subject}"


def _related(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.RELATED.match(clause.rest)
    if found is None or _is_plain(clause) or clause.verb in say.PAST:
        return None
    if say.VAGUE_OBJECT.match(found["object"]):
        return None
    return "relation", f"What {clause.verb} {subject} {found['kept']}"


def _passive(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.PASSIVE.match(clause.rest)
    if found is None or _is_plain(clause) or clause.verb in say.PAST:
        return None
    if found["how"] == "as" and clause.verb in say.MODALS:
        return None
    if found["how"] == "by" and re.match(r"\w+ing\b", found["object"]):
        return "way", f"How {clause.verb} {subject} {found['kept'].removesuffix('by')}"
    return "relation", f"What {clause.verb} {subject} {found['kept']}"


def _property(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    is_told = clause.verb in ("is", "are") and say.IDENTITY.match(clause.rest)
    if not is_told or not say.PROPERTY.match(subject):
        return None
    return "rank", f"What {clause.verb} {subject}"


def _role(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.ROLE.match(clause.rest) if clause.verb in ("plays", "play") else None
    if found is None:
        return None
    auxiliary = say.LEXICAL[clause.verb][0]
    return "relation", f"What {auxiliary} {subject} play {found['kept']}"


def _used(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.USED.match(clause.rest)
    if found is None or _is_plain(clause) or clause.verb in say.PAST:
        return None
    after = "for" if found["how"] == "to" else found["how"]
    return "use", f"What {clause.verb} {subject} {found['kept']} {after}"


def _way(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.WAY.match(clause.rest)
    if found is None or _is_plain(clause) or clause.verb in say.PAST:
        return None
    if say.WEAK_WAY.match(found["object"]):
        return None
    return "way", f"How {clause.verb} {subject} {found['kept']}"


def _without_hedges(text: str) -> str:
    """Return a text without the hedges at its end; in one pass, however many there are."""
    end = len(text)
    while found := say.HEDGED_END.search(text, max(0, end - say.LONGEST_HEDGE), end):
        end = found.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _cause(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.CAUSE.match(clause.rest) if clause.verb in say.AUXILIARY else None
    if found and clause.rest.startswith("have "):
        return None
    if clause.verb in say.PAST and not (found and " than " in found["kept"]):
        return None
    kept = _without_hedges(found["kept"]) if found else ""
    if re.search(rf"\b(?:and|or|but) (?:{'|'.join(say.AUXILIARY)})\b", kept):
        return None
    is_thing = clause.verb in say.BE and kept and kind_of_word(kept.split()[-1]) == "noun"
    if not kept or (is_thing and not say.HAS_OBJECT.search(kept)):
        return None
    return "cause", f"Why {clause.verb} {subject} {kept}"


def _rank(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.RANK.match(clause.rest) if clause.verb in ("is", "are") else None
    if found and (clause.verb == "are") != bool(say.MANY.match(found["kept"])):
        return None
    if found and kind_of_word(found["kept"].split()[-1].lower()) != "noun":
        return None  # "the main cause of systolic | and pulse pressure"
    return None if found is None else ("rank", f"What {clause.verb} {found['kept']}")


def _modal(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.BASE.match(clause.rest) if clause.verb in say.MODALS else None
    if found is None or (not found["after"] and say.PREPOSITION.match(found["object"])):
        return None
    return "relation", f"What {clause.verb} {subject} {found['kept']}"


def _has(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    found = say.HAS_NUMBER.match(clause.rest) if clause.verb in say.HAVING else None
    if found is None or not say.QUANTITY.search(found["what"]):
        return None
    return "value", f"What {found['what']} {say.HAVING[clause.verb]} {subject} have"


def _meaning(subject: str, clause: _Clause) -> tuple[QuestionKind, str] | None:
    is_name = len(subject.split()) <= 6 and not subject.startswith("the ")
    if clause.verb != "is" or not say.MEANING.match(clause.rest) or not is_name:
        return None
    return "meaning", f"What is {subject}"


def _is_plain(clause: _Clause) -> bool:
    """Return whether a verb takes no participle: "has" wants "been" first."""
    has = clause.verb in ("has", "have", "had")
    modal = clause.verb not in say.BE and not has
    return (has and not clause.rest.startswith("been ")) or (
        modal and not clause.rest.startswith("be ")
    )


_RULES = (
    *(_property, _role, _lexical, _modal, _has, _value, _cause, _related, _used, _way, _rank),
    *(_meaning, _passive),
)
