"""Resolve citation marks to sources, entries of the reference list, or articles."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ragassay.records import Article, Citation, Document
from ragassay.text.bibliography import POSITION, Reference
from ragassay.text.citation_markers import expand, extract_doi, is_list, strip_identifier
from ragassay.text.citation_styles import (
    LEAST_ID_DIGITS,
    Target,
    extract_surnames,
    normalize_identifier,
    parse_address,
)

Lookup = Callable[[str], Document | None]

_IDENTIFIERS = re.compile(
    r"PMIDs?[:\s]{0,3}(\d{1,9})|(https?://[^\s<>\")]{1,2000})|\b(10\.\d{4,9}/[^\s,;]{1,200})",
    re.IGNORECASE,
)

_SHORT_NAME = re.compile(
    r"(?<=[/\\])[^/\\\n]{1,200}\.[a-z]{2,4}$|(?<=://)(?!www\.)[^/\s]{1,99}|(?<=://www\.)[^/\s]{1,99}",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a file name at the end of a path or URL, and the host of a URL."""
_DOI_IN_URL = re.compile(r"(?<=/)10\.\d{4,9}/[^\s?#]{1,200}(?<![/.])")
_HEAD_CHARS = 600
"""Number of characters at the start of a source that are searched for its authors and year."""

_LABEL_CHARS = 300
"""Number of characters at the start of a source that are searched for its PMID and DOI."""

_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
"""Matches a bracketed number that is more likely a year than a source."""
LEAST_HEAD_WORDS = 4
"""Minimum number of words in a title by which a source is recognized without its subtitle."""


class CitationResolver:
    """Resolver that converts citation marks to citations, and collects the cited documents.

    `lookup` finds articles that are not among the sources by their PMID or DOI.

    Attributes:
        has_sources: Whether the answer has sources, not only documents found by `lookup`.
        names: Ids, titles and labels in lower case that are citation marks if they are in brackets.
    """

    def __init__(
        self,
        sources: Sequence[Document],
        lookup: Lookup | None = None,
        references: Sequence[Reference] = (),
    ) -> None:
        self.documents = list(sources)
        self.has_sources = bool(sources)
        self._sources = tuple(sources)
        self._lookup, self._n_sources = lookup, len(sources)
        by_doi = {
            strip_identifier(s.doi): s.id
            for s in reversed(sources)
            if isinstance(s, Article) and s.doi
        }
        by_id = {
            key: s.id
            for s in reversed(sources)
            for key in (normalize_identifier(s.id), strip_identifier(s.id), s.id)
        }
        self._ids = _map_identifiers(sources) | _map_addresses(sources) | by_doi | by_id
        self._short_names = _map_short_names(sources)
        self._kinds = {kind for key in self._ids if (kind := _detect_kind(key))}
        self._source_ids = frozenset(s.id for s in sources)
        self._titles = _map_titles(sources)
        self._references = {one.label.casefold(): one for one in reversed(references)}
        # The reference "[a] Trial A" turns "[a]" into a mark.
        named = _list_names(sources, self._titles) | set(self._references) | set(self._short_names)
        self.names = frozenset(name for name in named if not name.isdigit())
        self.names |= {f"^{label}" for label in self._references}
        self._by_reference: dict[str, str | None] = {}
        self._is_from_zero = False
        self._are_ids = False

    def settle_numbers(self, numbers: Iterable[int]) -> None:
        """Decide whether the cited numbers of an answer are source ids or positions from 1 or 0.

        The numbers are ids if all of them are ids. The numbers are also ids if every source has a
        numeric id, the ids are not just 1 to n, and at least one cited number is an id. Numbers
        that are not ids then refer to sources that are missing from the input. The numbers are
        positions from 0 if 0 is cited and every number is smaller than the number of sources.
        """
        cited = set(numbers)
        # Longer ids are PMIDs.
        ids = {int(s.id) for s in self._sources if re.fullmatch(r"[0-9]{1,3}", s.id)}
        are_labels = len(ids) == self._n_sources > 0 and ids != set(range(1, self._n_sources + 1))
        self._are_ids = bool(cited) and (cited <= ids or (are_labels and bool(cited & ids)))
        self._is_from_zero = (
            0 in cited and max(cited) < self._n_sources and not self._are_ids and 0 not in ids
        )

    def is_position(self, target: Target) -> bool:
        """Return whether a target is a number from 1 to the number of sources, or a long id."""
        is_id = len(target.value) >= LEAST_ID_DIGITS and target.value in self._source_ids
        return is_id or (target.value.isdigit() and 1 <= int(target.value) <= self._n_sources)

    def points_to_source(self, target: Target) -> bool:
        """Return whether a target can be resolved, without looking up numbers as PMIDs."""
        if target.kind in ("number", "index"):
            if target.value.casefold() in self._references or target.value in self._ids:
                return True
            first = 0 if target.kind == "index" or self._is_from_zero else 1
            return first <= int(target.value) < first + self._n_sources
        return self._find_document(target) is not None

    def resolve_listed(self, citations: Iterable[str]) -> list[Target]:
        """Return the targets of citations that an input file lists for a sentence."""
        return [target for one in citations for target in self._parse_citation(one)]

    def _parse_citation(self, citation: str) -> list[Target]:
        citation_text = citation.strip()
        plain = citation_text if extract_doi(citation_text) else citation_text.strip("[]()").strip()
        items = [] if plain in self._ids or not is_list(plain) else expand(plain)
        if len(items) == 1 and extract_doi(
            plain
        ):  # a single DOI stays as written, like any other id
            items = []
        return [_build_listed_target(item) for item in items or [plain or citation]]

    def resolve_targets(self, targets: Iterable[Target]) -> tuple[Citation, ...]:
        """Return the citations for a statement's targets, each marker and document only once."""
        by_key: dict[str, Citation] = {}
        documents: set[str] = set()
        for one in (citation for target in targets for citation in self._resolve_all(target)):
            key = extract_doi(one.marker) or one.marker
            if key in by_key or one.document in documents:
                continue
            by_key[key] = one
            if one.document is not None:
                documents.add(one.document)
        return tuple(by_key.values())

    def _resolve_all(self, target: Target) -> list[Citation]:
        citations = [self.resolve(one) for one in (target, *target.others)]
        return [one for one in citations if one.document is not None] or citations

    def resolve(self, target: Target) -> Citation:
        """Return the citation for a target, with its document if the target can be resolved."""
        known = self._find_document(target)
        if known is not None:
            return Citation(
                marker=target.text, document=known, other=self._find_other_source(target, known)
            )
        if target.kind in ("number", "index"):
            is_listed = target.value.casefold() in self._references
            is_invalid = bool(self._sources) and not (
                self._are_ids
                or (is_listed and any(self._match_references()))
                or _YEAR.fullmatch(target.value)
                or self._may_be_joined(target.value)
            )
        else:
            # The answer may define a label itself as a document outside the sources.
            label = target.value.removeprefix("^").casefold() if target.kind == "name" else None
            kind = _detect_kind(strip_identifier(target.text))
            is_comparable = bool(self._sources) and (not kind or kind in self._kinds)
            is_identifier = target.kind in ("pmid", "doi", "name") and target.is_sure
            is_invalid = (
                is_identifier
                and (is_comparable or bool(self._lookup))
                and label not in self._references
            )
        return Citation(marker=target.text, is_unresolved=not is_invalid)

    def _may_be_joined(self, number: str) -> bool:
        if self._n_sources != 1:
            return False
        listed = rf"^[ \t]{{0,8}}(?:{re.escape(number)}[.):]\s|[-=*]{{3,}}[ \t]{{0,8}}$)"
        return re.search(listed, self._sources[0].text, re.MULTILINE) is not None

    def _find_other_source(self, target: Target, known: str) -> str | None:
        is_counted = target.kind == "number" and not (self._is_from_zero or self._are_ids)
        is_id = target.value in self._source_ids and re.fullmatch(r"\d{1,9}", target.value)
        counted = self._get_source_id(int(target.value) - 1) if is_counted and is_id else None
        return counted if counted != known else None

    def _find_document(self, target: Target) -> str | None:
        linked = self._find_document(parse_address(target.address)) if target.address else None
        if linked is not None:
            return linked
        if target.kind == "number":
            return self._find_by_number(target)
        if target.kind == "index":
            return self._get_source_id(int(target.value))
        if target.kind == "author":
            return self._find_by_author(target.value)
        if target.kind == "name":
            named = self._ids.get(target.value) or self._titles.get(_normalize_words(target.value))
            return (
                named
                or self._short_names.get(target.value.casefold())
                or self._find_by_label(target.value.removeprefix("^"))
                or self._look_up_target(target)
            )
        return self._look_up_target(target)

    def _find_by_number(self, target: Target) -> str | None:
        if target.text != target.value and (as_written := self._ids.get(target.text)):
            return as_written
        if labelled := self._find_by_label(target.value):
            return labelled
        if target.value.casefold() in self._references and any(self._match_references()):
            return None
        if target.value in self._source_ids and not self._is_from_zero:
            return target.value
        if self._are_ids:
            return None
        at = int(target.value) - (0 if self._is_from_zero else 1)
        return (
            self._get_source_id(at) or self._ids.get(target.value) or self._look_up_target(target)
        )

    def _get_source_id(self, index: int) -> str | None:
        return self._sources[index].id if 0 <= index < self._n_sources else None

    def _look_up_target(self, target: Target) -> str | None:
        spellings = (
            target.text,
            target.value,
            strip_identifier(target.text),
            normalize_identifier(target.value),
            *_DOI_IN_URL.findall(target.value.lower()),
        )
        known = next((self._ids[one] for one in spellings if one in self._ids), None)
        if known is not None or self._lookup is None or target.kind in ("address", "author"):
            return known
        identifier = strip_identifier(target.text)
        document = self._lookup(identifier) or self._lookup(target.text)
        if document is None:
            return None
        if document.id not in self._ids:
            self.documents.append(document)
        self._ids |= {identifier: document.id, document.id: document.id}
        return document.id

    def _find_by_label(self, label: str) -> str | None:
        name = label.casefold()
        if name not in self._references:
            return None
        if name not in self._by_reference:
            self._by_reference[name] = self._find_in_reference(self._references[name].text)
        return self._by_reference[name]

    def _match_references(self) -> list[str]:
        return [one for label in self._references if (one := self._find_by_label(label))]

    def _find_in_reference(self, text: str) -> str | None:
        """Find the document of a reference by its identifier, title or id, in this order."""
        for pmid, address, doi in _IDENTIFIERS.findall(text):
            target = Target("pmid", pmid, f"PMID {pmid}") if pmid else Target("doi", doi, doi)
            document = self._look_up_target(parse_address(address) if address else target)
            if document is not None:
                return document
        words = f" {_normalize_words(text)} "
        titled = [title for title in self._titles if f" {title} " in words]
        if titled:
            return self._titles[max(titled, key=len)]
        named = [
            s.id for s in self._sources if len(s.id) > 3 and f" {_normalize_words(s.id)} " in words
        ]
        if len(named) == 1:
            return named[0]
        position = POSITION.match(text)
        if position is None or self._is_from_zero:
            return None
        return self._get_source_id(int(position[1]) - 1)

    def _find_by_author(self, value: str) -> str | None:
        """Return the id of the source or referenced document with the given authors and year."""
        authors, _, year = value.rpartition(", ")
        openings = {s.id: f"{s.id} {s.title} {s.url} {s.text[:_HEAD_CHARS]}" for s in self._sources}
        matches = [name for name, head in openings.items() if _has_authors(head, authors, year)]
        if len(matches) == 1:
            return matches[0]
        entries = [
            label
            for label, one in self._references.items()
            if _has_authors(one.text, authors, year)
        ]
        if len(entries) != 1:
            return None
        known = self._find_by_label(entries[0])
        if known is None and entries[0].isdigit() and not any(self._match_references()):
            return self._get_source_id(int(entries[0]) - 1)
        return known


def _map_identifiers(sources: Sequence[Document]) -> dict[str, str]:
    """Return source ids, keyed by the PMIDs and DOIs at the start of the sources' texts.

    If a text starts with two PMIDs or DOIs, both are ignored, because one may be a citation.
    """
    ids: dict[str, str] = {}
    for source in reversed(sources):
        head = f"{source.title}\n{source.text[:_LABEL_CHARS]}"
        kinds: dict[str, set[str]] = {}
        for pmid, address, doi in _IDENTIFIERS.findall(head):
            identifier = strip_identifier(
                parse_address(address).value if address else pmid or doi.rstrip(".)")
            )
            kinds.setdefault(_detect_kind(identifier), set()).add(identifier)
        for kind in ("pmid", "doi"):
            if len(identifiers := kinds.get(kind, set())) == 1:
                ids[identifiers.pop()] = source.id
    return ids


def _map_addresses(sources: Sequence[Document]) -> dict[str, str]:
    """Return source ids, keyed by the URLs of the sources and the identifiers in the URLs."""
    return {
        key: s.id
        for s in reversed(sources)
        if s.url
        for key in (
            normalize_identifier(s.url),
            parse_address(s.url).value,
            *_DOI_IN_URL.findall(s.url.lower()),
        )
    }


def _map_short_names(sources: Sequence[Document]) -> dict[str, str]:
    """Return source ids, keyed by unique file names and hosts in ids and URLs."""
    names = {
        (match[0].casefold(), source.id)
        for source in sources
        for match in _SHORT_NAME.finditer(f"{source.id}\n{source.url}")
    }
    counts = Counter(name for name, _ in names)
    return {name: source for name, source in names if counts[name] == 1}


def _list_names(sources: Sequence[Document], titles: Mapping[str, str]) -> set[str]:
    """Return the ids and titles of sources in lower case, with titles without subtitle."""
    return {
        one.casefold()
        for s in sources
        for one in (s.id, s.title, s.title.partition(":")[0])
        if one == s.id or _normalize_words(one) in titles
    }


def _detect_kind(identifier: str) -> str:
    if re.fullmatch(r"[0-9]{5,9}", identifier):
        return "pmid"
    if extract_doi(identifier):
        return "doi"
    return "pmc" if re.fullmatch(r"PMC\d{3,9}", identifier, re.IGNORECASE) else ""


def _build_listed_target(text: str) -> Target:
    if re.fullmatch(r"[0-9]{1,9}", text):
        return Target("number", text, text)
    return Target("name", text, text)


def _has_authors(text: str, authors: str, year: str) -> bool:
    plain = re.sub(r"(?<=[a-z])(?=\d)|_", " ", _remove_accents(text.casefold()))
    words = set(re.findall(r"[\w'\u2019-]+", plain))
    surnames = extract_surnames(_remove_accents(authors))
    surnames = surnames[:1] if re.search(r"\bet.al", authors) else surnames
    return bool(surnames) and words.issuperset(surnames) and bool({year, year[:4]} & words)


def _remove_accents(text: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))


def _map_titles(sources: Sequence[Document]) -> dict[str, str]:
    """Return source ids, keyed by title and, if unique, by title without subtitle."""
    titles = {title: s.id for s in reversed(sources) if (title := _normalize_words(s.title))}
    openings = [
        (_normalize_words(s.title.partition(":")[0]), s.id) for s in sources if ":" in s.title
    ]
    counts = Counter(head for head, _ in openings)
    for head, name in openings:
        if counts[head] == 1 and len(head.split()) >= LEAST_HEAD_WORDS:
            titles.setdefault(head, name)
    return titles


def _normalize_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
