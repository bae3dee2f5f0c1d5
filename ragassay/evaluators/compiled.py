"""Compiled prompts, put into the agents that they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.agents.base import Agent
from ragassay.errors import SettingsError
from ragassay.prompts.compiled import CompiledPrompt
from ragassay.settings import Settings


def use_compiled(
    compiled: Sequence[CompiledPrompt],
    agents: Sequence[Agent],
    rubrics: Sequence[str] = (),
    unasked: Mapping[str, str] | None = None,
) -> None:
    """Have agents say what was compiled for them.

    Args:
        compiled: Any number; what an agent says already may be said again.
        agents: Those of a run.
        rubrics: Names of the rubrics that there are; empty for those of any run.
        unasked: Prompts that this run does not say to a model, and why.

    Raises:
        SettingsError: A prompt is for none of the agents, for a rubric that there is not, or would
            not be said.
    """
    by_prompt = {agent.prompt: agent for agent in agents}
    for prompt in compiled:
        agent = by_prompt.get(prompt.agent)
        if agent is None:
            raise SettingsError(
                f"a compiled prompt is for {prompt.agent!r}, which this run does not have; there "
                f"are {', '.join(by_prompt)}"
            )
        strange = [name for name in prompt.rubrics if rubrics and name not in rubrics]
        if strange:
            raise SettingsError(
                f"a compiled prompt is for the rubric {strange[0]!r}; there is none"
            )
        if why := (unasked or {}).get(prompt.agent):
            raise SettingsError(f"the compiled prompt of {prompt.title} would not be said: {why}")
        agent.use(prompt)


def agents_left_out(settings: Settings) -> dict[str, str]:
    """Return the agents that no evaluator of a run asks, by their names, and what to change.

    Args:
        settings: Those of the run.
    """
    writes = settings.evaluation.wants("nuggets") or settings.cites_by_nuggets
    verifies = settings.evaluation.wants("citations") or settings.evaluation.verifies_evidence
    looks = settings.evaluation.looks_for_evidence
    rules = (
        ("rubric_judge", settings.evaluation.wants("rubrics"), _lacking("rubrics")),
        ("sentence_labeller", settings.evaluation.wants("sentences"), _lacking("sentences")),
        ("nugget_assigner", settings.evaluation.wants("nuggets"), _lacking("nuggets")),
        ("nugget_writer", writes, _lacking("nuggets")),
        (
            "nugget_writer",
            settings.nuggets.nugget_unit == "sentence",
            "nuggets are listed of the whole answer; set nugget_unit to sentence",
        ),
        ("verifier", verifies, _lacking("citations")),
        ("query_writer", looks, _lacking("evidence")),
        (
            "query_writer",
            settings.retrieval.evidence == "search",
            "an agent searches in its place; take --evidence search",
        ),
    )
    return {agent: why for agent, is_asked, why in reversed(rules) if not is_asked}


def _lacking(part: str) -> str:
    return f"the run leaves out {part}; add {part} to --only"
