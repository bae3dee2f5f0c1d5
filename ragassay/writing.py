"""`generate_pairs` and `synthesize`, which have models write, and their async versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from ragassay.api import Progress, check
from ragassay.files import line_limit
from ragassay.graphs.qa_state import QAJob
from ragassay.graphs.writing import WORDS
from ragassay.options import EvaluateKeywords, check_options, settings_of, shows
from ragassay.process import run_sync
from ragassay.qa.evaluate import papers_of
from ragassay.qa.generate import Generated, check_writer, make_pairs, qa_tools
from ragassay.records import Paper
from ragassay.runs.progress import Presenter
from ragassay.settings import Settings
from ragassay.studies.syntheses import Syntheses, make_syntheses, writing_settings
from ragassay.studies.synthesis_questions import N_PAPERS, Queries
from ragassay.studies.synthesis_writer import Writing

__all__ = ["agenerate_pairs", "asynthesize", "generate_pairs", "synthesize"]


@shows(EvaluateKeywords)
def generate_pairs(
    papers: str | Path | Sequence[Paper],
    file: str | Path,
    *,
    plan: QAJob | None = None,
    evaluator: str = "",
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Generated:
    """Write question-answer pairs from papers (SciQAG).

    Args:
        papers: A file or folder of papers, or papers.
        file: The file of pairs to write; the same call again resumes a stopped one.
        plan: How many pairs, and how they are written; by default ten a paper.
        evaluator: LiteLLM name of a second model, which rates each pair; empty: rules alone check.
        settings: As for `evaluate`.
        options: See below; `model` writes, and must be named.

    Returns:
        The pairs by paper, with what was repaired, left out, and why.

    Raises:
        InputError: The papers cannot be read, or the file cannot be written.
        SettingsError: A setting is wrong.
        FatalModelError: A model is unavailable.
    """
    return run_sync(
        agenerate_pairs(papers, file, plan=plan, evaluator=evaluator, settings=settings, **options)
    )


@shows(EvaluateKeywords)
async def agenerate_pairs(
    papers: str | Path | Sequence[Paper],
    file: str | Path,
    *,
    plan: QAJob | None = None,
    evaluator: str = "",
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Generated:
    """Run `generate_pairs` inside a running event loop; same arguments, result and errors."""
    await check(options, EvaluateKeywords, settings, others=(evaluator,), file=Path(file))
    return await write_pairs(
        papers, Path(file), plan or QAJob(), evaluator, options, settings, Presenter()
    )


async def write_pairs(
    papers: str | Path | Sequence[Paper],
    file: Path,
    plan: QAJob,
    evaluator: str,
    options: EvaluateKeywords,
    settings: Settings | None,
    presenter: Presenter,
) -> Generated:
    """Read papers and write their pairs; arguments and errors are those of `generate_pairs`."""
    chosen = settings_of(options, settings, presenter.style)
    check_writer(chosen)
    with line_limit(chosen.limits.max_line_bytes):
        found, rejections = papers_of(papers)
    presenter.note_input(rejections)
    known = found[: options.get("limit")]
    tools = qa_tools(chosen, known, evaluator)
    with presenter.bar(len(known), "writing pairs") as listen:
        return await make_pairs(known, plan, tools, file, listen=listen)


@shows(EvaluateKeywords)
def synthesize(
    queries: Queries,
    file: str | Path,
    *,
    papers: int = N_PAPERS,
    words: int = WORDS,
    max_tokens: int = 0,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[EvaluateKeywords],
) -> Syntheses:
    """Have several models answer questions from papers, to compare them (YESciEval's LLMgen).

    Args:
        queries: Texts; rows or records, of which the sources are the papers; or a file: questions,
            answers or topics in any format.
        file: The file of answers to write, which `evaluate` takes. The same call again resumes a
            stopped one, and asks nothing again that is kept beside the file.
        papers: How many papers are searched for in `corpus` for a question that has none.
        words: About how many words an answer has.
        max_tokens: Tokens of a model after which it begins no answer; 0 for no bound.
        settings: As for `evaluate`.
        progress: As for `evaluate`.
        options: See below; each `model` writes an answer to each question. What failed before is
            tried again with `retry_failed`.

    Returns:
        The answers as records, what failed and why, questions without a paper, and the cost.

    Raises:
        InputError: The questions cannot be read, none has a paper, a model is named twice, or
            nothing could be written.
        SettingsError: No model is named, or a setting is wrong.
        FatalModelError: A model is unavailable.
    """
    how: Any = {"papers": papers, "words": words, "max_tokens": max_tokens}
    return run_sync(
        asynthesize(queries, file, **how, settings=settings, progress=progress, **options)
    )


@shows(EvaluateKeywords)
async def asynthesize(
    queries: Queries,
    file: str | Path,
    *,
    papers: int = N_PAPERS,
    words: int = WORDS,
    max_tokens: int = 0,
    settings: Settings | None = None,
    progress: Progress = False,
    **options: Unpack[EvaluateKeywords],
) -> Syntheses:
    """Run `synthesize` inside a running event loop; same arguments, result and errors."""
    check_options(options, EvaluateKeywords)
    chosen, target = writing_settings(options, settings), Path(file)
    await check(options, EvaluateKeywords, chosen, file=target)
    how = Writing(words, max_tokens, bool(options.get("retry_failed")))
    bar = Presenter(progress).bar
    return await make_syntheses(queries, target, chosen, options, how, papers, bar)
