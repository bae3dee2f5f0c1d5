"""`ragassay audit`."""

from __future__ import annotations

from typing import Unpack

from ragassay.cli.base import choose_audit_exit_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, Quiet, Strict, add_options
from ragassay.cli.presenter import Terminal
from ragassay.options import AuditKeywords


@add_options(AuditKeywords, ending="-audit")
def audit(
    answers: AnswersArgument,
    *,
    strict: Strict = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[AuditKeywords],
) -> int:
    """Perturb answers to test which errors a judge notices.

    Each attack perturbs an answer in a way that should lower certain scores: off-topic or informal
    sentences, missing, shuffled or repeated sentences, changed numbers, reversed negations, or
    instructions to the judge. The judge scores the original and the perturbed answers, and is
    classified as trusted, weak or blind for each score.

    The output folder contains audit.html, audit.md, audit.json and figures.csv. Run the same
    command again to resume a stopped audit, or with a larger --limit to add answers.

    For example:

      ragassay audit answers.jsonl --judge openai/gpt-4.1-mini
      ragassay audit answers.jsonl --attacks rubric --limit 50
      ragassay audit answers.jsonl --paraphraser openai/gpt-4.1-mini
      ragassay audit bioasq-train-answers.jsonl.gz --use-perturbed --limit 0

    Exit codes: 0 success; 1 error; 2 usage error; 3 some input was rejected, or some answer or
    verdict failed; 4 with --strict, the judge is blind for some score.
    """
    from ragassay.requests import request_audit

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_audit(answers, options, None, terminal)
    result = terminal.run(request, options, dry_run)
    terminal.show_audit(result.audit)
    return choose_audit_exit_code(result.audit, strict, terminal.rejections)
