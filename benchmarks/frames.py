"""Frames of ours between `ragassay evaluate` and LiteLLM, for one answer and one rubric.

    python benchmarks/frames.py

The command runs as a user types it, against a scripted model. When LiteLLM is called, the stack
is read back to the command: that of the task that calls, then that of whoever started the task,
and so on. Frames of other libraries are counted, and not shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import ragassay

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"
OURS = Path(ragassay.__file__).parent

Stack = list[traceback.FrameSummary]


class Policy(asyncio.DefaultEventLoopPolicy):
    """Has every task remember the stack that it was started on, from the command down."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        factory: Any = started
        loop.set_task_factory(factory)
        return loop


def started(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    task = asyncio.Task(coroutine, loop=loop, **options)
    task.started_by = stack()  # type: ignore[attr-defined]
    return task


def stack() -> Stack:
    """From the command to here, over the tasks between."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    own = traceback.extract_stack()[:-2]
    if task is None:
        return own
    # What lies above the event loop's step is the loop's own stack, the same for all tasks.
    steps = [n for n, frame in enumerate(own) if frame.filename.endswith("asyncio/events.py")]
    return [*getattr(task, "started_by", []), *own[steps[-1] + 1 :]]


def called_with() -> Stack:
    """Run the command; the stack on which LiteLLM is called first."""
    import litellm

    from ragassay.cli import app
    from ragassay.testing import ScriptedModel

    found: list[Stack] = []
    real = litellm.acompletion

    async def acompletion(**given: Any) -> Any:
        found.append(stack())
        return await real(**given)

    litellm.acompletion = acompletion
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as folder:
        answers = str(SAMPLE / "answers.jsonl")
        told = {"--model": "openai/scripted", "--api-base": model.base_url, "--out": folder}
        asked = {"--only": "rubrics", "--rubric": "relevancy", "--limit": "1"}
        options = [word for pair in (told | asked).items() for word in pair]
        app(["evaluate", answers, *options, "--no-signals", "--quiet"], standalone_mode=False)
    return found[0]


def main() -> None:
    asyncio.set_event_loop_policy(Policy())
    frames = called_with()
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(OURS)]
    for number, frame in enumerate(ours, 1):
        print(f"{number:3} {Path(frame.filename).relative_to(OURS)}:{frame.lineno} {frame.name}")
    print(json.dumps({"frames_of_ours": len(ours), "frames_of_all": len(frames)}))


if __name__ == "__main__":
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    sys.exit(main())
