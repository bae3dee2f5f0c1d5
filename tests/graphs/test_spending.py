"""Every call that was paid for is on the bill, under the part that it was made for."""

from __future__ import annotations

from pathlib import Path

import pytest
from casefiles import build_word_run

from ragassay.evaluators.base import Run
from ragassay.models.call_reply import compute_unbooked_usage
from ragassay.records import FAILED_CALLS, Document, Record, Usage
from ragassay.reports.run_sheets import build_cost_sheet
from ragassay.reports.sheets import list_sheet_rows
from ragassay.runs.evaluate import RunResult, build_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.testing import Fault, ScriptedModel

PRICED = "openai/gpt-4.1-mini"
"""A name that LiteLLM knows the price of."""

RECORDS = tuple(
    Record(
        id=f"r{n}",
        question=f"Does drug {n} lower blood pressure?",
        answer=f"Drug {n} lowers blood pressure by 5 mmHg [1]. Some patients cough [2].",
        reference=f"Drug {n} lowers blood pressure. It makes some patients cough.",
        sources=(
            Document(id="11", title="Trial", text=f"Drug {n} lowered blood pressure by 5 mmHg."),
            Document(id="12", title="Safety", text="Cough was seen in some patients."),
        ),
    )
    for n in range(3)
)


async def judged(model, folder: Path | None = None, **options) -> tuple[RunResult, Run]:
    base = {"rubrics": ("cohesion", "relevancy"), "signals": False, "verifier": "judge"} | options
    run = build_word_run(model=PRICED, api_base=model.base_url, **base)
    result = await run_job(build_job(RECORDS, None), run, RunFolder(folder) if folder else None)
    return result, run


def check_bill(result: RunResult, run: Run, model: ScriptedModel) -> None:
    """The parts add up to the sum, and the sum is what the server and the limiter counted."""
    summary = result.summary
    assert sum(summary.usage_by_part.values(), Usage()).n_calls == summary.usage.n_calls
    parts = [usage.cost_usd or 0.0 for usage in summary.usage_by_part.values()]
    assert sum(parts) == pytest.approx(summary.usage.cost_usd)
    assert summary.usage.cost_usd == pytest.approx(run.limiter.spent_usd)
    n_paid = sum(request.status == 200 for request in model.requests)
    assert summary.usage.n_calls == n_paid


@pytest.mark.parametrize(
    "options",
    [
        {"only": ("rubrics",)},
        {"only": ("rubrics", "citations", "nuggets", "sentences")},
        {"only": ("citations",), "citation_evidence": "nuggets"},
        {"only": ("correctness",)},
        {"only": ("evidence", "citations", "nuggets")},
        {"only": ("rubrics",), "panel": ("openai/gpt-4.1-nano",)},
    ],
    ids=lambda options: "-".join(str(v) for v in options.values()),
)
async def test_the_parts_of_a_bill_add_up_to_what_was_paid(make_model, options):
    model = make_model()
    result, run = await judged(model, **options)
    check_bill(result, run, model)


@pytest.mark.parametrize("kind", ["junk", "refusal", "truncated", "content_filter"])
@pytest.mark.parametrize("attempts", [1, None], ids=["once", "always"])
async def test_a_call_that_was_paid_and_gave_no_verdict_is_on_the_bill(make_model, kind, attempts):
    model = make_model(faults=[Fault(kind, attempts=attempts)])
    result, run = await judged(model, only=("rubrics", "citations"))
    check_bill(result, run, model)
    if kind == "refusal":
        assert result.summary.usage_by_part[FAILED_CALLS].cost_usd > 0


async def test_a_resumed_run_has_the_same_bill(make_model, tmp_path):
    model = make_model()
    first, _ = await judged(model, tmp_path, only=("rubrics", "citations"))
    n_asked = model.n_requests
    again, run = await judged(model, tmp_path, only=("rubrics", "citations"))
    assert model.n_requests == n_asked
    assert again.summary.usage_by_part == first.summary.usage_by_part
    assert run.limiter.spent_usd == pytest.approx(first.summary.usage.cost_usd)


async def test_the_bill_as_a_table_adds_up(make_model):
    result, _ = await judged(make_model(), only=("rubrics", "citations"))
    *parts, whole = list_sheet_rows(build_cost_sheet(result.summary))
    assert [row["part"] for row in parts] == ["Rubrics", "Citations"]
    for column in ("n_calls", "n_sent", "usd"):
        assert sum(row[column] for row in parts) == pytest.approx(whole[column])


async def test_no_table_where_nothing_was_called():
    result = await run_job(build_job(RECORDS, None), build_word_run(only=("citations",)), None)
    assert build_cost_sheet(result.summary).rows == ()


FIRST = Usage(n_calls=1, n_prompt_tokens=10, n_completion_tokens=2, cost_usd=0.5)


@pytest.mark.parametrize(
    ("paid", "booked", "failed"),
    [
        (FIRST + FIRST, FIRST, FIRST),
        (FIRST, FIRST, Usage()),
        (FIRST, Usage(), FIRST),
        # A verdict may count what an earlier start has paid.
        (FIRST, FIRST + FIRST, Usage()),
        (Usage(n_calls=1, cost_usd=None), Usage(), Usage(n_calls=1, cost_usd=None)),
    ],
)
def test_calls_that_were_paid_and_counted_nowhere(paid, booked, failed):
    assert compute_unbooked_usage(paid, booked) == failed
