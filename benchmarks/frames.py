"""List ragassay's stack frames between `ragassay evaluate` and LiteLLM.

    python benchmarks/frames.py

The command evaluates one answer on one rubric, as a user would type it, against a scripted model.
At the first call of LiteLLM, the script reconstructs the stack across tasks: first the calling
task, then the task that started it, up to the command. Frames of other libraries are counted but
not printed.
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
    """Event loop policy that stores the stack on which each task was started."""

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
    """Return the frames from the command to the caller, across tasks."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    frames = traceback.extract_stack()[:-2]
    if task is None:
        return frames
    # Frames outside the event loop's step belong to the loop and are the same for all tasks.
    steps = [n for n, frame in enumerate(frames) if frame.filename.endswith("asyncio/events.py")]
    return [*getattr(task, "started_by", []), *frames[steps[-1] + 1 :]]


def called_with() -> Stack:
    """Run the command, and return the stack of the first LiteLLM call."""
    import litellm

    from ragassay.cli import app
    from ragassay.testing import ScriptedModel

    found: list[Stack] = []
    real = litellm.acompletion

    async def acompletion(**options: Any) -> Any:
        found.append(stack())
        return await real(**options)

    litellm.acompletion = acompletion
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as folder:
        answers = str(SAMPLE / "answers.jsonl")
        connection = {"--model": "openai/scripted", "--api-base": model.base_url, "--out": folder}
        selection = {"--only": "rubrics", "--rubric": "relevancy", "--limit": "1"}
        options = [word for pair in (connection | selection).items() for word in pair]
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
