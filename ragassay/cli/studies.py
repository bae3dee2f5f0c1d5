"""`ragassay strategies`, `rationales` and `similarity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import typer
from typer import Argument, Option

from ragassay.cli.base import OK, partial_if
from ragassay.cli.options import AnswersArgument, DryRun, Json, OnlyWhere, Quiet, takes
from ragassay.cli.terminal import (
    print_lines,
    print_matrices,
    print_rejections,
    print_sheets,
    print_written,
)
from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM
from ragassay.options import EvaluateKeywords, settings_of
from ragassay.process import run_sync
from ragassay.runs.progress import shown_progress
from ragassay.safe_text import open_console

if TYPE_CHECKING:
    from ragassay.studies.rationales import ReasonAudit
    from ragassay.studies.similarity import Similarity
    from ragassay.studies.strategies import StrategyStudy


@takes(
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
    """Ask a judge in four ways, mislead it, and measure how stable its ratings are.

    Each answer is rated five times: by the judge's own understanding of a rubric (zero-shot), with
    what the rubric means (knowledge), with two examples besides (few-shot), thinking step by step
    (chain-of-thought), and with knowledge and a made-up rating of an expert that is the opposite of
    people's rating (perturbed). The command shows, for each rubric,

    1. agreement of people and the judge (Krippendorff's alpha), by prompting strategy;

    2. how well people agree with each other, and the judge with itself;

    3. the share of ratings that the made-up rating did not change;

    4. the sentiment of the justifications.

    The two examples are the answers to other questions that people rated best and worst on the
    rubric; if there are none, the rubric's own.

    One judge is asked; for a fine-tuned one, its base model. By default the rubrics are those of
    the file's ratings. Without people's ratings the judge is misled by the opposite of its own
    usual rating.

    The folder has one run for each strategy, and the tables as CSV, LaTeX and Markdown; the
    same command again resumes a stopped run.

    For example:

      ragassay strategies topical_chat.json --limit 60
      ragassay strategies answers.jsonl --judge openai/gpt-4.1-mini --human labels.jsonl

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some rating failed.

    Options:
        human: Ratings by people; by default those in the file of answers.
        inversion: How people's usual rating is inverted to mislead the judge: to the opposite
            end of the scale (extreme), or to its mirror image (mirror: of 1 to 5, 2 becomes 4 and 3
            stays). The paper's equation is not in its published text.
    """
    from ragassay.formats.row_mapping import column_map
    from ragassay.studies.strategies import (
        N_WAYS,
        default_rubric_set,
        read_strategy_job,
        study_strategies,
        write_strategies,
    )

    inputs = read_strategy_job(
        answers,
        human,
        limit=options.get("limit"),
        questions=options.get("questions"),
        columns=column_map(options.get("column_map")),
    )
    options.setdefault("rubric_set", default_rubric_set(inputs.job.answers.format))
    settings = settings_of(options, style="flag")
    folder = Path(options.get("out") or "")
    n_steps = N_WAYS * len(inputs.job.records)
    with shown_progress(n_steps, enabled=not quiet) as listen:
        study = study_strategies(inputs, settings, folder, listen, inversion)
    written = write_strategies(study, folder)
    _show_strategies(study, written, as_json, quiet)
    return partial_if(study.failures, study.rejections, study.n_unscored)


def _show_strategies(
    study: StrategyStudy, written: tuple[Path, ...], as_json: bool, quiet: bool
) -> None:
    from ragassay.reports.labels import one_line

    for note in (*study.how, *study.notes):
        typer.echo(one_line(note), err=True)
    if as_json:
        typer.echo(study.to_json())
    elif not quiet:
        _print_strategies(study)
    print_written(written)


def _print_strategies(study: StrategyStudy) -> None:
    from ragassay.reports.text import count_text
    from ragassay.studies.strategy_tables import strategies_headline, strategy_sheets

    console = open_console()
    headline = strategies_headline(study.judge, study.n_answers, study.n_labels)
    print_lines(headline, style="bold")
    print_sheets(*strategy_sheets(study.rubrics))
    if study.n_unscored:
        console.print(f"{count_text(study.n_unscored, 'rating')} failed", highlight=False)
    print_rejections(study.rejections)


@takes(EvaluateKeywords, "model", "api_base", "limit", "out", "concurrency", "max_rpm", "max_usd")
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

    Without a model, it measures for each rubric: how much of a reason is copied from the rubric,
    whether it names anything from the answer, and whether its sentiment contradicts the rating.

    With --judge (use another model than the one that gave the reasons), each reason is
    also checked by the six criteria of Kim et al. 2023, as YESciEval's authors did by hand: not
    consistent with its score, too general and abstract, overly optimistic, not relevant to the
    response, overly critical, unrelated to the rubric. The model must quote what it finds.

    The folder holds the tables (rationales.csv, rationales.md), every reason with what was found
    (reasons.csv), and sheet.csv, in which people write yes or no; --labels reads it back and shows
    their shares and, with a model, how often both agree. The same command again asks no question
    twice.

    For example:

      ragassay rationales runs/first
      ragassay rationales runs/first --judge openai/gpt-4.1-mini --limit 20
      ragassay rationales runs/first --labels runs/first/rationales/sheet.csv
      ragassay rationales bioasq-train-answers.jsonl.gz --limit 30 --out rationales

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some reason failed.

    Options:
        reasons: Run folder of a judge; or a file of answers whose ratings come with reasons, as
            YESciEval's.
        labels: A sheet.csv that people filled in with yes and no.
        rubric_text: The rubrics that the judge read, if these are not ragassay's: YAML or
            JSON, a text for each name.
    """
    from ragassay.reports.text import count_text
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
    settings = settings_of(options, style="flag") if options.get("model") else None
    with shown_progress(n, settings is not None and not quiet, "checking") as listen:
        found = run_sync(audit_reasons(inputs, settings, folder, labels, listen=listen))
    _show_rationales(found, as_json, quiet)
    print_written(write_reason_audit(found, folder))
    return partial_if(inputs.rejections, found.n_failed)


def _show_rationales(found: ReasonAudit, as_json: bool, quiet: bool) -> None:
    from ragassay.studies.rationale_tables import agreement_lines, rationale_sheets

    if found.inputs.n_without:
        typer.echo(f"ratings without a reason, left out: {found.inputs.n_without}", err=True)
    if found.inputs.note:
        typer.echo(found.inputs.note, err=True)
    if found.n_failed:
        typer.echo(f"reasons that could not be checked: {found.n_failed}", err=True)
    print_rejections(found.inputs.rejections)
    if as_json:
        typer.echo(found.to_json())
        return
    if quiet:
        return

    judges = ", ".join(dict.fromkeys(one.judge for one in found.inputs.reasons))
    headline = f"{len(found.inputs.reasons)} reasons of {judges}"
    print_lines(headline, style="bold")
    print_sheets(*rationale_sheets(found.rubrics))
    print_lines(*agreement_lines(found.agreement))


@takes(EvaluateKeywords, "questions", "column_map")
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
    """Show the similarity of several systems' answers.

    Each system's answers are compared with each other's to the same questions, as references and
    as candidates, by the eight measures of YESciEval (ROUGE-1 and ROUGE-L count as one there). A
    cell is a mean over questions with a bootstrap interval; the diagonal is a text against itself.
    It needs more libraries: pip install 'ragassay[similarity]'.

    For example:

      ragassay similarity answers.jsonl --out similarity
      ragassay similarity bioasq-train-answers.jsonl.gz --where variant=benign --metric rougeL
      ragassay similarity answers.jsonl --metric wmd --wmd-vectors allenai/scibert_scivocab_uncased
          --wmd-vectors allenai/specter2_base --wmd-words alone

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, the rest is compared.

    Options:
        answers: Answers of several systems.
        metric: bleu, rouge1, rougeL, meteor, nist, bertscore, wer, wmd or moverscore; repeat for
            more. By default all.
        limit: Only the first N questions.
        embedder: Encoder behind BERTScore, WMD and MoverScore, by its name on Hugging Face's hub or
            its folder; by default the installed all-MiniLM-L6-v2.
        wmd_vectors: Encoder behind word mover's distance alone, in place of --embedder:
            allenai/scibert_scivocab_uncased, allenai/specter2_base, or a folder. Repeat for more,
            each with a table of its own.
        wmd_words: What word mover's distance takes as a word's vector: that of each token in its
            text, or that of the word read by itself, as YESciEval's program does.
        lower_case: Compare all texts in lower case, as YESciEval's program does.
        out: Write similarity.csv, similarity.tex, a heatmap (SVG) for each measure and a page with
            all of them (index.html) into this folder.
    """
    from ragassay.formats.row_mapping import column_map
    from ragassay.studies.similarity import similarity as compare
    from ragassay.studies.similarity import write_similarity

    need(*EXTRAS["similarity"], *(["matplotlib"] if out else []))
    found = compare(
        answers,
        metric or (),
        where=where or (),
        limit=limit,
        questions=options.get("questions"),
        columns=column_map(options.get("column_map")),
        embedder=embedder or MINILM,
        wmd_vectors=wmd_vectors or (),
        wmd_words=wmd_words,
        lower_case=lower_case,
    )
    _print_similarity(found, as_json)
    print_written(write_similarity(found, out) if out else ())
    return partial_if(found.rejections)


def _print_similarity(found: Similarity, as_json: bool) -> None:

    notes = [f"tokens are compared by {found.embedder}"] if found.embedder else []
    for note in (*notes, *found.notes):
        typer.echo(f"note: {note}", err=True)
    print_rejections(found.rejections)
    print_matrices(found.matrices, {"embedder": found.embedder} if as_json else None)
