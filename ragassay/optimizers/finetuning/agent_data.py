"""An agent's training data: its own prompts with the right replies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragassay.agents.base import ADAPTER, Agent
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Rejection


def agent_examples(
    task: CompileTask, paths: Sequence[Path]
) -> tuple[list[ChatExample], list[Rejection]]:
    """Return every item of the files as the agent's prompt with the right reply.

    Args:
        task: The agent and the reader of its data, as for `ragassay optimize`.
        paths: Files in the task's form.

    Returns:
        The examples, and the unreadable lines.

    Raises:
        InputError: A file cannot be read.
    """
    agent = task.make_agent()
    results = [task.read(path) for path in paths]
    return (
        [_example(agent, item) for result in results for item in result.items],
        [rejection for result in results for rejection in result.rejections],
    )


def _example(agent: Agent, item: CompileItem) -> ChatExample:
    asked = agent.request(*item.arguments)
    return ChatExample(
        messages=as_messages(ADAPTER.format(asked.signature, [], asked.inputs)),
        reply=as_reply(item.reply),
        group=item.group,
        kind=str(item.right),
    )
