"""Compiled prompts, put into the agents that they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.agents.base import Agent
from ragassay.errors import SettingsError
from ragassay.prompts.compiled import CompiledPrompt


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
