"""Several judges of one answer: where they are far apart, each hears the others once."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.agents.answer_reader import shown_lines
from ragassay.graphs.state import State, Task
from ragassay.graphs.tasks import rubric_tasks
from ragassay.graphs.toolbox import Toolbox
from ragassay.metrics.panel import is_disputed, panel_judgments
from ragassay.prompts import load_prompts
from ragassay.records import Case, Failure, Judgment, Signals


def confer_tasks(
    case: Case, judgments: Sequence[Judgment], tools: Toolbox, signals: Signals | None = None
) -> list[Task]:
    """One task for each member of a disputed rubric that gave a rating.

    What was rated by signals, or by a fine-tuned judge, is heard by the others, and hears nobody:
    it would rate the same.

    Args:
        case: The answer.
        judgments: What the judges said alone.
        tools: Know who rates by signals.
        signals: What was measured of the answer.
    """
    by_rubric: dict[str, dict[str, Judgment]] = {}
    for judgment in judgments:
        if judgment.judge:
            by_rubric.setdefault(judgment.rubric, {})[judgment.judge] = judgment
    tasks: list[Task] = []
    for rubric, said in sorted(by_rubric.items()):
        rated = [said[judge] for judge in sorted(said) if said[judge].rating is not None]
        if not is_disputed(rated):
            continue
        for one in rated:
            if tools.is_tuned(one.judge) or (
                signals is not None and not tools.listens(one.judge, rubric)
            ):
                continue
            others = others_text([other for other in rated if other is not one])
            task = Task(
                "confer",
                case,
                rubric=rubric,
                judge=one.judge,
                others=others,
                first=one,
                signals=signals,
            )
            tasks.append(task)
    return tasks


def n_rating_calls(case: Case, tools: Toolbox) -> int:
    """How many calls the rubrics of an answer take at most: twice as many where a panel may confer.

    What is rated by signals takes none; a fine-tuned judge also reads each sentence.
    """
    tasks = rubric_tasks(case, tools.rubrics, tools.judges)
    n_asked = sum(tools.asks(task.judge, task.rubric) for task in tasks)
    n_read = len(tools.readers) * len(shown_lines(case)) if tasks else 0
    return n_read + (2 * n_asked if tools.judges else n_asked)


def others_text(others: Sequence[Judgment]) -> str:
    """What other judges said, a line each: rating, sentences, reason; never who they are.

    A name would weigh more than a reason. The text is a model's and as untrusted as what it was
    made of: the rubric judge shows it fenced.
    """
    return "\n".join(f"{n}. {_said(other)}" for n, other in enumerate(others, 1))


def _said(judgment: Judgment) -> str:
    words = load_prompts().panel
    low, high = judgment.scale
    said = [words.rating.format(rating=judgment.rating, low=low, high=high)]
    if judgment.sentences:
        said.append(words.sentences.format(numbers=", ".join(map(str, judgment.sentences))))
    if judgment.rationale:
        said.append(words.reason.format(reason=" ".join(judgment.rationale.split())))
    return " ".join(said)


def unheard(task: Task, failure: Failure) -> Judgment:
    """A member that could not be heard again: what it said first still counts."""
    return Judgment(
        rubric=task.rubric,
        scale=task.first.scale if task.first else (1, 5),
        judge=task.judge,
        first=task.first,
        failure=failure,
    )


def joint_judgments(state: State, rubrics: Sequence[str], tools: Toolbox) -> list[Judgment]:
    """What the panel came to on each rubric; the judge's own judgments where one rates alone.

    Raises:
        RagassayError: A member has no judgment on a rubric: the evaluation was broken off.
    """
    if not tools.judges or not state.judgments:
        return state.judgments
    return panel_judgments(state.judgments, rubrics, tools.judges)
