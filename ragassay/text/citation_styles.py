"""Citation styles. To add a style, add a row to a table.

A mark is a bracket, a superscript, a link or an element that contains one or more entries.
`ENTRIES` lists the forms of an entry, and `BRACKETS` the types of brackets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ragassay.text.citation_markers import MAX_RANGE, extract_doi, strip_identifier

TargetKind = Literal["number", "index", "pmid", "doi", "address", "author", "name", "same"]
"""Kinds of targets: "number" (id, label or position of a source), "index" (position from 0),
"pmid", "doi", "address", "author" (with a year), "name" (id or title of a source), and "same" (the
source of the previous mark)."""

BRACKETS: tuple[tuple[str, str, bool], ...] = (
    # opening, closing, whether any bare number between them is a citation
    ("[", "]", True),
    ("\u3010", "\u3011", True),
    ("\u3014", "\u3015", True),
    ("\uff3b", "\uff3d", True),
    ("\u27e6", "\u27e7", True),
    ("\u27e8", "\u27e9", True),
    ("\u3008", "\u3009", True),
    ("\u3016", "\u3017", True),
    ("{", "}", True),
    ("(", ")", False),
    ("\uff08", "\uff09", False),
)

WORDS = (
    "doc|document|source|src|lit|ref|reference|cite|cit|citation|passage|context|chunk|snippet|excerpt|"
    "article|abstract|paper|quelle|dokument|fuente|documento|referencia|fonte|r\u00e9f|r\u00e9f\u00e9rence|riferimento|"
    "\u6765\u6e90|\u6587\u6863|\u6587\u732e|\u53c2\u8003(?:\u6587\u732e)?|\u8d44\u6599|\u51fa\u5178|\u8cc7\u6599|\ucd9c\ucc98|\ubb38\ud5cc"
)
"""Words for a source, accepted in all brackets and also in the plural."""

SQUARE_WORDS = (
    "evidence|study|result|search result|web|file|item|note|footnote|id|no|nr|text|page|pub|"
    "citation_id|hit|record|link|fn"
)
"""Words for a source in square brackets only, because "(Study 2)" may refer to a study."""

DASH = r"(?:--|\.{2,3}|[-\u2010-\u2015\u2212~\u2026\u301c\uff0d\uff5e])"
"""Matches the sign between the ends of a range."""

_COUNT = r"s?(?:[_ ]?(?:id|index|no|nr|number))?\.?[\s_:=#.-]{0,3}"
"""Matches what may stand between a word for a source and its number: "Source No. 2"."""

_CITED_NAME = re.compile(
    r"(?:source|citation|cite|quelle|fuente|fonte|\u6765\u6e90|\u51fa\u5178)s?\s?[:\uff1a]\s?(?P<name>[^\W\d_].{2,200})",
    re.IGNORECASE,
)
_LETTERED_SOURCE = re.compile(rf"(?i:{WORDS})\s[A-Z]")
_DESCRIBED = re.compile(
    rf"(?P<entry>(?:(?:{WORDS}){_COUNT})?\d{{1,3}})(?:\s?[:,]|\s[\u2013\u2014|-])\s(?P<rest>.{{3,300}})",
    re.IGNORECASE,
)
_FILE_NAME = (
    r"[\w(][\w ()%+.-]{0,100}\.(?:pdf|docx?|txt|html?|md|csv|json|xml|pptx?|xlsx?)"
    r"|arXiv:\d{4}\.\d{4,5}(?:v\d)?"
)
_THEREIN = re.compile(
    r",?\s(?:(?:and|&)\s(?:the\s)?(?:references|citations)\s(?:cited\s)?therein|for\s(?:a\s)?(?:review|details)|in\spress)$"
)

LEAST_ID_DIGITS = 5
"""Minimum length of a number in parentheses that is the id of a source, such as a PMID."""

LEAST_NAME = 3
"""Minimum length of letters in parentheses that are an id or title: "(a)" may number an item."""

LETTERS = "SDRPCEAKN"
"""Letters that stand for a source: "[S1]", "[D2]"."""

AMBIGUOUS_LETTERS = "PEAKN"
"""Letters that may also mean something else, as in "[E2]" (estradiol) and "[N1]" (a stage)."""

_LOCATOR = (
    r"(?:pp?\.?|pages?|tables?|tab\.|figs?\.?|figures?|sections?|sect?\.|chapters?|ch\.|chap\.|lines?|l|"
    r"paras?\.?|paragraphs?|\u00b6{1,2}|\u00a7{1,2}|appendix|suppl(?:ement)?\.?|box|vol\.?|s\.)\s?"
    r"[A-Z]?\d{1,5}(?:\.\d{1,3}){0,3}[a-z]?(?:\s?[-\u2013]\s?[A-Z]?\d{1,5})?|appendix\s[A-Z]|abstract|supplement|methods|results|discussion"
)
_LOCATED = re.compile(
    rf"(?P<entry>[\w\]])(?:\s?\(\s?(?:{_LOCATOR})\s?\)|:\s?(?=p)(?:{_LOCATOR}))", re.IGNORECASE
)
_ACRONYM = re.compile(r"(?<=[a-z])\s[(\[][A-Z][\w&.-]{1,11}[)\]](?=,?\s(?:19|20)\d\d)")
INTRODUCTIONS = (
    r"(?:see(?:\salso)?|cf|e\.g|i\.e|viz|also|siehe|vgl|v\u00e9ase|ver|voir|citing|according\sto|based\son"
    r"|(?:as\s)?(?:(?:(?:stated|reported|reviewed|described|shown|noted|discussed|mentioned|cited"
    r"|found|seen|confirmed|contradicted|evidence|supported|adapted|taken|data)\s)?(?:in|by|from)|per))"
)
"""Words before a mark: "see", "as reported in"."""

_PREFIX = re.compile(
    rf"(?:{INTRODUCTIONS}\b[.,:]{{0,2}}\s{{1,3}}"
    rf"|(?:(?:{WORDS}|evidence|PubMed(?!\s?:\s?\d)|via|ClinicalTrials\.gov)s?(?:[\s_]?id)?|id)"
    rf"\s?[:\uff1a]\s{{0,3}}(?=\S))",
    re.IGNORECASE,
)

_NAME = r"[A-Z\u00c0-\u00de][\w'\u2019\u2010-]{1,40}"
_PARTICLE = r"(?:(?:de|del|della|van|von|der|den|la|le|al|el|dos|da|di)\s){0,3}"
_INITIALS = r"(?:,?\s(?:[A-Z]\.?-?){1,3}(?=[\s,.)\]]))?"
_AUTHOR = rf"{_PARTICLE}{_NAME}{_INITIALS}"
_YEAR = r"(?:1[89]\d|20[0-4])\d[a-z]?"
_YEARS = rf"{_YEAR}(?:\s?,\s?(?:{_YEAR}|[a-z]\b)){{0,4}}"
_ET_AL = (
    r",?\s(?:et|and|&|y|e|und)[\s.]?(?:colleagues|coworkers|others|colaboradores|Kollegen"
    r"|Mitarbeiter|(?:al|cols?|coll)\b\.?)"
)
_AND = rf"(?:,\s{_AUTHOR}){{0,4}},?\s(?:and|&|und|y|e|et)\s{_AUTHOR}"
AUTHOR_YEAR = (
    rf"(?P<authors>{_AUTHOR}(?P<several>{_ET_AL}|{_AND})?)(?:\s?,\s?|\s|(?<=\.))(?P<years>{_YEARS})"
)
_ET_AL_ALONE = re.compile(rf"{_AUTHOR}{_ET_AL}")
"""Matches authors without a year, who may precede a PMID: "Smith et al., PMID: 123"."""
_JOURNALS = (
    r"(?:(?:The\s)?(?:NEJM|N\.?\sEngl\.?\sJ\.?\sMed\.?|New\sEngland\sJournal\sof\sMedicine|BMJ(?:\sOpen)?"
    r"|(?:Lancet|JAMA|Nature|Nat\.?|Science|PLoS|BMC)(?:\s[A-Z][\w.]{1,20}){0,2}|Cell|Blood|Gut"
    r"|Ann(?:als|\.)?(?:\sof)?\sIntern(?:al|\.)?\sMed(?:icine|\.)?|Circulation|Diabetes\sCare|PNAS"
    r"|Eur(?:opean|\.)?\sHeart\sJ(?:ournal|\.)?|JACC|J\.?\sAm\.?\sColl\.?\sCardiol\.?|JCO"
    r"|J\.?\sClin\.?\sOncol\.?))"
)
"""Journals that may appear between an author and a year: "Smith, BMJ 2020"."""
_JOURNAL = (
    r"[A-Z][\w'\u2019-]{0,30}\.?(?:\s(?:[A-Z][\w'\u2019-]{0,30}\.?|of|the|and|for|in|on|&)){0,7}"
)
"""Matches any journal name, but is used only between "et al." and a year."""
_WITH_JOURNAL = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<authors>{_AUTHOR}{_ET_AL})[.,]{{0,2}}\s{_JOURNAL}[.,]?\s(?P<years>{_YEARS})",
        rf"(?P<authors>{_AUTHOR}{_ET_AL})[.,]{{0,2}}\s(?P<years>{_YEAR})[.,]\s{_JOURNAL}",
        rf"(?P<authors>{_AUTHOR}(?:{_AND})?)[.,]\s{_JOURNALS}[.,]?\s(?P<years>{_YEARS})",
    )
)
_VOLUME = re.compile(
    r"(?<=\b(?:19|20)\d\d);\s?\d{1,4}(?:\s?\([\w\s.-]{1,12}\))?:\s?\w{1,9}(?:[-\u2013]\w{1,9})?"
)
"""Matches volume and pages after a year, as in "2019;381:1995-2008"."""
NARRATIVE = (
    rf"(?<!\w)(?P<authors>{_AUTHOR}(?P<several>{_ET_AL}|{_AND})?)"
    rf"(?:['\u2019]s)?(?P<mark>\s?[(\[](?:{_JOURNALS}[.,]?\s)?(?P<years>{_YEARS})[)\]])"
)
_ORGANISATION = rf"{_NAME}(?:\s(?:(?:of|for|and|on|the|de)\s){{0,2}}{_NAME}){{1,6}}"
ORGANISATION_YEAR = re.compile(rf"(?P<authors>{_ORGANISATION})\s?,?\s?(?P<year>{_YEAR})")
_AFTER_YEAR = re.compile(r"(?<=\d{4}),\s(?=[A-Z])|(?<=\d{4}[a-z]),\s(?=[A-Z])")
NO_AUTHORS = frozenset(
    "January February March April May June July August September October November December Jan Feb "
    "Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Spring Summer Autumn Fall Winter Since In From Until "
    "Before After During By Of Updated Accessed Published Reviewed Retrieved Version Figure Fig "
    "Table Phase Step Stage Grade Type Part Section Chapter Week Month Day Year Age Total "
    "Copyright Trial Study Europe Germany France Italy Spain Japan China India Brazil Canada "
    "Denmark Sweden Norway Finland England Scotland London Paris Geneva Berlin".split()
)
"""Capitalized words before a year that are not authors."""

ENTRIES: tuple[tuple[TargetKind, str, str], ...] = (
    # kind, pattern with the target in the group "value", example
    ("pmid", r"(?:PubMed\s?(?:ID)?|PMIDs?|pmid)[\s:#=_-]{0,3}(?P<value>\d{1,9})", "PMID: 123"),
    ("address", r"<?(?P<value>(?:https?://|www\.)[^\s<>]{1,2000})>?", "https://example.org/a"),
    ("doi", r"(?:doi[:\s]{0,3})?(?P<value>10\.\d{4,9}/[^\s,;]{1,200})", "doi:10.1000/abc"),
    ("index", r"\d{1,4}:(?P<value>\d{1,4})\u2020[^\u3010\u3011\[\]]{0,200}", "4:0\u2020source"),
    ("number", r"(?P<value>\d{1,3})\u2020[^\u3010\u3011\[\]]{0,200}", "1\u2020L3-L5"),
    ("index", r"(?P<value>\d{1,3})-\d{1,4}:\d{1,4}", "0-1:3"),
    (
        "index",
        r"(?:cite)?turn\d{1,3}[a-z]{1,12}(?P<value>\d{1,3})(?:\u2020.{0,200})?",
        "turn0search1",
    ),
    (
        "number",
        rf"\^?(?:{WORDS}|{SQUARE_WORDS}){_COUNT}(?P<value>\d{{1,4}})"
        r"(?:\s?[\u00a7\u00b6]\s?[\d.]{1,9})?",
        "Source 1",
    ),
    ("number", rf"(?P<value>\d{{1,3}})\s?[:\u2013-]\s{AUTHOR_YEAR}", "1: Smith 2020"),
    ("number", r"(?:\^|#|\u2116\s?|n\.?\s?\u00b0|no\.?\s?)?(?P<value>\d{1,18})\^?", "^1"),
    ("number", rf"[{LETTERS}](?P<value>\d{{1,3}})", "S1"),
    ("name", r"(?:PMCID[:\s]{0,3})?(?P<value>PMC\d{3,9})", "PMC1234567"),
    ("name", rf"(?P<value>{_FILE_NAME})", "trial.pdf"),
    ("same", r"(?P<value>ibid(?:em)?\.?)", "ibid."),
    ("name", r"@(?P<value>[\w:.+/-]{1,80})", "@smith2020"),
)
_ENTRIES: tuple[tuple[TargetKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern, _ in ENTRIES
)
_LETTERED = re.compile(rf"[{LETTERS}]\d{{1,3}}")
COUNTED_WORD = re.compile(rf"(?:{WORDS}){_COUNT}\d{{1,4}}", re.IGNORECASE)
"""Matches a word for a source with its number: "Source 1"."""


@dataclass(frozen=True)
class Target:
    """Reference of an entry in a citation mark, such as the position of a source or a PMID.

    Attributes:
        value: Number, identifier or address of the source.
        text: Text by which readers recognize the entry: "1", "PMID 123", "doc1".
        address: URL of the link around the entry, which takes precedence if its document is known.
        others: Further identifiers of the same article, as in "PMID 123; doi:10.1000/abc".
        is_sure: Whether the entry is a citation even if no source matches.
    """

    kind: TargetKind
    value: str
    text: str
    address: str = ""
    is_sure: bool = True
    others: tuple[Target, ...] = ()


def remove_inner_brackets(content: str) -> str:
    """Remove page numbers after the entries of a mark, and acronyms before a year.

    Example:
        >>> remove_inner_brackets("1(p3), 2 (Table 1); World Health Organization (WHO), 2021")
        '1, 2; World Health Organization, 2021'
    """
    return _LOCATED.sub(r"\g<entry>", _ACRONYM.sub("", content))


def read_targets(
    content: str, *, is_square: bool, names: Collection[str] = ()
) -> tuple[Target, ...]:
    """Return the targets of a mark's entries, or () if the content is not a mark.

    Authors next to a PMID or DOI ("Lee 2019; PMID 123") describe the article and are not a target.

    If `is_square` is true, any number is a citation. `names` are the ids and titles of the sources
    in lower case.

    Example:
        >>> [target.value for target in read_targets("see Source 1, p. 4", is_square=True)]
        ['1']
        >>> read_targets("Figure 2", is_square=False)
        ()
    """
    content = content.strip()
    if not is_square and len(content) < LEAST_NAME and content.isalpha():
        names = ()
    plain = _THEREIN.sub("", _VOLUME.sub("", _strip_prefixes(content)))
    for name in (content, *(one.strip("\"'\u201c\u201d*_") for one in (content, plain)), plain):
        if name.casefold() in names:
            return (Target("name", name, name),)
    is_labelled = bool(_LABEL.match(content))
    targets: list[Target] = []
    for group in re.split(r"\s?;\s?|[,.]\s(?=PMC?IDs?\b|doi:)", plain):
        group_targets = _read_group(_strip_prefixes(group), is_square or is_labelled, names)
        if not group_targets and not (_ET_AL_ALONE.fullmatch(group) and "PMID" in plain):
            return _read_described(content, is_square, names)
        targets += group_targets
    is_described = any(one.kind in ("pmid", "doi") for one in targets)
    cited = [one for one in _continue_pmids(targets) if not (is_described and one.kind == "author")]
    return join_identifiers(dict.fromkeys(cited))


def _read_described(content: str, is_square: bool, names: Collection[str]) -> tuple[Target, ...]:
    """Return the target of "Source 1: Trial A" or of "Source: Mayo Clinic", or ()."""
    described = _DESCRIBED.fullmatch(content)
    if described:
        entry, rest = described["entry"], described["rest"].casefold()
        if rest in names or rest[0] in "\"'\u201c\u2018" or COUNTED_WORD.fullmatch(entry):
            return tuple(_read_entry(entry, is_square, names))
    cited = _CITED_NAME.fullmatch(content)
    name = cited["name"] if cited else content if _LETTERED_SOURCE.fullmatch(content) else ""
    return (Target("name", name, name, is_sure=False),) if name else ()


def join_identifiers(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Merge the PMID, DOI and PMC number in a mark, because they identify the same article.

    Identifiers of the same kind ("PMID 123, 456") belong to different articles and are not merged.
    """
    unmerged = tuple(targets)
    kinds = [_detect_identifier(one) for one in unmerged]
    if len(unmerged) < 2 or "" in kinds or len(set(kinds)) < len(kinds):
        return unmerged
    return (replace(unmerged[0], others=unmerged[1:]),)


def _detect_identifier(target: Target) -> str:
    is_pmc = target.kind == "name" and bool(re.fullmatch(r"PMC\d+", target.value, re.IGNORECASE))
    return "pmc" if is_pmc else target.kind if target.kind in ("pmid", "doi") else ""


def _continue_pmids(targets: Sequence[Target]) -> Iterator[Target]:
    """Yield the targets, with numbers after a PMID as PMIDs, as in "PMID 123, 456"."""
    is_pmid = False
    for one in targets:
        is_pmid = one.kind == "pmid" or (is_pmid and one.kind == "number")
        yield Target("pmid", one.value, f"PMID {one.value}") if is_pmid else one


_LABEL = re.compile(rf"(?:see\s)?(?:{WORDS})s?\s?[:\uff1a]", re.IGNORECASE)
"""Matches a word for a source and a colon, after which any number is a citation."""


def _strip_prefixes(text: str) -> str:
    for _ in range(3):
        match = _PREFIX.match(text)
        if not match:
            break
        text = text[match.end() :].lstrip()
    return text.strip()


def _read_group(group: str, is_square: bool, names: Collection[str]) -> list[Target]:
    titled = re.fullmatch(rf"(?P<title>.{{1,300}}?),?\s{_YEAR}", group)
    if titled and titled["title"].casefold() in names:
        return [Target("name", titled["title"], titled["title"])]
    authors = [list(_parse_author_years(part)) for part in (group, *_AFTER_YEAR.split(group))]
    if authors[0] or all(authors[1:]):
        return authors[0] or [one for part in authors[1:] for one in part]
    targets: list[Target] = []
    last_word = ""
    for entry in _split_entries(group):
        is_lettered = bool(targets) and not targets[-1].is_sure and _LETTERED.fullmatch(entry)
        if targets and not is_lettered and re.fullmatch(_LOCATOR, entry, re.IGNORECASE):
            continue
        if targets and targets[-1].kind in ("name", "pmid", "doi") and re.fullmatch(_YEAR, entry):
            continue
        entry_targets = _read_entry(entry, is_square or bool(last_word), names)
        if not entry_targets:
            return []
        last_word = entry if not entry[:1].isdigit() else last_word
        targets += entry_targets
    return targets


def _split_entries(group: str) -> Iterator[str]:
    if re.match(r"<?(?:https?://|www\.)|(?:doi[:\s]{0,3})?10\.\d{4}", group, re.IGNORECASE):
        parts = re.split(r",?\s{1,5}", group)
    else:
        parts = re.split(
            r"\s{0,3}(?:[,\uff0c\u3001\u02d2\u02cf|&+\u00b7]|\b(?:and|und|et|or|y|e)\b)\s{0,3}|(?<=\d)\s?/\s?(?=\w)|(?<=\d)\s(?=\d)|(?<=\d)\s{1,3}(?=PMID)",
            group,
        )
    yield from (part.strip() for part in parts if part.strip())


_RANGE = re.compile(
    rf"(?P<lead>\D{{0,20}}?)(?P<first>\d{{1,4}})\s?(?:{DASH}|to|through|bis)\s?(?:[A-Za-z]{{1,9}}\s?)?(?P<last>\d{{1,4}})\^?",
    re.IGNORECASE,
)


def _read_entry(entry: str, is_square: bool, names: Collection[str]) -> list[Target]:
    document = re.split(r"#page=|#p=|#t=", re.sub(r"^@|.*\u2020", "", entry))[0]
    if document.casefold() in names:
        return [Target("name", document, document)]
    span = _RANGE.fullmatch(entry)
    if span and (is_square or COUNTED_WORD.match(entry)):
        first, last = int(span["first"]), int(span["last"])
        if not 1 <= first < last <= first + MAX_RANGE or not _read_entry(
            f"{span['lead']}{first}", is_square, names
        ):
            return []
        return [Target("number", str(n), str(n)) for n in range(first, last + 1)]
    for kind, pattern in _ENTRIES:
        match = pattern.fullmatch(entry)
        if not match:
            continue
        is_named = COUNTED_WORD.fullmatch(entry) and not re.match("[A-Z]{3}-", entry)  # not SRC-2
        if kind == "number" and not is_square and not is_named:
            return []
        return [_build_target(kind, match["value"], entry)]
    return []


def _build_target(kind: TargetKind, value: str, entry: str) -> Target:
    if kind == "pmid":
        return Target(kind, value, f"PMID {value}")
    if kind == "doi":
        return Target(kind, value.rstrip(".,:;"), value.rstrip(".,:;"))
    if kind == "address":
        return parse_address(value)
    if kind == "same":
        return Target(kind, value, value)
    if kind == "name":
        return Target(kind, value, entry, is_sure=not re.fullmatch(_FILE_NAME, value))
    number = str(int(value))  # in ASCII, whatever the script
    text = entry.strip("^")
    is_sure = not _LETTERED.fullmatch(entry)
    return Target(kind, number, number if text == value else text, is_sure=is_sure)


_PUBMED = re.compile(
    r"(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov/(?:\?term=)?|ncbi\.nlm\.nih\.gov/pubmed/(?:\?term=)?|pubmed\.gov/|europepmc\.org/(?:article|abstract)/med/)(\d{1,9})",
    re.IGNORECASE,
)
_PMC = re.compile(
    r"(?:https?://)?(?:www\.|pmc\.)?(?:ncbi\.nlm\.nih\.gov/(?:pmc/)?|europepmc\.org/)articles?/(?:pmc/)?(PMC\d{3,9})",
    re.IGNORECASE,
)


def parse_address(address: str) -> Target:
    """Return the target of a URL, which is a PubMed article, a DOI, or a page.

    Example:
        >>> parse_address("https://pubmed.ncbi.nlm.nih.gov/123/").text
        'PMID 123'
    """
    plain = address.rstrip(".,;:!?")
    pubmed = _PUBMED.match(plain)
    if pubmed:
        return Target("pmid", pubmed[1], f"PMID {pubmed[1]}")
    if pmc := _PMC.match(plain):
        return Target("name", pmc[1].upper(), pmc[1].upper(), is_sure=False)
    if doi := extract_doi(plain):
        return Target("doi", doi, doi if plain.startswith("http") else plain)
    return Target("address", plain, plain)


def _parse_author_years(group: str) -> Iterator[Target]:
    """Yield one target per year in an author-year citation, or nothing for other text."""
    titled = next((one for p in _WITH_JOURNAL if (one := p.fullmatch(group))), None)
    if titled:
        group = f"{titled['authors']}, {titled['years']}"
    match = re.fullmatch(
        rf"{AUTHOR_YEAR}(?:\s?,\s?(?:{_LOCATOR})|\s?:\s?\d{{1,4}}(?:[-\u2013]\d{{1,4}})?)?", group
    )
    if match and not is_no_author(match["authors"], bool(match["several"])):
        for year in re.findall(_YEAR, match["years"]):
            yield Target("author", f"{match['authors']}, {year}", f"{match['authors']}, {year}")
        return
    match = ORGANISATION_YEAR.fullmatch(group)
    if match and not is_no_author(match["authors"], False):
        text = f"{match['authors']}, {match['year']}"
        yield Target("author", text, text, is_sure=False)


def is_no_author(authors: str, is_several: bool) -> bool:
    """Return whether the words before a year name no author, as in "March 2020"."""
    return not is_several and authors.split()[0].strip(",") in NO_AUTHORS


def extract_surnames(authors: str) -> list[str]:
    """Return the surnames of authors, or the words of an organization's name, in lower case.

    Example:
        >>> extract_surnames("Smith JA and de la Cruz")
        ['smith', 'cruz']
    """
    parts = re.split(r",|\band\b|&|\b(?:und|et|y|e)\b", re.sub(_ET_AL, "", authors))
    names = [re.findall(_NAME, part) for part in parts]
    names = [[re.sub(r"['\u2019]s$", "", name) for name in words] for words in names]
    surnames = (words[:1] if words[-1].upper() == words[-1] else words for words in names if words)
    return [name.casefold() for words in surnames for name in words]


def normalize_identifier(text: str) -> str:
    """Normalize an identifier or URL so that different spellings compare equal."""
    plain = strip_identifier(text).casefold()
    if re.match(r"https?://|www\.", plain):  # what chat services add
        plain = re.sub(r"[?&]utm_\w+=[^&#]*|#:~:.*", "", plain)
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", plain).rstrip("/")
