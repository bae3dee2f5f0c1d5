"""`ragassay strategies`, `rationales` and `similarity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, choose_exit_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, OnlyWhere, Quiet, add_options
from ragassay.cli.terminal import (
    print_lines,
    print_notes,
    print_rejections,
    print_sheets,
    print_written,
)
from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM
from ragassay.options import EvaluateKeywords, create_settings
from ragassay.process import run_sync
from ragassay.reports.display import count_text
from ragassay.reports.labels import flatten_text
from ragassay.runs.progress import show_progress
from ragassay.safe_text import open_console
from ragassay.studies.commands.matrix import print_matrices

if TYPE_CHECKING:
    from ragassay.studies.rationales import ReasonAudit
    from ragassay.studies.strategies import StrategyStudy


@add_options(
    EvaluateKeywords,
    *("model", "api_base", "rubric_set", "rubrics", "questions", "limit", "out", "concurrency"),
    *("column_map", "max_rpm", "max_usd", "engine", "address", "workers"),
    ending="-strategies",
)
def strategies(
    answers: AnswersArgument,
    *,
    human: Path | None = None,
    inversion: Literal["extreme", "mirror"] = "extreme",
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Compare four prompting strategies of a judge, and test whether it can be misled.

    Each answer is rated five times: with the name of the rubric only (zero-shot), with its
    description (knowledge), with two additional examples (few-shot), with step-by-step reasoning
    (chain-of-thought), and with knowledge and a fake expert rating that is the opposite of the
    human rating (perturbed). For each rubric, the command shows

    1. the agreement of the judge's ratings with human ratings (Krippendorff's alpha), by strategy;

    2. the agreement of human raters with each other, and of the judge with itself;

    3. the share of ratings that stayed the same despite the fake rating;

    4. the sentiment of the judge's justifications.

    The two few-shot examples are the best-rated and the worst-rated answer to other questions, or
    the examples in the rubric if no such answers exist.

    The study uses one judge. To study a fine-tuned judge, use its base model. By default, the study
    uses all rubrics that the file contains ratings on. Without human ratings, the fake rating is
    the opposite of the judge's own rating.

    The output folder contains one run per strategy, and the tables as CSV, LaTeX and Markdown. Run
    the same command again to resume a stopped run.

    For example:

      ragassay strategies topical_chat.json --limit 60
      ragassay strategies answers.jsonl --judge openai/gpt-4.1-mini --human labels.jsonl

    Options:
        human: File of human ratings. By default, the ratings in ANSWERS are used.
        inversion: How to invert the human rating to mislead the judge: to the opposite end of the
            scale (extreme), or to the mirrored value (mirror; on a scale of 1 to 5, 2 becomes 4 and
            3 stays 3). The YESciEval paper does not define the inversion.
    """
    from ragassay.formats.row_mapping import parse_column_map
    from ragassay.studies import strategies as by_strategy

    inputs = by_strategy.read_strategy_job(
        answers,
        human,
        limit=options.get("limit"),
        questions=options.get("questions"),
        columns=parse_column_map(options.get("column_map")),
    )
    options.setdefault("rubric_set", by_strategy.choose_rubric_set(inputs.job.answers.format))
    settings = create_settings(options, style="flag")
    folder = Path(options.get("out") or "")
    n_steps = by_strategy.N_WAYS * len(inputs.job.records)
    with show_progress(n_steps, enabled=not quiet) as listen:
        study = by_strategy.study_strategies(inputs, settings, folder, listen, inversion)
    written = by_strategy.write_strategies(study, folder)
    print_notes(*map(flatten_text, (*study.how, *study.notes)))
    if as_json:
        typer.echo(study.to_json())
    elif not quiet:
        _print_strategies(study)
    print_written(written)
    return choose_exit_code(study.failures, study.rejections, study.n_unscored)


def _print_strategies(study: StrategyStudy) -> None:
    from ragassay.studies.strategy_tables import build_strategy_sheets, build_study_headline

    console = open_console()
    headline = build_study_headline(study.judge, study.n_answers, study.n_labels)
    print_lines(headline, style="bold")
    print_sheets(*build_strategy_sheets(study.rubrics))
    if study.n_unscored:
        console.print(f"{count_text(study.n_unscored, 'rating')} failed", highlight=False)
    print_rejections(study.rejections)


@add_options(
    EvaluateKeywords, "model", "api_base", "limit", "out", "concurrency", "max_rpm", "max_usd"
)
def rationales(
    reasons: Annotated[Path, Argument(metavar="RUN|FILE")],
    *,
    labels: Path | None = None,
    rubric_text: Path | None = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> int:
    """Check the reasons that a judge gives for its ratings.

    Without a model, the command measures for each rubric how much of a reason is copied from the
    rubric, whether the reason mentions anything from the answer, and whether its sentiment
    contradicts the rating.

    With --judge (use a different model than the one that wrote the reasons), each reason is also
    checked against six error types of Kim et al. 2023, as YESciEval's authors did by hand:
    inconsistent with the score, too general, overly optimistic, not relevant to the response,
    overly critical, unrelated to the rubric. For each error, the model must quote the words that
    show it.

    The output folder contains the tables (rationales.csv, rationales.md), all reasons with their
    errors (reasons.csv), and sheet.csv for human labels (yes or no). Pass the completed sheet with
    --labels to show the error rates according to people and, with --judge, the agreement of people
    and model. Run the same command again to continue; no call is repeated.

    For example:

      ragassay rationales runs/first
      ragassay rationales runs/first --judge openai/gpt-4.1-mini --limit 20
      ragassay rationales runs/first --labels runs/first/rationales/sheet.csv

    Options:
        reasons: Run folder of a judge, or file of answers whose ratings include reasons, e.g. a
            YESciEval file.
        labels: Completed sheet.csv with human labels.
        rubric_text: Rubric texts by name, as YAML or JSON, if the judge did not use ragassay's
            rubrics.
    """
    from ragassay.studies.rationales import audit_reasons, read_reasons, write_reason_audit

    inputs = read_reasons(reasons, options.get("limit"), rubric_text)
    name = f"{reasons.name.split('.')[0]}-rationales"
    default = reasons / "rationales" if reasons.is_dir() else Path("runs") / name
    folder = Path(options.get("out") or default)
    n = len(inputs.reasons)
    if dry_run:
        n_calls = n if options.get("model") else 0
        typer.echo(f"{count_text(n, 'reason')}: at most {count_text(n_calls, 'call')}")
        return OK
    settings = create_settings(options, style="flag") if options.get("model") else None
    with show_progress(n, settings is not None and not quiet, "checking") as listen:
        found = run_sync(audit_reasons(inputs, settings, folder, labels, listen=listen))
    if found.inputs.n_without:
        print_notes(f"skipped ratings without a reason: {found.inputs.n_without}")
    if found.inputs.note:
        print_notes(found.inputs.note)
    if found.n_failed:
        print_notes(f"reasons that could not be checked: {found.n_failed}")
    print_rejections(found.inputs.rejections)
    if as_json:
        typer.echo(found.to_json())
    elif not quiet:
        _print_rationales(found)
    print_written(write_reason_audit(found, folder))
    return choose_exit_code(inputs.rejections, found.n_failed)


def _print_rationales(found: ReasonAudit) -> None:
    from ragassay.studies.rationale_tables import build_rationale_sheets, describe_label_agreement

    judges = ", ".join(dict.fromkeys(one.judge for one in found.inputs.reasons))
    headline = f"{len(found.inputs.reasons)} reasons by {judges}"
    print_lines(headline, style="bold")
    print_sheets(*build_rationale_sheets(found.rubrics))
    print_lines(*describe_label_agreement(found.agreement))


@add_options(EvaluateKeywords, "questions", "column_map")
def similarity(
    answers: Path,
    metric: Annotated[list[str] | None, Option(metavar="NAME")] = None,
    where: OnlyWhere = None,
    limit: Annotated[int | None, Option(min=1)] = None,
    embedder: Annotated[str | None, Option(metavar="MODEL")] = None,
    wmd_vectors: Annotated[list[str] | None, Option(metavar="MODEL")] = None,
    wmd_words: Literal["context", "alone"] = "context",
    lower_case: bool = False,
    out: Path | None = None,
    as_json: Json = False,
    **options: Any,
) -> int:
    """Measure the similarity of several systems' answers.

    The answers of each pair of systems to the same questions are compared in both directions, with
    the eight measures of YESciEval (which counts ROUGE-1 and ROUGE-L as one). Each cell is a mean
    over questions with a bootstrap interval. On the diagonal, each text is compared with itself.
    The command requires `pip install 'ragassay[similarity]'`.

    For example:

      ragassay similarity answers.jsonl --out similarity
      ragassay similarity bioasq-train-answers.jsonl.gz --where variant=benign --metric rougeL
      ragassay similarity answers.jsonl --metric wmd --wmd-vectors allenai/scibert_scivocab_uncased
          --wmd-vectors allenai/specter2_base --wmd-words alone

    Options:
        answers: File with answers of several systems.
        metric: Measure to compute: bleu, rouge1, rougeL, meteor, nist, bertscore, wer, wmd or
            moverscore. By default, all measures are computed.
        limit: Compare only the first N questions.
        embedder: Encoder for BERTScore, WMD and MoverScore: a Hugging Face name or a folder. By
            default, all-MiniLM-L6-v2, which is installed with ragassay, is used.
        wmd_vectors: Encoder for word mover's distance, instead of --embedder:
            allenai/scibert_scivocab_uncased, allenai/specter2_base, or a folder. Each encoder gets
            a separate table.
        wmd_words: Word vectors for word mover's distance: vectors of tokens in context, or vectors
            of each word alone, as in YESciEval's code.
        lower_case: Convert all texts to lower case, as YESciEval's code does.
        out: Write similarity.csv, similarity.tex, an SVG heatmap per measure and an overview page
            (index.html) to this folder.
    """
    from ragassay.formats.row_mapping import parse_column_map
    from ragassay.studies.similarity import measure_similarity as compare
    from ragassay.studies.similarity import write_similarity

    need(*EXTRAS["similarity"], *(["matplotlib"] if out else []))
    found = compare(
        answers,
        metric or (),
        where=where or (),
        limit=limit,
        questions=options.get("questions"),
        columns=parse_column_map(options.get("column_map")),
        embedder=embedder or MINILM,
        wmd_vectors=wmd_vectors or (),
        wmd_words=wmd_words,
        lower_case=lower_case,
    )
    notes = [f"token vectors are computed with {found.embedder}"] if found.embedder else []
    print_notes(*(f"note: {note}" for note in (*notes, *found.notes)))
    print_rejections(found.rejections)
    print_matrices(found.matrices, {"embedder": found.embedder} if as_json else None)
    print_written(write_similarity(found, out) if out else ())
    return choose_exit_code(found.rejections)
