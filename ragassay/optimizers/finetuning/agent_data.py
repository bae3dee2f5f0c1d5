"""What an agent is fine-tuned on: its own prompts, with the replies that are right."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ragassay.agents.base import ADAPTER, Agent
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.student import rendered
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Rejection


def agent_examples(
    task: CompileTask, paths: Sequence[Path]
) -> tuple[list[ChatExample], list[Rejection]]:
    """Every item of the files as the agent asks it, with its right reply.

    Args:
        task: The agent, and how its data is read; also what `ragassay optimize` compiles it on.
        paths: Files in the task's form.

    Returns:
        Examples, and the lines that could not be read.

    Raises:
        InputError: A file cannot be read.
    """
    agent = task.make_agent()
    results = [task.read(path) for path in paths]
    items = [item for result in results for item in result.items]
    return (
        asyncio.run(_asked(agent, items)),
        [rejection for result in results for rejection in result.rejections],
    )


async def _asked(agent: Agent, items: Sequence[CompileItem]) -> list[ChatExample]:
    signature = agent.predict.signature  # pyright: ignore[reportAttributeAccessIssue]
    return [
        ChatExample(
            messages=as_messages(ADAPTER.format(signature, [], await rendered(agent, item))),
            reply=as_reply(item.reply),
            group=item.group,
            kind=str(item.right),
        )
        for item in items
    ]
