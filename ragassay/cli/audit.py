"""`ragassay audit`."""

from __future__ import annotations

from typing import Unpack

from ragassay.cli.base import audit_code
from ragassay.cli.options import AnswersArgument, DryRun, Json, Quiet, Strict, takes
from ragassay.cli.terminal import Terminal
from ragassay.options import AuditKeywords


@takes(AuditKeywords, ending="-audit")
def audit(
    answers: AnswersArgument,
    *,
    strict: Strict = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[AuditKeywords],
) -> int:
    """Find out what a judge can tell, on answers that are damaged on purpose.

    Whole answers are damaged in many ways, each of which should lower certain scores: off-topic
    and informal sentences, lost or shuffled ones, repetition; a changed number, a reversed
    negation; text that addresses the judge. Whole and damaged answers are then judged alike, and
    for each score the judge is trusted, weak or blind.

    The folder holds audit.html, audit.md, audit.json and figures.csv. The same command again
    resumes a stopped audit, and with a larger --limit judges only what is new.

    For example:

      ragassay audit answers.jsonl --judge openai/gpt-4.1-mini
      ragassay audit answers.jsonl --attacks rubric --limit 50
      ragassay audit answers.jsonl --attacks rubric --no-signals --out runs/audit-without
      ragassay audit answers.jsonl --paraphraser openai/gpt-4.1-mini
      ragassay audit bioasq-train-answers.jsonl.gz --given --limit 0

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some answer or
    verdict failed; 4 the judge is blind somewhere, with --strict.
    """
    from ragassay.requests import request_audit

    terminal = Terminal(quiet, as_json, options.get("out"))
    request = request_audit(answers, options, None, terminal)
    result = terminal.run(request, options, dry_run)
    terminal.show_audit(result.audit)
    return audit_code(result.audit, strict, terminal.rejections)
