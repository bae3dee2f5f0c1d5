"""Find the citation marks of an answer, in every style of `ragassay.text.citation_styles`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ragassay.text.citation_markers import expand
from ragassay.text.citation_markers import find_lists as find_number_lists
from ragassay.text.citation_styles import (
    BRACKETS,
    NARRATIVE,
    Target,
    address_target,
    is_no_author,
    join_identifiers,
    read_targets,
    with_address,
    without_locators,
)
from ragassay.text.markup import (
    CITE,
    CITE_END,
    DELIMITERS,
    LINK,
    LINK_END,
    MASK,
    SUP,
    SUP_END,
    PlainText,
)
from ragassay.text.number_words import number_words_in

_OPENING = re.escape("".join(opening for opening, _, _ in BRACKETS))
_CLOSING = re.escape("".join(closing for _, closing, _ in BRACKETS))
_BRACKETED = re.compile(
    rf"(?P<open>[{_OPENING}])(?P<content>[^{_OPENING}{_CLOSING}\n]{{1,400}})(?P<close>[{_CLOSING}])"
)
_PAGED = re.compile(
    r"(?P<open>[\[\u3010])(?P<content>[^\[\]\u3010\u3011\n]{1,300})(?P<close>[\]\u3011])"
)
_ISSUED = re.compile(
    r"\((?P<content>[^()\n]{1,300}(?:19|20)\d\d;\s?\d{1,4}\s?\([\w.\s-]{1,12}\):[^()\n]{1,40})\)"
)
"""A reference with the number of an issue in parentheses: "(... 2019;381(21):1995-2008)"."""
_PARTNER = {opening: (closing, is_square) for opening, closing, is_square in BRACKETS}
_RAISED_DIGITS = "\u2070\u00b9\u00b2\u00b3\u2074-\u2079"
_RAISED = re.compile(
    rf"[{_RAISED_DIGITS}]{{1,3}}(?:[\u02d2,\u02cf\u00b7\u2019\u207b\u2013-][{_RAISED_DIGITS}]{{1,3}}){{0,20}}(?![\u207a\u207b{_RAISED_DIGITS}])"
)
_LOWERED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u02d2\u02cf\u00b7\u2019",
    "0123456789-,,,,",
)
_SUPERSCRIPT = re.compile(rf"{SUP}(?P<content>[^{DELIMITERS}\n]{{1,80}}){SUP_END}")
_LINKED = re.compile(rf"{LINK}(?P<content>[^{LINK}{LINK_END}\n]{{1,400}}){LINK_END}")
_ELEMENT = re.compile(rf"{CITE}(?P<content>[^{CITE}{CITE_END}]{{0,4000}}){CITE_END}")
_CHATGPT = re.compile(
    r"\ue200(?:file)?cite(?:\ue202[^\ue200-\ue202]{1,60}){1,20}\ue201"
    r"|(?:file)?cite(?:turn\d{1,3}[a-z]{1,12}\d{1,3}){1,20}"
)
_LATEX = re.compile(
    r"~?\\(?:cite|parencite|textcite|autocite|footcite)[a-z]{0,6}\*?(?:\[[^\[\]\n]{0,100}\]){0,2}"
    r"\{(?P<keys>[^{}\n]{1,300})\}"
)
_CIRCLED = re.compile(r"(?<=[^\s\u2460-\u2473\u2776-\u277f])[\u2460-\u2473\u2776-\u277f]{1,9}")
_HOSTS = (
    r"(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed|europepmc\.org|(?:dx\.)?doi\.org)"
)
_ADDRESS = re.compile(
    rf"(?:https?://|(?<![\w@/.-])(?:www\.|{_HOSTS}/))(?:[^\s<>()\[\]{{}}\"\u201c\u201d\u3010\u3011{DELIMITERS}]|\([^\s()]{{0,200}}\)){{1,2000}}"
)
_PMID = re.compile(
    r"(?<![\w\[])(?:see\s)?(?:PubMed\s?)?PMIDs?(?:\sID)?\s?[:#]?\s?(?P<content>\d{1,9}(?:(?:,\s?|\sand\s|,\sand\s)(?:PMID:?\s?)?\d{4,9}){0,20})(?![\w.]\d)",
)
_DOI = re.compile(
    r"(?<![\w/.])(?:doi[:\s]{1,3}|see\s)(?P<content>10\.\d{4,9}/[^\s,;()\[\]]{1,200})",
    re.IGNORECASE,
)
_NARRATIVE = re.compile(NARRATIVE)
_ENUMERATION = re.compile(r"(?:^|[:;,\n]|\b(?:and|or))[^\S\n]*$", re.IGNORECASE)
_LINK_WORDS = re.compile(
    r"[\W_]{0,4}(?:source|link|ref|reference|citation|pubmed|pmid|doi|pmc|here|study|abstract"
    r"|full text|"
    r"[\w-]{1,40}(?:\.[\w-]{1,40}){1,4})[\W_]{0,4}",
    re.IGNORECASE,
)
_AFTER_NUMBER = re.compile(
    r"(?<![\w.,])(?P<number>\d{1,9}(?:[.,]\d{1,6}){0,3})%?\s?"
    r"(?:%|\w{1,6}/\w{1,6}|years?|days?|months?|weeks?)?\s?$"
)
_BEFORE_WORD = re.compile(
    r"\s?(?:[%\u00b0]|(?!(?:and|or|but|in|which|while|whereas)\b)[a-z\u00b5\u03bc])"
)
"""What follows a statistic: a unit or the noun that is counted."""
_SCALE_BEFORE = re.compile(
    r"\b(?P<range>range[ds]?|ranging|aged)?(?P<scale>scales?|scores?|VAS|NRS|mRS|IQR)?:?\s?$",
    re.IGNORECASE,
)
_LATEX_BEFORE = re.compile(r"[\w_^}\\]$|\\[A-Za-z]{1,20}\s?$")
_MATH = re.compile(r"\$\$?[^$\n]{0,400}[\\_^][^$\n]{0,400}\$\$?|\\\([^\n]{0,400}?\\\)")

_SEPARATOR = r"(?:\s{0,3}(?:[,;/&\u02d2]|\band\b)\s{0,3}|\s{1,3})?"
_WRAPPED = re.compile(
    r"(?P<open>[\[({\u3010\uff08])\s?(?:(?:see|cf\.|e\.g\.,?|see also|as in|from|refs?\.?"
    r"|sources?|references?|siehe|vgl|v\u00e9ase|ver|voir)(?!\w)[.:,]{0,2}\s{0,3}){0,2}"
    rf"{MASK}(?:{_SEPARATOR}{MASK}){{0,60}}\s?(?P<close>[\])}}\u3011\uff09])",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    rf"(?:(?<=[\s(.!?])|^)(?:[\u2014\u2013-]\s)?(?:sources?|references?|refs?\.?|citations?|quellen?|fuentes?)\s?[:\uff1a]\s{{0,3}}(?={MASK})",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"(?<={MASK})\s?(?:[,;/&\u02d2]|\band\b|,\s?and\b)\s?(?={MASK})")
_PAIR = re.compile(r"(?P<first>\d{1,9})\s?(?P<to>[-\u2010-\u2015\u2212,;]|to)\s?(?P<last>\d{1,9})")
_RANGE_BETWEEN = re.compile(r"\s?[-\u2010-\u2015\u2212]\s?")
_COMMA_BEFORE = re.compile(rf"(?:,|\s[\u2013\u2014-])\s{{0,3}}(?={MASK}\s{{0,3}}(?:[.;!?\n]|$))")

_EXPONENT_AFTER = re.compile(
    r"(?:[\d}]|(?<![^\W\d_])[A-Za-z\u03b1-\u03c9\u0391-\u03a9]|(?<![^\W\d_])(?:[cmkd\u00b5\u03bcn]m|in|ft|yd|mi|sec|min|hr|kg|mg|mol|mmol|Hz|"
    r"Ca|Mg|Na|Fe|Zn|Cu|Cl|PO|SO|CO|HCO|NO|NH|log|exp|chi))$"
)
"""What has exponents and charges: "10\u2075", "R\u00b2", "cm\u00b2", "Ca\u00b2\u207a"."""


MarkStyle = Literal["", "round", "raised", "unsure"]


@dataclass(frozen=True)
class Mark:
    """A citation mark in the plain text of a block.

    Attributes:
        style: What it may be instead of a mark: a number in parentheses ("round"), an exponent
            ("raised"), something else ("unsure"); "" where it is a mark in any case.
    """

    start: int
    end: int
    targets: tuple[Target, ...]
    text: str
    style: MarkStyle = ""


def find_marks(plain: PlainText, names: Collection[str] = ()) -> list[Mark]:
    """Return the marks of a block in order; none overlaps another.

    `names` are ids and titles of the sources, in lower case.
    """
    found: list[Mark] = []
    taken = bytearray(len(plain.text))
    for finder in _FINDERS:
        for mark in finder(plain, names):
            if not any(taken[mark.start : mark.end]):
                taken[mark.start : mark.end] = b"\x01" * (mark.end - mark.start)
                found.append(mark)
    return sorted(found, key=lambda one: one.start)


def _mark(
    found: re.Match[str], targets: Iterable[Target], *, style: MarkStyle = "", group: str | int = 0
) -> Mark:
    start, end = found.span(group)
    text = re.sub(f"[{DELIMITERS}]", "", found[group]).strip()
    return Mark(start, end, tuple(targets), text, style)


def _find_links(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield links whose text is a mark, and the ends of links whose text is read as text."""
    for found in _LINKED.finditer(plain.text):
        address = plain.targets.get(found.start(), "")
        content = found["content"].strip("[]()^ " + SUP + SUP_END)
        targets = read_targets(content, is_square=True, names=names)
        if targets:
            yield _mark(found, with_address(targets, address) if len(targets) == 1 else targets)
        elif _LINK_WORDS.fullmatch(content) or content.startswith(("http", "www.")):
            yield _mark(found, [address_target(address)])
        else:
            end = found.end()
            yield Mark(end - 1, end, (address_target(address),), address)


def _find_elements(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for found in _ELEMENT.finditer(plain.text):
        content = found["content"].strip("[]() ")
        targets = read_targets(content, is_square=True, names=names) if content else ()
        if targets:
            yield _mark(found, targets)
            continue
        value = plain.targets.get(found.start(), "")
        targets = read_targets(value, is_square=True, names=names) if value else ()
        if targets:
            yield Mark(found.end() - 1, found.end(), targets, value)
    for found in _CHATGPT.finditer(plain.text):
        entries = re.findall(r"turn\d{1,3}[a-z]{1,12}\d{1,3}", found[0])
        targets = (t for e in entries for t in read_targets(e, is_square=True, names=names))
        yield _mark(found, targets)
    for found in _LATEX.finditer(plain.text):
        keys = (key.strip() for key in found["keys"].split(","))
        yield _mark(found, [_key_target(key) for key in keys if key])


def _key_target(key: str) -> Target:
    return Target("number" if re.fullmatch("[0-9]{1,4}", key) else "name", key, key)


def _find_number_lists(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield lists of numbers, PMIDs and DOIs, in either bracket."""
    for found, items in find_number_lists(plain.text):
        is_round = found[2] is not None and all(item.isdigit() for item in items)
        if is_round and len(items) == 1 and (_is_enumerated(found) or _is_count(found)):
            continue
        doubt = _doubt_statistic(found, found[1] or found[2])
        if doubt == "sure":
            continue
        style: MarkStyle = "round" if is_round else "unsure" if doubt else ""
        yield _mark(found, join_identifiers(map(_target_of_item, items)), style=style)


def _target_of_item(item: str) -> Target:
    if item.isdigit():
        return Target("number", item, item)
    if item.startswith("PMID "):
        return Target("pmid", item.removeprefix("PMID "), item)
    return Target("doi", item, item)


def _is_enumerated(found: re.Match[str]) -> bool:
    """Return whether a number in parentheses opens an item: "(1) age, (2) sex and (3) height"."""
    before = found.string[max(0, found.start() - 8) : found.start()]
    if _ENUMERATION.search(before):
        return True
    next_item = (
        rf"\s(?!(?:and|or)\s\()\w[^()]{{1,150}}?(?:[,;]|\s(?:and|or))\s(?:and\s|or\s)?"
        rf"\({int(found[2]) + 1}\)\s\w"
    )
    after = found.string[found.end() : found.end() + 200]
    return found[2].isdigit() and bool(re.match(next_item, after))


def _is_count(found: re.Match[str]) -> bool:
    """Return whether a number in parentheses repeats or goes with a count.

    "seven (7) days", "3 (1) patients", "66 (11) years".
    """
    before = found.string[max(0, found.start() - 24) : found.start()]
    counts = {value for _, end, value in number_words_in(before) if not before[end:].strip()}
    counts |= {Fraction(1)} if re.search(r"\bone\s?$", before, re.IGNORECASE) else set()
    if int(found[2]) in counts:
        return True
    is_before_word = bool(_BEFORE_WORD.match(found.string, found.end()))
    return bool(_AFTER_NUMBER.search(before)) and is_before_word


def _doubt_statistic(found: re.Match[str], content: str) -> Literal["", "unsure", "sure"]:
    """Return whether two numbers are an interval or a scale: "14 [12-18] days", "[0, 100]"."""
    pair = _PAIR.fullmatch(content.strip())
    if not pair:
        return ""
    first, last = int(pair["first"]), int(pair["last"])
    before = found.string[max(0, found.start() - 24) : found.start()]
    estimate = _AFTER_NUMBER.search(before) if before[-1:] in " \u00a0" else None
    is_list = pair["to"] in ",;"
    if estimate is None:
        scale = _SCALE_BEFORE.search(before)
        if scale and first < last and (scale["range"] or (scale["scale"] and not is_list)):
            return "sure"
        return "unsure" if first == 0 < last else ""
    if first <= float(re.split(r"[.,]", estimate["number"])[0]) <= last:
        return "sure" if _BEFORE_WORD.match(found.string, found.end()) else "unsure"
    return "" if is_list else "unsure"


def _find_brackets(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for found in _BRACKETED.finditer(plain.text):
        closing, is_square = _PARTNER[found["open"]]
        if found["close"] != closing:
            continue
        content = re.sub(f"[{DELIMITERS}]", "", found["content"])
        targets = read_targets(content, is_square=is_square, names=names)
        if not targets or (found["open"] == "{" and not _is_braced_number(found, content)):
            continue
        doubt = _doubt_statistic(found, content)
        if doubt == "sure":
            continue
        is_zero = any(one.kind == "number" and one.value == "0" for one in targets)
        is_organisation = any(one.kind == "author" and not one.is_sure for one in targets)
        is_unsure = (is_zero and len(targets) > 1) or is_organisation or bool(doubt)
        yield _mark(found, targets, style="unsure" if is_unsure else "")


def _find_paged(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield brackets with others inside: pages as in "[1(p3)]", or the number of an issue."""
    for found in _PAGED.finditer(plain.text):
        content = re.sub(f"[{DELIMITERS}]", "", found["content"])
        bare = without_locators(content)
        if bare != content and (targets := read_targets(bare, is_square=True, names=names)):
            yield _mark(found, targets)
    for found in _ISSUED.finditer(plain.text):
        if targets := read_targets(found["content"], is_square=False, names=names):
            yield _mark(found, targets)


def _is_braced_number(found: re.Match[str], content: str) -> bool:
    r"""Return whether braces hold a number and belong to no formula: "FEV_{1}", "\frac{1}{4}"."""
    text, start = found.string, found.start()
    if not content.strip().isdigit() or _LATEX_BEFORE.search(text[max(0, start - 24) : start]):
        return False
    return not any(math.start() < start < math.end() for math in _MATH.finditer(text))


def _find_superscripts(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    text = plain.text
    for found in _SUPERSCRIPT.finditer(text):
        content = found["content"].strip("[]()^ ")
        targets = read_targets(content.replace("\u2013", "-"), is_square=True, names=names)
        if targets and not _is_exponent(text, found.start(), found.end(), found["content"]):
            yield _mark(
                found, targets, style="raised" if found["content"].strip().isdigit() else ""
            )
    for found in _RAISED.finditer(text):
        targets = read_targets(found[0].translate(_LOWERED), is_square=True)
        if targets and not _is_exponent(text, found.start(), found.end(), found[0]):
            yield _mark(found, targets, style="raised")


def _find_circled(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for found in _CIRCLED.finditer(plain.text):
        numbers = [str(int(unicodedata.numeric(digit))) for digit in found[0]]
        yield _mark(found, [Target("number", n, n) for n in numbers], style="unsure")


def _is_exponent(text: str, start: int, end: int, content: str) -> bool:
    before, after = text[max(0, start - 12) : start], text[end : end + 1]
    if content.startswith(("[", "(")):
        return False
    starts_word = after.isalnum() and not before[-1:].isalnum()  # an isotope: "18F"
    is_element = text[start : start + 1] == SUP
    stands_alone = (
        not is_element
        and before[-1:].isspace()
        and not re.search(r"[.,;:!?)\]\u3002]\s{1,3}$", before)
    )
    is_attached = bool(_EXPONENT_AFTER.search(before))
    return (
        starts_word or stands_alone or is_attached or after in ("\u207a", "\u207b", "+", "\u2212")
    )


def _find_addresses(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for found in _ADDRESS.finditer(plain.text):
        address = found[0].rstrip(".,;:!?*_'\u2019")
        yield Mark(found.start(), found.start() + len(address), (address_target(address),), address)


def _find_identifiers(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for found in _PMID.finditer(plain.text):
        numbers = re.findall(r"\d+", found["content"])
        yield _mark(found, [Target("pmid", n, f"PMID {n}") for n in numbers])
    for found in _DOI.finditer(plain.text):
        doi = found["content"].rstrip(".:")
        end = found.end() - (len(found["content"]) - len(doi))
        yield Mark(found.start(), end, (Target("doi", doi, doi),), plain.text[found.start() : end])


def _find_narrative(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield the years behind authors that are part of their sentence: "Smith et al. (2020)"."""
    for found in _NARRATIVE.finditer(plain.text):
        is_several = bool(found["several"])
        if is_no_author(found["authors"], is_several):
            continue
        years = re.findall(r"\d{4}[a-z]?", found["years"])
        texts = [f"{found['authors']}, {year}" for year in years]
        targets = [Target("author", text, text, is_sure=is_several) for text in texts]
        yield _mark(found, targets, style="" if is_several else "unsure", group="mark")


_Finder = Callable[[PlainText, Collection[str]], Iterator[Mark]]
_FINDERS: tuple[_Finder, ...] = (
    *(_find_links, _find_elements, _find_paged, _find_narrative, _find_number_lists),
    *(_find_superscripts, _find_circled, _find_brackets, _find_addresses, _find_identifiers),
)


def removable_spans(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the stretches that go with marks: their brackets, what separates and announces them.

    Example:
        >>> removable_spans("It fell (see [1], [2]).", [Mark(13, 16, (), ""), Mark(18, 21, (), "")])
        [(8, 22)]
    """
    masked = list(text)
    for mark in marks:
        masked[mark.start : mark.end] = MASK * (mark.end - mark.start)
    joined = "".join(masked)
    for pattern in (_BETWEEN, _WRAPPED, _WRAPPED, _BETWEEN, _LABELLED, _COMMA_BEFORE):
        joined = _mask_matches(joined, pattern)
    return [found.span() for found in re.finditer(rf"{MASK}+", joined)]


def _mask_matches(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with what a pattern finds masked; runs of masks count as one for it."""
    runs = [found.span() for found in re.finditer(rf"{MASK}+", text)]
    short, places, position = [], [], 0
    for start, end in runs:
        short.append(text[position:start] + MASK)
        places += [*range(position, start), start]
        position = end
    short.append(text[position:])
    places += [*range(position, len(text)), len(text)]
    ends = {start: end for start, end in runs}
    result = list(text)
    for found in pattern.finditer("".join(short)):
        if "open" in pattern.groupindex and _PARTNER[found["open"]][0] != found["close"]:
            continue
        first, last = places[found.start()], places[found.end() - 1]
        last = ends.get(last, last + 1)
        result[first:last] = MASK * (last - first)
    return "".join(result)


def joined_ranges(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """Return marks with "[1]\u2013[3]" read as one range."""
    joined: list[Mark] = []
    for mark in marks:
        before = joined[-1] if joined else None
        if before and _RANGE_BETWEEN.fullmatch(text[before.end : mark.start]):
            items = _between(before, mark)
            if items:
                targets = tuple(Target("number", item, item) for item in items)
                whole = text[before.start : mark.end]
                joined[-1] = Mark(before.start, mark.end, targets, whole)
                continue
        joined.append(mark)
    return joined


def _between(first: Mark, last: Mark) -> list[str]:
    ends = [one.targets[0] for one in (first, last) if len(one.targets) == 1]
    if len(ends) < 2 or any(one.kind != "number" for one in ends):
        return []
    return expand(f"{ends[0].value}-{ends[1].value}")
