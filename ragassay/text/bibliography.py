"""Separate the reference list of an answer from its statements."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.text.blocks import Block

TITLES = (
    r"(?:list of )?(?:key |cited |selected |supporting )?(?:references?|sources?|citations?"
    r"|refs?\.?|bibliography|literature|footnotes?|endnotes?|notes|works|evidence|documents|links)"
    r"(?: (?:list|cited|used|consulted|section|key))?"
    r"(?: (?:and|&) (?:notes|links|references|sources|further reading))?"
    r"|further reading|learn more|key|legend"
    r"|quellen(?:verzeichnis|angaben)?|literatur(?:verzeichnis)?"
    r"|referenzen|einzelnachweise|referencias(?: bibliogr\u00e1ficas)?|fuentes|bibliograf\u00eda"
    r"|r\u00e9f\u00e9rences|bibliographie|fonti"
    r"|bibliografia|refer\u00eancias|fontes|\u53c2\u8003\u6587\u732e|\u53c2\u8003\u8d44\u6599|\u5f15\u7528|\u6765\u6e90|\u8cc7\u6599\u4f86\u6e90"
)
"""Titles of reference lists in several languages."""

_CLEAR_TITLES = re.compile(
    r"\W*(?:references?|citations?|refs|bibliography|works cited|sources (?:cited|used)"
    r"|reference list)\W*",
    re.IGNORECASE,
)
"""Titles that always introduce a reference list, unlike "Sources", which may list foods."""

_WEAK_TITLES = re.compile(
    r"\W*(?:(?:list of|key|cited|selected|supporting) )?"
    r"(?:notes?|evidence|documents|links|works|key|legend)(?=[\W_]*$|[*_\s]{0,9}[:\uff1a])",
    re.IGNORECASE,
)
"""Titles that may also introduce statements, as in "Evidence: A 2019 trial found a fall"."""

_MARKUP = r"[\s*_#>`~]{0,20}"
_TITLE = re.compile(rf"{_MARKUP}(?:\d\.\s)?(?:{TITLES}){_MARKUP}[:\uff1a]?{_MARKUP}", re.IGNORECASE)
_TITLE_BEFORE = re.compile(
    rf"{_MARKUP}(?:{TITLES}){_MARKUP}[:\uff1a]{_MARKUP}(?=\S)", re.IGNORECASE
)
_LABEL = re.compile(
    r"[\s*>]{0,20}(?:\\?\[\^?(?P<square>[\w.-]{1,12})\\?\]:?|\u3010(?P<lens>\d{1,3})\u3011|\((?P<round>\d{1,3}|(?-i:[a-z]))\)|(?P<plain>\d{1,3})[.):]"
    r"|(?P<letter>(?-i:[a-z]|[ivx]{2,5}|I|[IVX]{2,5}))[.)](?=\s)"
    r"|\|[ \t]{0,40}\[?(?P<cell>\d{1,3})\]?[ \t]{0,40}\|"
    r"|<sup>\[?(?P<sup>\d{1,3}|[a-z])\]?</sup>|(?P<raised>[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3})"
    r"|(?:source|doc|document|ref|reference)\s?(?P<word>\d{1,3})\s?[:.)])[ \t]{0,8}(?=\S)",
    re.IGNORECASE,
)
_NAMES = (
    "citation|reference|source|title|document|study|paper|article|link|url|pmid|doi|publication"
)
_NAME_COLUMN = re.compile(rf"\W*(?:{_NAMES})s?\W*", re.IGNORECASE)
_COLUMN = re.compile(
    rf"\W*(?:{_NAMES}|no|nr|number|id|label|ref|author|year|date|journal)?s?\W*", re.IGNORECASE
)
"""Matches a column header of a table that lists references and states nothing."""

POSITION = re.compile(
    r"\W{0,4}(?:source|document|doc|passage|snippet|context|evidence|abstract|chunk|reference|excerpt)"
    r"\s?(?:no\.?\s?|[#:]\s?)?(\d{1,3})(?![\w./])",
    re.IGNORECASE,
)
"""Matches the start of a reference that is the position of a source, such as "Source 2"."""

_POSITION_ALONE = re.compile(rf"{POSITION.pattern}\s?(?:[.]?\s?|[(,;].*)", re.IGNORECASE)
_NEXT_ENTRY = re.compile(r"[;,.]?\s{1,3}(?=\[\^?(?:\d{1,3}|[a-z])\]\s)|;\s{1,3}(?=\d{1,3}[.)]\s)")
_ITEM = re.compile(r"[\s>]{0,20}(?:[-*+\u2022\u2013\u25cf])[ \t]{1,8}(?=\S)")
_DEFINITION = re.compile(
    r"[ \t]{0,3}\[\^[\w.-]{1,40}\]:[ \t]{0,8}\S|[ \t]{0,3}\[\d{1,3}\]:[ \t]{1,8}<?https?://"
    # "[a]: https://...", a link's definition; a label is no longer than those of marks.
    r"|[ \t]{0,3}\[[\w.-]{1,12}\]:[ \t]{0,8}<?(?:https?://|PMID\b|doi\b|10\.\d{4}"
    r"|(?:source|document|doc|passage) ?\d{1,3}\b)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)
_PAGES = re.compile(r"\b(?:19|20)\d\d[;:]\s?\d|\b\d{1,4}\(\d{1,3}\):\s?\w?\d")
_ADDED = re.compile(
    r"(?:[.;)\]\u201d\"]|\b(?:19|20)\d\d,?|^)[\s*_]{0,4}"
    r"(?:https?://\S{1,40})?(?:doi\b|10\.\d{4,9}/|PMID\b|PMC\d|arXiv:)",
    re.IGNORECASE,
)
"""Matches an identifier after the end of a reference, not in a sentence: "see PMID 123"."""

_IDENTIFIES = re.compile(
    rf"\bdoi\b|\b10\.\d{{4,9}}/|\bPMID\b|\bPMC\d|\barXiv:|{_PAGES.pattern}", re.IGNORECASE
)
"""Matches text that occurs in references but not in statements ("Smith et al. found none")."""

_NAMES_DOCUMENT = re.compile(
    rf"{_ADDRESS.pattern}|{_IDENTIFIES.pattern}|\barXiv\b|\bNCT\d|\bet al\b", re.IGNORECASE
)
_REFERS = re.compile(
    r"\W{0,5}(?:PMID|PMC|doi\b|10\.\d{4}|arXiv:|NCT\d"
    r"|[A-Z][\w'\u2019-]{1,40},?\s(?:[A-Z]\.?-?){1,3}[,.;\s](?=.{0,400}\b(?:19|20)\d\d))"
    r"|(?:[^\[\]\n]{0,200}[:\u2013-]\s)?\W{0,5}(?:\[[^\[\]\n]{1,300}\]\()?<?https?://[^\s<>]+\W*$"
)
"""Matches an identifier or "Smith J" before a year at the start of a reference, or an address."""

_IN_BRACKETS = re.compile(r"(?<=\s)\([^()\n]*\)|\[[^\[\]\n]*\]")
_YEAR = re.compile(r"\b(?:19|20)\d\d[a-z]?\b")
_MARKS_ALONE = re.compile(
    r"(?:[\s,;&*_]|\band\b|[\[(\u3010]\s?(?:\^|(?:doc|source|ref|PMIDs?)[\s:]{0,2})?[\w.-]{1,12}(?:\s?[,;\u2013-]\s?\w{1,12}){0,30}\s?[\])\u3011]"
    r"|PMIDs?(?=[:\s\d])|(?:source|document|doc|passage)s?(?=\s?\d)|:|(?<!\d)\d{1,8}(?!\d))+[.]?",
    re.IGNORECASE,
)
_CITED_ALONE = re.compile(rf"(?:{_MARKS_ALONE.pattern})|<?https?://[^\s<>]+>?[.*_]*", re.IGNORECASE)
_CITES = re.compile(
    r"\[[^\[\]\n]{1,40}\]|[\u3010\u00b9\u00b2\u00b3\u2074-\u2079]|\^\d|<(?:sup|cite)|https?://|\bPMID"
    r"|\((?:\d{1,3}|[^()\n]{1,80}\b(?:19|20)\d\d)[^()\n]{0,80}\)|\b(?:source|doc(?:ument)?) \d",
    re.IGNORECASE,
)
"""Matches most citation marks, and some text that is no mark."""
_MARK = re.compile(r"[\[\u3010](?:PMIDs?:?\s?)?\d{1,8}(?:\s?[,\u2013-]\s?\d{1,3}){0,20}[\]\u3011]")
_RAISED = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "0123456789"
)

_LEAST_SHARE = 0.6
"""Minimum share of the lines below a title that must look like references."""


@dataclass(frozen=True)
class Reference:
    """An entry of a reference list, or a footnote.

    Attributes:
        label: Label by which the answer cites the entry ("1", "smith"), or its position from 1.
    """

    label: str
    text: str


def split_bibliography(
    text: str, blocks: Sequence[Block], titles: Sequence[str] = ()
) -> tuple[list[Reference], list[Block]]:
    r"""Separate the reference list and the footnotes of an answer from its statements.

    A reference list begins below a title such as "References" and ends at the next heading. At the
    end of the answer, a list of labelled references needs no title. The `titles` of sources help to
    recognize references.

    Returns:
        The references, in order, and the blocks of all other text.

    Example:
        >>> from ragassay.text.blocks import read_blocks
        >>> text = "It fell [1].\n\nReferences:\n[1] A trial. BMJ 2019;1:2."
        >>> references, rest = split_bibliography(text, read_blocks(text))
        >>> references[0].label, len(rest)
        ('1', 1)
    """
    lines = [
        _BibliographyLine(n, start, end, text)
        for n, b in enumerate(blocks)
        for start, end in b.lines
    ]
    known = [title.casefold() for title in titles if len(title) > 3]
    kinds = _mark_lines(lines, blocks, known)
    removed = {line.start for line in lines if kinds[line.start]}
    rest = [
        replace(block, lines=tuple(line for line in block.lines if line[0] not in removed))
        for block in blocks
    ]
    entries = [line for line in lines if kinds[line.start] == "entry"]
    return _parse_references(entries), [block for block in rest if block.lines]


@dataclass(frozen=True)
class _BibliographyLine:
    block: int
    start: int
    end: int
    answer: str

    @property
    def text(self) -> str:
        return self.answer[self.start : self.end]

    @property
    def label(self) -> re.Match[str] | None:
        return _LABEL.match(self.text) or _LABEL.match(self.with_list_mark)

    @property
    def with_list_mark(self) -> str:
        """Text of the line with its list marker, such as "1."."""
        return self.answer[self.answer.rfind("\n", 0, self.start) + 1 : self.end]

    @property
    def rest(self) -> str:
        """Text that follows a title on the same line."""
        title = _TITLE_BEFORE.match(self.text)
        return self.text[title.end() :] if title else ""


def _mark_lines(
    lines: Sequence[_BibliographyLine], blocks: Sequence[Block], titles: Sequence[str]
) -> dict[int, str]:
    """Return the kind of each line, "title", "entry" or "" for text, keyed by start offset."""
    kinds = {line.start: "" for line in lines}
    attached = _find_source_lines(lines, blocks)
    n = 0
    while n < len(lines):
        line, n = lines[n], n + 1
        block = blocks[line.block]
        if block.kind == "row" or line.start in attached:
            kinds[line.start] = "entry" if _is_source_row(line, block.header) else ""
            continue
        if _DEFINITION.match(line.text) or _defines_position(line):
            kinds[line.start] = "entry"
        elif _TITLE.fullmatch(line.text):
            section = list(
                itertools.takewhile(lambda one: blocks[one.block].kind != "heading", lines[n:])
            )
            if _is_list(section, titles, line.text):
                kinds[line.start] = "title"
                kinds |= {one.start: "entry" for one in section}
                n += len(section)
        elif line.rest and _is_list_line(line.rest, titles, line.text):
            kinds[line.start] = "entry"
    for line in reversed(lines[1:]):  # a list at the end without a title
        if kinds[line.start]:
            continue
        if line.start in attached or not _is_reference(line, titles):
            break
        kinds[line.start] = "entry"
    return kinds


def _is_source_row(line: _BibliographyLine, header: Sequence[str]) -> bool:
    """Return whether a row belongs to a table of numbered references: "| 1 | Trial A |"."""
    label = line.label
    names_sources = any(map(_NAME_COLUMN.fullmatch, header[1:]))
    return bool(label and label["cell"] and names_sources and all(map(_COLUMN.fullmatch, header)))


def _find_source_lines(lines: Sequence[_BibliographyLine], blocks: Sequence[Block]) -> set[int]:
    """Return the starts of lines such as "Source: [1]" that cite the unmarked text above them.

    A single such line below several paragraphs lists the sources of the answer instead.
    """
    found = [n for n, line in enumerate(lines) if line.rest and _CITED_ALONE.fullmatch(line.rest)]
    attached: set[int] = set()
    for before, n in itertools.pairwise([-1, *found]):
        above = [one for one in lines[before + 1 : n] if blocks[one.block].kind != "heading"]
        is_close = len(found) > 1 or len({one.block for one in above}) == 1
        if above and is_close and not any(_CITES.search(one.text) for one in above):
            attached.add(lines[n].start)
    return attached


def _is_list(section: Sequence[_BibliographyLine], titles: Sequence[str], heading: str) -> bool:
    is_clear = bool(_CLEAR_TITLES.fullmatch(heading))
    n_entries = sum(
        _is_list_line(one.text, titles, heading) or (is_clear and _is_listed(one))
        for one in section
    )
    return n_entries > 0 and n_entries >= _LEAST_SHARE * len(section)


def _is_list_line(text: str, titles: Sequence[str], heading: str) -> bool:
    if _MARKS_ALONE.fullmatch(text):
        return True
    if not _WEAK_TITLES.match(heading):
        return _is_entry(text, titles)
    body = _strip_label(text)
    return bool(
        _has_title(body, titles)
        or _POSITION_ALONE.fullmatch(body)
        or (_is_identified(body) and not _MARK.search(body))
    )


def _is_identified(text: str) -> bool:
    """Return whether a text is a reference with a PMID, DOI or pages, not "It fell (PMID 123)."."""
    plain = _IN_BRACKETS.sub("", text)
    return bool(_REFERS.match(text) or _PAGES.search(plain) or _ADDED.search(plain))


def _is_listed(line: _BibliographyLine) -> bool:
    is_item = line.label or _ITEM.match(line.with_list_mark)
    return bool(is_item) and not _MARK.search(_strip_label(line.text))


def _is_entry(text: str, titles: Sequence[str]) -> bool:
    label, body = _LABEL.match(text), _strip_label(text)
    if label and (label["square"] or label["lens"] or label["raised"] or label["sup"]):
        return True
    names = _NAMES_DOCUMENT.search(body) or _YEAR.search(body)
    is_cited = _MARK.search(body) and not (_ADDRESS.search(body) or _IDENTIFIES.search(body))
    return bool(names and not is_cited) or _has_title(body, titles)


def _defines_position(line: _BibliographyLine) -> bool:
    label = line.label
    return bool(label and label["square"] and _POSITION_ALONE.fullmatch(_strip_label(line.text)))


def _is_reference(line: _BibliographyLine, titles: Sequence[str]) -> bool:
    """Return whether a labelled line identifies a document and contains no citation mark."""
    label, body = line.label, _strip_label(line.text)
    if not label or _MARK.search(body):
        return False
    is_raised = label["raised"] or label["sup"] or label["lens"]
    return bool(
        _is_identified(body)
        or ((is_raised or label["square"] or label["word"]) and _IDENTIFIES.search(body))
        or _is_cited_word(line, label["square"] or "")
        or _POSITION_ALONE.fullmatch(body)
        or _has_title(body, titles)
        or ((is_raised or label["square"]) and _ADDRESS.search(body))
        or (is_raised and _YEAR.search(body))
    )


def _is_cited_word(line: _BibliographyLine, word: str) -> bool:
    """Return whether the text above a line cites its label, which is no number: "[a]"."""
    mark = rf"\[(?:[^\[\]\n]{{1,60}}[,;]\s?)?{re.escape(word)}[\],;]"
    is_word = bool(word) and not word.isdigit()
    return is_word and bool(re.search(mark, line.answer[: line.start]))


def _has_title(text: str, titles: Sequence[str]) -> bool:
    plain = re.sub(r"[*_`\"\u201c\u201d]", "", text).casefold()
    plain = re.sub(r"^\W+", "", plain)
    return plain.startswith(tuple(titles))


def _strip_label(text: str) -> str:
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def _parse_references(lines: Sequence[_BibliographyLine]) -> list[Reference]:
    """Convert lines to references. A line without a label usually continues a reference."""
    references: list[Reference] = []
    for line in lines:
        rest = line.rest
        body, label = rest or line.text, _LABEL.match(rest) if rest else line.label
        if _MARKS_ALONE.fullmatch(body) and (rest or not label):
            continue
        text, *more = _NEXT_ENTRY.split(_strip_label(body)) if label else [body]
        if label:
            references.append(_build_reference(label, text))
            references += [
                _build_reference(m, one[m.end() :]) for one in more if (m := _LABEL.match(one))
            ]
        elif not references or _starts_entry(line, references):
            references.append(Reference(str(len(references) + 1), text))
        else:
            last = references[-1]
            references[-1] = Reference(last.label, f"{last.text} {text}")
    return references


def _build_reference(label: re.Match[str], text: str) -> Reference:
    name = next(part for part in label.groups() if part).translate(_RAISED)
    return Reference(str(int(name)) if name.isdigit() else name, text)


def _starts_entry(line: _BibliographyLine, previous: Sequence[Reference]) -> bool:
    """Return whether a line without a label starts a reference."""
    is_counted = all(one.label == str(n) for n, one in enumerate(previous, 1))
    names_document = _YEAR.search(line.text) or _NAMES_DOCUMENT.search(line.text)
    return bool(_ITEM.match(line.with_list_mark) or (is_counted and names_document))
