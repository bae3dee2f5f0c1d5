"""Find citation marks in an answer in all the styles of `ragassay.text.citation_styles`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from ragassay.text.citation_markers import expand
from ragassay.text.citation_markers import find_lists as find_number_lists
from ragassay.text.citation_styles import (
    BRACKETS,
    COUNTED_WORD,
    DASH,
    INTRODUCTIONS,
    LEAST_ID_DIGITS,
    NARRATIVE,
    Target,
    is_no_author,
    join_identifiers,
    parse_address,
    read_targets,
    remove_inner_brackets,
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
from ragassay.text.number_words import find_number_words

_OPENING = re.escape("".join(opening for opening, _, _ in BRACKETS))
_CLOSING = re.escape("".join(closing for _, closing, _ in BRACKETS))
_BRACKETED = re.compile(
    rf"(?P<open>[{_OPENING}])(?P<content>[^{_OPENING}{_CLOSING}\n]{{1,400}})(?P<close>[{_CLOSING}])"
)
_NO_BRACKET = r"[^()\[\]\u3010\u3011\n]"
_NESTED = re.compile(
    rf"(?P<open>[(\[\u3010])(?P<content>(?:{_NO_BRACKET}{{1,200}}[(\[]{_NO_BRACKET}{{1,40}}[)\]]){{1,9}}"
    rf"{_NO_BRACKET}{{0,200}})(?P<close>[)\]\u3011])"
)
"""Matches brackets in a bracket: "[1(p3)]", "(World Health Organization (WHO), 2021)"."""
_PARTNER = {opening: (closing, is_square) for opening, closing, is_square in BRACKETS}
_RAISED_DIGITS = "\u2070\u00b9\u00b2\u00b3\u2074-\u2079"
_RAISED = re.compile(
    rf"\u207d?[{_RAISED_DIGITS}]{{1,3}}(?:[\u02d2,\u02cf\u00b7\u2019\u207b\u2013-][{_RAISED_DIGITS}]{{1,3}}){{0,20}}\u207e?(?![\u207a\u207b{_RAISED_DIGITS}])"
)
_LOWERED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u02d2\u02cf\u00b7\u2019",
    "0123456789-,,,,",
)
_FLAT = re.compile(
    r"(?<=[a-z\d)][a-z%)]\.)(?P<content>\d{1,3}(?:[,\u2013-]\d{1,3}){0,20})"
    r"(?=\s{1,3}[A-Z\u00c0-\u00de]|\s*\Z)"
)
"""Matches superscripts that became plain digits after a sentence: "It fell.1,2 It rose.3"."""
_SUPERSCRIPT = re.compile(rf"{SUP}(?P<content>[^{DELIMITERS}\n]{{1,80}}){SUP_END}")
_LINKED = re.compile(rf"{LINK}(?P<content>[^{LINK}{LINK_END}\n]{{1,400}}){LINK_END}")
_LINKS_ALONE = re.compile(
    rf"\((?:\s?{LINK}[^{LINK}{LINK_END}\n]{{1,400}}{LINK_END}\s?[,;]?\s?){{1,20}}\)"
)
_ELEMENT = re.compile(rf"{CITE}(?P<content>[^{CITE}{CITE_END}]{{0,4000}}){CITE_END}")
_CHATGPT = re.compile(
    r"\ue200(?:file)?cite(?:\ue202[^\ue200-\ue202]{1,60}){1,20}\ue201"
    r"|(?:file)?cite(?:turn\d{1,3}[a-z]{1,12}\d{1,3}){1,20}"
    r"|:contentReference\[oaicite:\d{1,3}\](?:\{index=\d{1,3}\})?"
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
    r"(?<![\w\[])(?:see\s)?(?:PubMed\s?)?PMIDs?(?:\sID)?\s?[:#]?\s?(?P<content>\d{1,9}(?:(?:,\s?|\sand\s|,\sand\s)(?:PMID:?\s?)?\d{4,9}){0,20})(?![\w.]\d)"
)
_DOI = re.compile(
    r"(?<![\w/.])(?:doi[:\s]{1,3}|see\s)(?P<content>10\.\d{4,9}/[^\s,;()\[\]]{1,200})",
    re.IGNORECASE,
)
_NARRATIVE = re.compile(NARRATIVE)
_IN_PROSE = re.compile(
    r"\b(?:(?<!\bData\s)(?<!\bOpen\s)(?:Source|Document|Passage|Doc|Snippet|Excerpt|Chunk|Context|Reference)"
    r"|(?:(?<=\bto\s)|(?<=\bin\s)|(?<=\bby\s)|(?<=\bfrom\s)|(?<=\band\s))(?:source|document|passage))s?"
    r"\s(?:IDs?\s|[Nn]os?\.?\s|#)?\d{1,3}(?:(?:[-\u2013]|(?:,|,?\s(?:and|&))\s)\d{1,3}){0,9}"
    r"(?![\w%/\u2013-]|[.,]\d|\s?(?:%|[mk\u00b5\u03bc]?[gLlM]\b))"
)
"""Matches sources that a sentence names in its text: "Documents 1 and 2 report"."""
_SOURCE_LINE = re.compile(
    r"^(?:sources?|citations?|quellen?|fuentes?)\s?:\s?(?P<content>\d{1,3}(?:\s?[,;]\s?\d{1,3}){0,9})$",
    re.IGNORECASE | re.MULTILINE,
)
_ROUND_NUMBER = re.compile(r"\((\d{1,3})\)")
_NEXT_ITEM = re.compile(
    r"\s(?!(?:and|or)\s\()\w(?:(?![.!?]\s)[^\n]){1,400}?(?:[,;]|\s(?:and|or))\s(?:and\s|or\s)?"
    r"\((\d{1,3})\)(?=\s\w)"
)
MAX_ITEMS = 30
"""Maximum number of items in a paragraph that are numbered in parentheses."""
_ENUMERATION = re.compile(r"(?:^|[:;,\n]|\b(?:and|or))[^\S\n]*$", re.IGNORECASE)
_LINK_WORDS = re.compile(
    r"[\W_]{0,4}(?:source|link|ref|reference|citation|pubmed|pmid|doi|pmc|here|study|abstract"
    r"|full text|"
    r"[\w-]{1,40}(?:\.[\w-]{1,40}){1,4})[\W_]{0,4}",
    re.IGNORECASE,
)
_IN_WORD = re.compile(
    r"[A-Za-z][^,\d]*[a-z]$|.?\d{1,2}(?:,\s?\d{1,2})+[a-z]$|[-)]\d[\d,]*-$|-\d[\d,]*[a-z]$"
)
_EQUATION_BEFORE = re.compile(r"(?:\bEqn?s?\.|[\u2208=<>\u2264\u2265\u00b1\u00d7])\s?$")
_INDEX = re.compile(r"[A-Za-z0-9\u0370-\u03ff-]|\[[A-Za-z]")
"""Matches the characters around an index, a power or a residue: "NH(3)", "10(9)", "[(3)H]"."""
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+")
_SEE = re.compile(r"(?:see|cf|siehe|vgl|v\u00e9ase|voir)\b", re.IGNORECASE)
_AFTER_NUMBER = re.compile(
    r"(?<![\w.,])(?<![A-Za-z]-)(?P<number>\d{1,9}(?:[.,]\d{1,6}){0,3})%?\s?"
    r"(?:%|\w{1,6}/\w{1,6}|years?|days?|months?|weeks?)?\s?$"
)
_BEFORE_WORD = re.compile(
    r"\s?(?:[%\u00b0=/]|(?!(?:and|or|but|in|which|while|whereas)\b)[a-z\u00b5\u03bc])"
)
"""Matches the start of text after a number, such as a unit or a counted noun."""
_BEFORE_UNIT = re.compile(
    r"\s(?:years?|months?|weeks?|days?|hours?|h|min|[mk\u00b5\u03bc]?[gmLl]|mmol|%)\b"
)
_SCALE_BEFORE = re.compile(
    r"\b(?P<range>range[ds]?|ranging|aged)?(?P<scale>scales?|scores?|VAS|NRS|mRS|IQR)?(?:\s(?:of|from))?:?\s?$",
    re.IGNORECASE,
)
_LATEX_BEFORE = re.compile(r"[\w_^}\\]$|\\[A-Za-z]{1,20}\s?$")
_MATH = re.compile(r"\$\$?[^$\n]{0,400}[\\_^][^$\n]{0,400}\$\$?|\\\([^\n]{0,400}?\\\)")

_SEPARATOR = r"(?:\s{0,3}(?:[,;/&\u02d2]|\band\b)\s{0,3}|\s{1,3})?"
_WRAPPED = re.compile(
    r"(?P<open>[\[({\u3010\uff08])\s?"
    rf"(?:(?:{INTRODUCTIONS}|refs?\.?|sources?|references?|PubMed)(?!\w)[.:,]{{0,2}}\s{{0,3}}){{0,2}}"
    rf"{MASK}(?:{_SEPARATOR}{MASK}){{0,60}}\s?(?P<close>[\])}}\u3011\uff09])",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    rf"(?:(?<=[\s(.!?])|^)(?:[\u2014\u2013-]\s)?(?:sources?|references?|refs?\.?|citations?|quellen?|fuentes?)\s?[:\uff1a]\s{{0,3}}(?={MASK})",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"(?<={MASK})(?:\s?(?:[,;/&\u02d2]|\band\b|,\s?and\b)\s?|{SUP},{SUP_END})(?={MASK})"
)
_PAIR = re.compile(r"(?P<first>\d{1,9})\s?(?P<to>[-\u2010-\u2015\u2212,;/]|to)\s?(?P<last>\d{1,9})")
_RANGE_BETWEEN = re.compile(rf"\s?{DASH}\s?")
_MARKUP_AROUND = re.compile(rf"(?:\^|\\footnote(?:mark)?|:cite)(?={MASK})|%{MASK}%|(?<={MASK})\^")
_DASH_BEFORE = re.compile(r"\s[\u2013\u2014-]\s$")
_CLOSES = re.compile(r"\s{0,3}(?:[.;!?\n]|$)")
_COMMA_BEFORE = re.compile(rf"(?:,|\s[\u2013\u2014-])\s{{0,3}}(?={MASK}\s{{0,3}}(?:[.,;!?\n]|$))")

_EXPONENT_AFTER = re.compile(
    r"(?:[\d}\u207a\u207b]|(?<![^\W\d_])[A-Za-z\u03b1-\u03c9\u0391-\u03a9]|(?<![^\W\d_])(?:[cmkd\u00b5\u03bcn]m|in|ft|yd|mi|sec|min|hr|kg|mg|mol|mmol|Hz|"
    r"Ca|Mg|Na|Fe|Zn|Cu|Cl|PO|SO|CO|HCO|NO|NH|log|exp|chi))$"
)
"""Matches symbols before an exponent or a charge: "10\u2075", "R\u00b2", "cm\u00b2",
"Ca\u00b2\u207a"."""


MarkStyle = Literal["", "round", "raised", "flat", "unsure", "prose"]


@dataclass(frozen=True)
class Mark:
    """A citation mark in the plain text of a block.

    Attributes:
        style: What the mark may be instead of a citation: a number in parentheses ("round"), an
            exponent ("raised"), digits that follow a sentence ("flat"), words of the sentence
            ("prose", without a span, because the words stay in the statement) or anything else
            ("unsure"). Empty if the mark can only be a citation.
    """

    start: int
    end: int
    targets: tuple[Target, ...]
    text: str
    style: MarkStyle = ""


def find_marks(plain: PlainText, names: Collection[str] = ()) -> list[Mark]:
    """Return the citation marks of a block in order, without overlaps.

    `names` are the ids and titles of the sources in lower case.
    """
    marks: list[Mark] = []
    covered = bytearray(len(plain.text))
    for finder in _FINDERS:
        for mark in finder(plain, names):
            end = max(mark.end, mark.start + 1)
            if not any(covered[mark.start : end]):
                covered[mark.start : end] = b"\x01" * (end - mark.start)
                marks.append(mark)
    return sorted(marks, key=lambda one: one.start)


def _build_mark(
    match: re.Match[str], targets: Iterable[Target], *, style: MarkStyle = "", group: str | int = 0
) -> Mark:
    start, end = match.span(group)
    text = re.sub(f"[{DELIMITERS}]", "", match[group]).strip()
    return Mark(start, end, tuple(targets), text, style)


def _find_links(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield a mark for each link, or for its last character if its text is part of a sentence."""
    alone = [match.span() for match in _LINKS_ALONE.finditer(plain.text)]
    for match in _LINKED.finditer(plain.text):
        address = plain.targets.get(match.start(), "")
        content = match["content"].strip("[]()^ " + SUP + SUP_END)
        targets = read_targets(content, is_square=True, names=names)
        if targets:
            is_single = len(targets) == 1
            yield _build_mark(
                match, [replace(targets[0], address=address)] if is_single else targets
            )
        elif (
            _LINK_WORDS.fullmatch(content)
            or content.startswith(("http", "www."))
            or not re.search(r"\w", content)  # an arrow
            or any(start < match.start() < end for start, end in alone)
        ):
            yield _build_mark(match, [parse_address(address)])
        else:
            end = match.end()
            yield Mark(end - 1, end, (parse_address(address),), address)


def _find_elements(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for match in _ELEMENT.finditer(plain.text):
        content = match["content"].strip("[]() ")
        targets = read_targets(content, is_square=True, names=names) if content else ()
        if targets:
            yield _build_mark(match, targets)
            continue
        value = plain.targets.get(match.start(), "")
        targets = read_targets(value, is_square=True, names=names) if value else ()
        if targets:
            yield Mark(match.end() - 1, match.end(), targets, value)
    for match in _CHATGPT.finditer(plain.text):
        entries = re.findall(r"turn\d{1,3}[a-z]{1,12}\d{1,3}", match[0])
        targets = [t for e in entries for t in read_targets(e, is_square=True, names=names)]
        yield _build_mark(match, targets or [Target("address", match[0], match[0])])
    for match in _LATEX.finditer(plain.text):
        keys = filter(None, (key.strip() for key in match["keys"].split(",")))
        yield _build_mark(
            match,
            [Target("number" if re.fullmatch("[0-9]{1,4}", k) else "name", k, k) for k in keys],
        )


def _find_number_lists(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for match, items in find_number_lists(plain.text):
        is_round = match[2] is not None and all(item.isdigit() for item in items)
        if is_round and _is_round_number(match, items):
            continue
        doubt = _detect_statistic(match, match[1] or match[2])
        if doubt == "sure":
            continue
        is_thousands = is_round and _THOUSANDS.fullmatch(match[2])
        style: MarkStyle = "round" if is_round else ""
        if is_thousands or (doubt and not is_round):
            style = "unsure"
        yield _build_mark(match, join_identifiers(map(_parse_item, items)), style=style)


def _parse_item(item: str) -> Target:
    if item.isdigit():
        return Target("number", item, item)
    if item.startswith("PMID "):
        return Target("pmid", item.removeprefix("PMID "), item)
    return Target("doi", item, item)


def _is_round_number(match: re.Match[str], items: Sequence[str]) -> bool:
    """Return whether numbers in parentheses are an item number, a count or part of a formula."""
    around = (
        match.string[max(0, match.start() - 1) : match.start()] + match.string[match.end() :][:1]
    )
    if max(map(len, items)) < LEAST_ID_DIGITS and _INDEX.match(around):
        return True
    return len(items) == 1 and (_is_enumerated(match) or _is_count(match))


def _is_enumerated(match: re.Match[str]) -> bool:
    """Return whether a number in parentheses numbers an item, as in "(1) age and (2) sex"."""
    text, start, number = match.string, match.start(), int(match[2])
    opening = _ENUMERATION.search(text[max(0, start - 8) : start])
    if opening and opening[0].strip() in ("", ":"):
        return True
    if _read_next_item(text, match.end())[0] == number + 1 or _continues_list(match, number):
        return True
    earlier = _ROUND_NUMBER.finditer(text, max(0, start - 600), start) if opening else ()
    return any(
        int(one[1]) == number - 1 and _read_next_item(text, one.end()) == (number, match.end())
        for one in earlier
    )


def _continues_list(match: re.Match[str], number: int) -> bool:
    """Return whether a number continues a list after a colon: "as follows: (1) Rest. (2) Ice."."""
    text, start = match.string, match.start()
    if number > MAX_ITEMS or not re.match(r"\s\w", text[match.end() :][:2]):
        return False
    for item in range(number - 1, 0, -1):
        start = text.rfind(f"({item}) ", max(0, start - 600), max(0, start))
    return start >= 0 and text[max(0, start - 8) : start].rstrip(" ")[-1:] in ("", ":", "\n")


def _read_next_item(text: str, start: int) -> tuple[int, int]:
    """Return the number of the next item in the sentence and its end, or (-1, -1)."""
    match = _NEXT_ITEM.match(text, start)
    return (int(match[1]), match.end()) if match else (-1, -1)


def _is_count(match: re.Match[str]) -> bool:
    """Return whether a number in parentheses belongs to the number before it and is no citation.

    Examples: "seven (7) days", "3 (1) patients", "66 (11) years".
    """
    before = match.string[max(0, match.start() - 24) : match.start()]
    counts = {value for _, end, value in find_number_words(before) if not before[end:].strip()}
    counts |= {Fraction(1)} if re.search(r"\bone\s?$", before, re.IGNORECASE) else set()
    if int(match[2]) in counts:
        return True
    is_before_word = bool(_BEFORE_WORD.match(match.string, match.end()))
    return bool(_AFTER_NUMBER.search(before)) and is_before_word


def _detect_statistic(match: re.Match[str], content: str) -> Literal["", "unsure", "sure"]:
    """Return "sure" or "unsure" if a bracket may be an interval, a scale or part of a name.

    Examples: "14 [12-18] days", "Eq. [3]", "benzo[a]pyrene", "[1,2,5]thiadiazole".
    """
    before = match.string[max(0, match.start() - 24) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if _IN_WORD.match(f"{before[-1:]}{content}{after}") or _EQUATION_BEFORE.search(before):
        return "sure"
    pair = _PAIR.fullmatch(content.strip())
    estimate = _AFTER_NUMBER.search(before) if before[-1:] in " \u00a0" else None
    if not pair:
        return "sure" if estimate and _BEFORE_UNIT.match(match.string, match.end()) else ""
    first, last = int(pair["first"]), int(pair["last"])
    is_list, is_round = pair["to"] in ",;", match[0].startswith("(")
    if estimate is None:
        scale = _SCALE_BEFORE.search(before)
        if scale and first < last and (scale["range"] or (scale["scale"] and not is_list)):
            return "sure"
        return "" if first or not last else "sure" if is_round else "unsure"
    if pair["to"] == "/" and "%" in estimate[0]:  # "39% [28/71]"
        return "sure"
    if first <= float(re.split(r"[.,]", estimate["number"])[0]) <= last:
        return "sure" if is_round or _BEFORE_WORD.match(match.string, match.end()) else "unsure"
    return "" if is_list else "unsure"


def _find_brackets(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    yield from _read_brackets(_BRACKETED.finditer(plain.text), names)


def _find_nested_brackets(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    yield from _read_brackets(_NESTED.finditer(plain.text), names)


def _read_brackets(matches: Iterable[re.Match[str]], names: Collection[str]) -> Iterator[Mark]:
    for match in matches:
        closing, is_square = _PARTNER[match["open"]]
        if match["close"] != closing:
            continue
        content = remove_inner_brackets(re.sub(f"[{DELIMITERS}]", "", match["content"]))
        is_seen = bool(_SEE.match(content)) and not is_square  # "(see 2, 4)"
        targets = read_targets(content, is_square=is_square or is_seen, names=names)
        if not targets or (match["open"] == "{" and not _is_braced_number(match, content)):
            continue
        doubt = _detect_statistic(match, content)
        if doubt == "sure":
            continue
        is_zero = any(one.kind == "number" and one.value == "0" for one in targets)
        is_organisation = any(one.kind == "author" and not one.is_sure for one in targets)
        is_unsure = (is_zero and len(targets) > 1) or is_organisation or bool(doubt)
        is_bare = is_seen and all(one.kind == "number" for one in targets)
        style = "round" if is_bare else "unsure" if is_unsure else ""
        yield _build_mark(match, targets, style=style)


def _is_braced_number(match: re.Match[str], content: str) -> bool:
    r"""Return whether braces contain a number and are not part of a formula such as "FEV_{1}"."""
    text, start = match.string, match.start()
    is_number = content.strip().isdigit() or COUNTED_WORD.fullmatch(content.strip())
    if not is_number or _LATEX_BEFORE.search(text[max(0, start - 24) : start]):
        return False
    return not any(math.start() < start < math.end() for math in _MATH.finditer(text))


def _find_superscripts(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    text = plain.text
    for match in _SUPERSCRIPT.finditer(text):
        content = match["content"].strip("[]()^ ")
        targets = read_targets(content.replace("\u2013", "-"), is_square=True, names=names)
        if targets and not _is_exponent(text, match.start(), match.end(), match["content"]):
            yield _build_mark(
                match, targets, style="raised" if match["content"].strip().isdigit() else ""
            )
    for match in _RAISED.finditer(text):
        targets = read_targets(match[0].strip("\u207d\u207e").translate(_LOWERED), is_square=True)
        if targets and not _is_exponent(text, match.start(), match.end(), match[0]):
            yield _build_mark(match, targets, style="raised")
    for match in _FLAT.finditer(text):
        if targets := read_targets(match[0], is_square=True):
            yield _build_mark(match, targets, style="flat")


def _find_circled(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for match in _CIRCLED.finditer(plain.text):
        numbers = [str(int(unicodedata.numeric(digit))) for digit in match[0]]
        yield _build_mark(match, [Target("number", n, n) for n in numbers], style="unsure")


def _is_exponent(text: str, start: int, end: int, content: str) -> bool:
    before, after = text[max(0, start - 12) : start], text[end : end + 1]
    if content.startswith(("[", "(", "\u207d")):
        return False
    starts_word = after.isalnum() and not re.search(r"[\w.!?]$", before)  # an isotope: "18F"
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
    for match in _ADDRESS.finditer(plain.text):
        address = match[0].rstrip(".,;:!?*_'\u2019")
        yield Mark(match.start(), match.start() + len(address), (parse_address(address),), address)


def _find_identifiers(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for match in _PMID.finditer(plain.text):
        numbers = re.findall(r"\d+", match["content"])
        yield _build_mark(match, [Target("pmid", n, f"PMID {n}") for n in numbers])
    for match in _DOI.finditer(plain.text):
        doi = match["content"].rstrip(".:")
        end = match.end() - (len(match["content"]) - len(doi))
        yield Mark(match.start(), end, (Target("doi", doi, doi),), plain.text[match.start() : end])


def _find_narrative(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    """Yield years after author names that are part of a sentence, as in "Smith (2020) found"."""
    for match in _NARRATIVE.finditer(plain.text):
        is_several = bool(match["several"])
        if is_no_author(match["authors"], is_several):
            continue
        years = re.findall(r"\d{4}[a-z]?", match["years"])
        texts = [f"{match['authors']}, {year}" for year in years]
        targets = [Target("author", text, text, is_sure=is_several) for text in texts]
        yield _build_mark(match, targets, style="" if is_several else "unsure", group="mark")


def _find_prose(plain: PlainText, names: Collection[str]) -> Iterator[Mark]:
    for match in _SOURCE_LINE.finditer(plain.text):
        yield _build_mark(match, read_targets(match["content"], is_square=True), style="unsure")
    for match in _IN_PROSE.finditer(plain.text):
        targets = read_targets(match[0], is_square=False)
        at = match.end() - 1
        closes = _DASH_BEFORE.search(plain.text, 0, match.start()) and _CLOSES.match(
            plain.text, match.end()
        )
        start, end = match.span() if closes else (at, at)
        yield Mark(start, end, targets, match[0], "prose")


_Finder = Callable[[PlainText, Collection[str]], Iterator[Mark]]
_FINDERS: tuple[_Finder, ...] = (
    *(_find_links, _find_elements, _find_narrative, _find_number_lists, _find_nested_brackets),
    *(_find_superscripts, _find_circled, _find_brackets, _find_addresses, _find_identifiers),
    _find_prose,
)


def find_removable_spans(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the spans of marks with their brackets, separators and introductory words.

    Example:
        >>> marks = [Mark(13, 16, (), ""), Mark(18, 21, (), "")]
        >>> find_removable_spans("It fell (see [1], [2]).", marks)
        [(8, 22)]
    """
    masked = list(text)
    for mark in marks:
        masked[mark.start : mark.end] = MASK * (mark.end - mark.start)
    joined = "".join(masked)
    for pattern in (
        _BETWEEN,
        _WRAPPED,
        _WRAPPED,
        _BETWEEN,
        _LABELLED,
        _COMMA_BEFORE,
        _MARKUP_AROUND,
    ):
        joined = _mask_matches(joined, pattern)
    return [match.span() for match in re.finditer(rf"{MASK}+", joined)]


def _mask_matches(text: str, pattern: re.Pattern[str]) -> str:
    """Mask the matches of a pattern. The pattern sees adjacent mask characters as one character."""
    collapsed = re.sub(rf"{MASK}{{2,}}", MASK, text)
    if not pattern.search(collapsed):  # as in most texts
        return text
    pieces = re.findall(rf"{MASK}+|[^{MASK}]", text)
    for match in pattern.finditer(collapsed):
        if "open" in pattern.groupindex and _PARTNER[match["open"]][0] != match["close"]:
            continue
        for n in range(*match.span()):
            pieces[n] = MASK * len(pieces[n])
    return "".join(pieces)


def join_ranges(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """Merge marks joined by a dash ("[1]\u2013[3]") into one range."""
    joined: list[Mark] = []
    for mark in marks:
        before = joined[-1] if joined else None
        if before and _RANGE_BETWEEN.fullmatch(text[before.end : mark.start]):
            items = _list_between(before, mark)
            if items:
                targets = tuple(Target("number", item, item) for item in items)
                joined[-1] = Mark(before.start, mark.end, targets, text[before.start : mark.end])
                continue
        joined.append(mark)
    return joined


def _list_between(first: Mark, last: Mark) -> list[str]:
    ends = [one.targets[0] for one in (first, last) if len(one.targets) == 1]
    if len(ends) < 2 or any(one.kind != "number" for one in ends):
        return []
    return expand(f"{ends[0].value}-{ends[1].value}")
