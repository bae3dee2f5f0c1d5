"""Report as a self-contained HTML page whose contents are compressed."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec

from ragassay.records import (
    Audit,
    Document,
    Evaluation,
    FindingLevel,
    Manifest,
    RecordFailure,
    Rejection,
    Repeats,
    Summary,
    list_outlines,
)
from ragassay.reports.answer_view import view_answer
from ragassay.reports.certificate import EXPLANATION, NOT_AUDITED
from ragassay.reports.display import UNDECIDED, UNSCORED, format_failure_reason, format_judged_by
from ragassay.reports.findings_view import (
    WORTH_A_LOOK,
    FindingCard,
    describe_hidden_findings,
    list_answer_cards,
    rank_cards,
    summarize_main_findings,
)
from ragassay.reports.index import (
    index_answer,
    index_cards,
    list_score_columns,
    select_main_columns,
    view_lines,
    view_source,
)
from ragassay.reports.labels import (
    describe_finding_place,
    find_finding_title,
    find_severity,
    rank_finding_kind,
    replace_controls,
)
from ragassay.reports.panel_view import ESTIMATED, INDEPENDENT
from ragassay.reports.prose_view import view_prose
from ragassay.reports.provenance import BOUNDS_NOTE, describe_application, describe_participants
from ragassay.reports.report_view import ReportView, describe_reliability, view_report
from ragassay.reports.run_sheets import COST_NOTE
from ragassay.reports.text import AVERAGES_NOTE, count_text, describe_failures

if TYPE_CHECKING:
    from jinja2 import Environment


P = ParamSpec("P")


def join_result(pieces: Callable[P, Iterable[str]]) -> Callable[P, str]:
    """Turn a function that yields pieces of a report into one that returns the full text."""

    def render(*args: P.args, **kwargs: P.kwargs) -> str:
        return "".join(pieces(*args, **kwargs))

    return render


CHUNK = 40
"""Number of HTML fragments that are compressed together."""

N_IN_MEMORY = 2**22
"""Maximum size in bytes of a compressed list that is kept in memory. Larger lists are written to a
temporary file."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A list in chunks, each a JSON array compressed with zlib (RFC 1950) and base64-encoded.

    Attributes:
        chunks: Chunks of `CHUNK` members each; the last may be shorter. The chunks can be read only
            once.
    """

    name: str
    chunks: Iterable[str]


class Packer:
    """Compresses a list while it grows, with at most one uncompressed chunk in memory."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._chunks = tempfile.SpooledTemporaryFile(N_IN_MEMORY, "w+", encoding="ascii")
        self._open: list[object] = []

    def add(self, member: object) -> None:
        """Add a JSON-serializable member to the list."""
        self._open.append(member)
        if len(self._open) == CHUNK:
            self._write_chunk()

    def pack(self) -> Packed:
        """Return the compressed list."""
        if self._open:
            self._write_chunk()
        return Packed(self._name, self._read())

    def _write_chunk(self) -> None:
        self._chunks.write(_pack_members(self._open) + "\n")
        self._open = []

    def _read(self) -> Iterator[str]:
        with self._chunks as lines:
            lines.seek(0)
            for line in lines:
                yield line.removesuffix("\n")


def pack(name: str, members: Iterable[object]) -> Packed:
    """Compress a list of JSON-serializable members. The output is deterministic.

    Example:
        >>> len(list(pack("answers", ["<p>one</p>"] * 41).chunks))
        2
    """
    packer = Packer(name)
    for member in members:
        packer.add(member)
    return packer.pack()


def _pack_members(members: Sequence[object]) -> str:
    text = json.dumps(list(members), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(errors="replace"), 9)).decode("ascii")


TEXTS = {
    "explanation": EXPLANATION,
    "not_audited": NOT_AUDITED,
    "averages_note": AVERAGES_NOTE,
    "worth_a_look": WORTH_A_LOOK,
    "bounds_note": BOUNDS_NOTE,
    "independent": INDEPENDENT,
    "estimated": ESTIMATED,
    "cost_note": COST_NOTE,
}
"""Texts that all page templates can use."""

N_STATIC = 10
"""Number of primary and of secondary findings that the page shows even if scripts are disabled."""

PAGE, STYLE, SCRIPT = "report.html.j2", "report_style.html.j2", "script.html.j2"

LEVELS: tuple[FindingLevel, ...] = ("primary", "secondary")

STATES = (
    ("primary", "a main finding"),
    ("secondary", "a finding worth a look"),
    *((state, f"{state} verdicts") for state in (UNDECIDED, UNSCORED)),
    ("none", "no findings"),
)
"""Filters for answers, in addition to filters by kind of finding."""


def render_html_pieces(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure] = (),
    rejections: Sequence[Rejection] = (),
    audit: Audit | None = None,
    repeats: Repeats | None = None,
) -> Iterator[str]:
    """Render a run as an HTML page for browsing or printing.

    Returns:
        Pieces of an HTML document, which may be large. The output is deterministic.
    """
    environment = create_page_environment()
    style, script = (environment.get_template(name).render() for name in (STYLE, SCRIPT))
    report = view_report(manifest, summary, evaluations, failures, rejections, audit, repeats)
    outlines = list_outlines(evaluations)
    columns = list_score_columns(outlines)
    lines = view_lines(summary, outlines)
    page = environment.get_template(PAGE).generate(
        report=report,
        lead=summarize_main_findings(summary, outlines),
        who=describe_participants(manifest, summary),
        lost="" if summary.judged_nothing else describe_failures(summary),
        application=describe_application(summary.application) if summary.application else "",
        notes=summary.notes,
        belief=describe_reliability(report),
        n_answers=count_text(len(evaluations), "answer"),
        lines=lines,
        is_bounded=any(bar.worst is not None for line in lines for bar in line.bars),
        systems=list(dict.fromkeys(e.system for e in outlines if e.system)),
        states=STATES,
        columns=columns.values(),
        chunk=CHUNK,
        style=style,
        script=script,
        policy=build_content_policy(style, script),
        **_list_finding_fields(report, _Parts(environment, columns, evaluations)),
    )
    return map(replace_controls, page)


render_html = join_result(render_html_pieces)
"""Render a run as an HTML page; see `render_html_pieces`."""


def _list_finding_fields(report: ReportView, parts: _Parts) -> dict[str, object]:
    """Return the fields of the page template that show findings."""
    cards: dict[FindingLevel, tuple[FindingCard, ...]] = {
        level: rank_cards(parts.cards[level]) for level in LEVELS
    }
    n_hidden = sum(group.n_unlisted for group in report.secondary_findings)
    return {
        **cards,
        "more_secondary": describe_hidden_findings(n_hidden),
        "n_static": N_STATIC,
        "unlisted": sum(group.n_unlisted for group in report.findings),
        "kinds": _map_kind_titles(cards.values()),
        "packs": parts.iter_packs(cards),
    }


class _Parts:
    """Compressed parts of the page: the index that the page's script filters, and HTML fragments.

    Args:
        columns: Titles of the scores for filtering and sorting, by key.
    """

    def __init__(
        self,
        environment: Environment,
        columns: Mapping[str, str],
        evaluations: Iterable[Evaluation],
    ) -> None:
        self._environment, self._columns = environment, columns
        self._index, self._answers, self._sources = map(Packer, ("index", "answers", "sources"))
        self._source_positions: dict[bytes, int] = {}
        self.cards: dict[FindingLevel, list[FindingCard]] = {level: [] for level in LEVELS}
        for number, evaluation in enumerate(evaluations, start=1):
            self._add_answer(number, evaluation)

    def _add_answer(self, number: int, evaluation: Evaluation) -> None:
        cards: list[FindingCard] = []
        for level in LEVELS:
            level_cards = list_answer_cards(number, evaluation, level)
            self.cards[level] += level_cards
            cards += rank_cards(level_cards)
        sources = [self._add_source(source) for source in evaluation.sources]
        self._index.add(index_answer(evaluation, self._columns, sources))
        prose = view_prose(evaluation, cards)
        self._answers.add(self._render_fragment("answer", view_answer(number, evaluation), prose))

    def _add_source(self, source: Document) -> int:
        key = hashlib.sha256(source.model_dump_json().encode()).digest()
        if key not in self._source_positions:
            self._source_positions[key] = len(self._source_positions)
            self._sources.add(self._render_fragment("source", view_source(source)))
        return self._source_positions[key]

    def iter_packs(self, cards: Mapping[FindingLevel, Sequence[FindingCard]]) -> Iterator[Packed]:
        """Yield all parts."""
        titles = list(self._columns.values())
        main = [list(self._columns).index(key) for key in select_main_columns(self._columns)]
        yield pack("about", [{"titles": titles, "main": main}])
        yield self._index.pack()
        for level, level_cards in cards.items():
            yield pack(f"{level}-index", index_cards(level_cards))
            yield pack(level, (self._render_fragment("finding", card) for card in level_cards))
        yield self._answers.pack()
        yield self._sources.pack()

    def _render_fragment(self, name: str, *args: object) -> str:
        render = getattr(self._environment.get_template(f"{name}.html.j2").module, name)
        return replace_controls(str(render(*args)))


def _map_kind_titles(cards: Iterable[Sequence[FindingCard]]) -> dict[str, str]:
    kinds = {card.kind for level in cards for card in level}
    return {kind: find_finding_title(kind, 1) for kind in sorted(kinds, key=rank_finding_kind)}


def build_content_policy(style: str, script: str) -> str:
    """Return a Content Security Policy that allows only the page's own style and script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_compute_digest(style)}'",
            f"script-src 'sha256-{_compute_digest(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _compute_digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@functools.cache
def create_page_environment() -> Environment:
    """Return the template environment, with autoescaping and strict undefined names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ragassay.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "reason": format_failure_reason,
        "place": describe_finding_place,
        "severity": find_severity,
        "judged_by": format_judged_by,
    }
    environment.globals |= {**TEXTS, "UNDECIDED": UNDECIDED}
    return environment
