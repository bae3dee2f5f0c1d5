"""Python API for writing with models: `generate_pairs` and `synthesize`, with async versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from ragassay.api import Progress, check
from ragassay.files import limit_line_length
from ragassay.graphs.qa_state import QAJob
from ragassay.graphs.writing import WORDS
from ragassay.options import EvaluateKeywords, check_options, create_settings, document_options
from ragassay.process import run_sync
from ragassay.qa.evaluate import load_papers
from ragassay.qa.generate import Generated, build_qa_run, check_writer, make_pairs
from ragassay.records import Paper
from ragassay.runs.progress import Presenter
from ragassay.settings import Settings
from ragassay.studies.syntheses import Syntheses, build_writing_settings, make_syntheses
from ragassay.studies.synthesis_questions import N_PAPERS, Queries
from ragassay.studies.synthesis_writer import Writing

__all__ = ["agenerate_pairs", "asynthesize", "generate_pairs", "synthesize"]


@document_options(EvaluateKeywords)
def generate_pairs(
    papers: str | Path | Sequence[Paper],
    file: str | Path,
    *,
    plan: QAJob | None = None,
    evaluator: str = "",
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Generated:
    """Generate question-answer pairs from papers (SciQAG).

    Args:
        papers: Path of a file or folder with papers, or paper objects.
        file: Path of the output file. If the file is incomplete, the same call completes it.
        plan: Number of pairs per paper (by default, ten) and generation options.
        evaluator: LiteLLM name of a second model that rates each pair. If no model is given, the
            pairs are checked only by rules.
        settings: Same as for `evaluate`.
        options: See below. `model` is the writing model and is required.

    Returns:
        Pairs by paper, and the pairs that were revised or discarded, with reasons.

    Raises:
        InputError: The papers cannot be read, or the file cannot be written.
        SettingsError, FatalModelError: Same as for `evaluate`.
    """
    return run_sync(
        agenerate_pairs(papers, file, plan=plan, evaluator=evaluator, settings=settings, **options)
    )


@document_options(EvaluateKeywords)
async def agenerate_pairs(
    papers: str | Path | Sequence[Paper],
    file: str | Path,
    *,
    plan: QAJob | None = None,
    evaluator: str = "",
    settings: Settings | None = None,
    **options: Unpack[EvaluateKeywords],
) -> Generated:
    """Async version of `generate_pairs`, with the same arguments, result and errors."""
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
    """Read papers and generate pairs."""
    chosen = create_settings(options, settings, presenter.style)
    check_writer(chosen)
    with limit_line_length(chosen.limits.max_line_bytes):
        all_papers, rejections = load_papers(papers)
    presenter.note_input(rejections)
    selected = all_papers[: options.get("limit")]
    run = build_qa_run(chosen, selected, evaluator)
    with presenter.show_bar(len(selected), "writing pairs") as listen:
        return await make_pairs(selected, plan, run, file, listen=listen)


@document_options(EvaluateKeywords)
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
    """Answer questions from papers with several models (YESciEval's LLMgen).

    Args:
        queries: Question strings, rows or records with papers as sources, or the path of a file
            with questions, answers or topics in any supported format.
        file: Path of the output file, which `evaluate` can read. If a job was interrupted, the same
            call resumes it without repeating finished answers.
        papers: Number of papers to retrieve from `corpus` for a question without sources.
        words: Approximate number of words per answer.
        max_tokens: Number of tokens after which a model starts no further answer, or 0 for no
            limit.
        settings: Same as for `evaluate`.
        progress: Same as for `evaluate`.
        options: See below. Each `model` answers each question. If `retry_failed` is set, failed
            answers are repeated.

    Returns:
        Answers as records, failures with reasons, questions without papers, and the cost.

    Raises:
        InputError: The questions cannot be read, no question has a paper, a model is listed twice,
            or nothing could be written.
        SettingsError: There is no model, or a setting is invalid.
        FatalModelError: A model is unavailable.
    """
    limits: Any = {"papers": papers, "words": words, "max_tokens": max_tokens}
    return run_sync(
        asynthesize(queries, file, **limits, settings=settings, progress=progress, **options)
    )


@document_options(EvaluateKeywords)
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
    """Async version of `synthesize`, with the same arguments, result and errors."""
    check_options(options, EvaluateKeywords)
    chosen, target = build_writing_settings(options, settings), Path(file)
    await check(options, EvaluateKeywords, chosen, file=target)
    writing = Writing(words, max_tokens, bool(options.get("retry_failed")))
    bar = Presenter(progress).show_bar
    return await make_syntheses(queries, target, chosen, options, writing, papers, bar)
