"""Reports on papers and question-answer pairs as HTML, Markdown, CSV and terminal tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragassay.qa.measures import list_paper_sentences
from ragassay.qa.pair_view import MarkedPart, PairView
from ragassay.qa.score_view import build_qa_score_sheet
from ragassay.qa.scores import average_intents, average_racar_ratings, compute_qa_scores
from ragassay.qa.view import PaperView, QAReport, QAView, view_report
from ragassay.records import Paper, Score
from ragassay.records.inputs import QAPair
from ragassay.records.qa import RACAR, IntentSimilarity, PairMeasures, RacarRating
from ragassay.reports.display import UNDECIDED, UNSCORED, format_unscored
from ragassay.reports.html import SCRIPT, build_content_policy, create_page_environment
from ragassay.reports.labels import replace_controls
from ragassay.reports.sheets import (
    Column,
    Plain,
    Sheet,
    build_cell_text,
    build_number_column,
    build_number_columns,
    build_text_columns,
    escape,
    render_csv,
    render_sheet_markdown,
    render_sheet_table,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


_SHOWN_KEYWORDS = 4


def build_paper_sheet(papers: Sequence[Paper]) -> Sheet:
    """Return a table of papers with the numbers of sections, sentences and words.

    The columns "parts", "sents" and "words" count only the abstract and the body.
    """
    return Sheet(
        title=f"{len(papers)} papers" if len(papers) != 1 else "1 paper",
        columns=(
            Column("paper", "paper", n_most=40),
            Column("title", n_most=60),
            build_number_column("sections", "parts"),
            build_number_column("tables", "tables"),
            build_number_column("captions"),
            build_number_column("references", "refs"),
            build_number_column("sentences", "sents"),
            build_number_column("words", "words"),
            Column("keywords", "keywords", n_most=80),
        ),
        rows=tuple(map(_build_paper_row, papers)),
    )


def _build_paper_row(paper: Paper) -> tuple[str | int, ...]:
    kinds = [section.kind for section in paper.sections]
    n_references = sum(
        len(section.text.splitlines()) for section in paper.sections if section.kind == "reference"
    )
    shown = "; ".join(paper.keywords[:_SHOWN_KEYWORDS])
    n_more = len(paper.keywords) - _SHOWN_KEYWORDS
    return (
        paper.id,
        paper.title,
        kinds.count("abstract") + kinds.count("body"),
        kinds.count("table"),
        kinds.count("caption"),
        n_references,
        len(list_paper_sentences(paper)),
        len(paper.text.split()),
        f"{shown}; {n_more} more" if n_more > 0 else shown,
    )


MEASURED = (
    *("numbers", "numbers_found", "missing_numbers", "question_context", "answer_context"),
    *("chunks", "closest_sentence", "closest_similarity"),
    *("nearest_question", "nearest_similarity"),
)
PAIR_COLUMNS = (
    *("pair", "paper", "system", "question", "answer"),
    *MEASURED,
    *(f"{dimension}{part}" for dimension in RACAR for part in ("", "_unscored", "_reason")),
)
PAPER_SCORES = (
    *("coverage", "pooled_coverage", "chunks_per_answer", "numbers_found"),
    *("answers_with_numbers", "context_free_questions", "question_similarity"),
)
JUDGED_SCORES = ("intent_similarity", *RACAR)
PAPER_COLUMNS = (
    *("paper", "title", "pairs", "sentences", "numbers", *PAPER_SCORES),
    *(f"{key}{part}" for key in JUDGED_SCORES for part in ("", "_n", "_unscored")),
)


def render_pairs_csv(report: QAReport) -> str:
    """Return a CSV table with one row per question-answer pair.

    If a rating is missing, its cell is empty and the next column gives the reason. Sentence numbers
    start at 1.
    """
    measures = {pair.pair: pair for one in report.measures for pair in one.pairs}
    ratings: dict[tuple[str, str], RacarRating] = {(r.pair, r.dimension): r for r in report.ratings}
    rows = [
        (
            *(pair.id, pair.paper, pair.system or "", pair.question, pair.answer),
            *_list_measures(measures.get(pair.id)),
            *(
                cell
                for dimension in RACAR
                for cell in _list_rating_cells(ratings.get((pair.id, dimension)))
            ),
        )
        for pair in report.pairs
    ]
    return render_csv(PAIR_COLUMNS, rows)


def _list_measures(pair: PairMeasures | None) -> Sequence[Plain]:
    if pair is None:
        return (None,) * len(MEASURED)
    missing = [one.text for one in pair.numbers if not one.is_found]
    marks = {
        part: "; ".join(mark.text for mark in pair.context if mark.part == part)
        for part in ("question", "answer")
    }
    closest = pair.closest[0] if pair.closest and pair.similarity else None
    return (
        len(pair.numbers),
        len(pair.numbers) - len(missing),
        "; ".join(missing),
        marks["question"],
        marks["answer"],
        "; ".join(map(str, pair.chunks)),
        None if closest is None else closest + 1,
        None if closest is None else pair.similarity[closest],
        pair.nearest_question,
        pair.nearest_similarity,
    )


def _list_rating_cells(rating: RacarRating | None) -> tuple[Plain, Plain, Plain]:
    """Return three cells: the rating, the reason why it is missing, and the judge's reason."""
    if rating is None:
        return None, None, None
    if rating.rating is None:
        tentative_label = None if rating.tentative_rating is None else str(rating.tentative_rating)
        return None, format_unscored(rating.failure, tentative_label), rating.reason
    return rating.rating if rating.score is None else rating.score, None, rating.reason


def render_papers_csv(report: QAReport) -> str:
    """Return a CSV table with the mean scores and unscored counts of each paper."""
    pairs: dict[str, list[QAPair]] = defaultdict(list)
    for pair in report.pairs:
        pairs[pair.paper].append(pair)
    paper_of = {pair.id: pair.paper for pair in report.pairs}
    ratings: dict[str, list[RacarRating]] = defaultdict(list)
    for rating in report.ratings:
        ratings[paper_of.get(rating.pair, "")].append(rating)
    intents: dict[str, list[IntentSimilarity]] = defaultdict(list)
    for intent in report.intents:
        intents[paper_of.get(intent.first, "")].append(intent)
    titles = {paper.id: paper.title for paper in report.papers}
    measures = {one.paper: one for one in report.measures}
    rows: list[tuple[Plain, ...]] = []
    for name, own in pairs.items():
        measured = measures.get(name)
        scores = {
            **compute_qa_scores([measured] if measured else []),
            **average_intents(intents[name], paper_of),
            **average_racar_ratings(ratings[name], paper_of),
        }
        rows.append(
            (
                *(name, titles.get(name, ""), len(own), measured.n_sentences if measured else None),
                sum(len(pair.numbers) for pair in measured.pairs) if measured else None,
                *(scores[key].value if key in scores else None for key in PAPER_SCORES),
                *(cell for key in JUDGED_SCORES for cell in _list_score_cells(scores.get(key))),
            )
        )
    return render_csv(PAPER_COLUMNS, rows)


def _list_score_cells(score: Score | None) -> tuple[Plain, Plain, Plain]:
    return (score.value, score.n, score.n_unscored) if score else (None, None, None)


PAGE, STYLE = "qa.html.j2", "qa_style.html.j2"


def render_qa_html(report: QAReport) -> str:
    """Render a report on question-answer pairs as HTML.

    Returns:
        Self-contained HTML document, always the same for the same report. If there are several
        papers, the section of each paper is collapsed.
    """
    environment = create_page_environment()
    style, script = (environment.get_template(name).render() for name in (STYLE, SCRIPT))
    view = view_report(report)
    page = environment.get_template(PAGE).render(
        report=view,
        scores=build_qa_score_sheet(view.scores, has_meanings=True),
        style=style,
        script=script,
        policy=build_content_policy(style, script),
        unfold=len(view.papers) == 1,
    )
    return replace_controls(page)


N_WORST = 5
"""Maximum number of pairs with faults that the terminal shows."""


def render_qa_markdown(report: QAReport) -> str:
    """Render a report as GitHub Flavored Markdown, with the worst pairs, scores and papers.

    Returns:
        Markdown text that ends with a newline, always the same for the same report.
    """
    return "\n".join(_render_report_lines(view_report(report))).rstrip("\n") + "\n"


def _render_report_lines(view: QAView) -> Iterator[str]:
    yield from (f"# ragassay: {escape(view.name)}", "", f"**{escape(view.headline)}**", "")
    judge = escape(view.judge) if view.judge else "none; the results come from measures and rules"
    yield from (f"Judge: {judge}. Embeddings: {escape(view.embedder) or 'not named'}.", "")
    yield from ("## Look at these first", "")
    for pair in view.worst:
        yield from _render_pair_lines(pair)
    if view.further:
        yield from (f"{len(view.further)} more pairs have possible faults.", "")
    if not view.worst:
        yield from ("No faults found.", "")
    yield from ("## Scores", "")
    if view.unscored:
        yield from (view.unscored, "")
    yield render_sheet_markdown(build_qa_score_sheet(view.scores))
    for likeness in view.likeness:
        yield from (
            f"**{likeness.title}**: {likeness.mean}",
            "",
            render_sheet_markdown(likeness.sheet),
        )
    yield from ("## Papers", "", render_sheet_markdown(_build_coverage_sheet(view.papers)))
    for note in (*view.cards, *view.notes):
        yield from (f"Note: {escape(note)}", "")


def _build_coverage_sheet(papers: Sequence[PaperView]) -> Sheet:
    titles = ("Pairs", "To check", "Coverage", "Pooled", "Chunks per answer", "Alike")
    rows = tuple(
        (
            *(paper.title or paper.id, len(paper.pairs), paper.n_faulty),
            *(paper.coverage, paper.pooled, paper.chunks, paper.similarity),
        )
        for paper in papers
    )
    return Sheet("Papers", (*build_text_columns("Paper"), *build_number_columns(*titles)), rows)


def render_qa_summary(report: QAReport) -> Iterator[Text | Table]:
    """Yield what the terminal shows: the headline, the scores and the worst pairs."""
    view = view_report(report)
    yield build_cell_text(view.headline, "bold")
    yield render_sheet_table(build_qa_score_sheet(view.scores))
    if view.worst:
        rows = tuple((pair.id, pair.faults[0].message) for pair in view.worst[:N_WORST])
        yield render_sheet_table(Sheet("Worst pairs", build_text_columns("Pair", "Fault"), rows))


def _render_pair_lines(pair: PairView) -> Iterator[str]:
    yield from (f"**Pair {pair.number} of {escape(pair.paper)}**", "")
    answer = _render_marked_text(pair.answer) or "none"
    yield from (f"- Question: {_render_marked_text(pair.question)}", f"- Answer: {answer}")
    for fault in pair.faults:
        yield f"- Look: {escape(fault.message)}"
        for quote in fault.quotes:
            yield f"  - It says: {escape(quote)}"
    unscored = [f"{r.title} {r.word}" for r in pair.ratings if r.tone in (UNDECIDED, UNSCORED)]
    if unscored:
        yield f"- Without a rating: {escape(', '.join(unscored))}"
    if pair.closest:
        yield f"- Closest in the paper ({pair.closest_text}): {escape(pair.closest)}"
    yield ""


def _render_marked_text(parts: Sequence[MarkedPart]) -> str:
    return "".join(
        f"**{escape(part.text)}**" if part.kind else _escape_between_spaces(part.text)
        for part in parts
    ).strip()


def _escape_between_spaces(text: str) -> str:
    """Escape a text for Markdown, but keep a leading and a trailing space next to bold text."""
    return f"{' ' * text[:1].isspace()}{escape(text)}{' ' * text[-1:].isspace()}"
