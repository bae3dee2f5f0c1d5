"""Write a synthesis: the answer to a research question from the abstracts of its papers.

YESciEval's first task, LLMgen (section 2). The prompt is ours; as in the paper the synthesis is one
coherent paragraph that takes everything from the papers and cites them by their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced, source_lines
from ragassay.errors import UnparsableReplyError
from ragassay.prompts import load_prompts
from ragassay.records import Document, Usage


class WriteSynthesis(dspy.Signature):
    """A question and its papers in, the synthesis out."""

    context: str = dspy.InputField()
    words: str = dspy.InputField()
    synthesis: str = dspy.OutputField()


@dataclass(frozen=True)
class WrittenSynthesis:
    """A synthesis as the model wrote it, on one line, and what it cost."""

    text: str
    usage: Usage


class Synthesizer(Agent):
    """Writes the synthesis of a question's papers in one call."""

    name = "synthesizer"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(WriteSynthesis)

    def request(self, question: str, sources: Sequence[Document], words: int = 200) -> Request:
        """Write the synthesis.

        Args:
            question: The research question.
            sources: Its papers, cut to what fits into a prompt; cited by their positions from 1.
            words: About how many words it may have.
        """

        def read(found: dspy.Prediction, usage: Usage) -> WrittenSynthesis:
            text = " ".join(found.synthesis.split())
            if not any(character.isalpha() for character in text):
                raise UnparsableReplyError(f"no synthesis of words in {text[:80]!r}")
            return WrittenSynthesis(text, usage)

        known = load_prompts().context
        mark = fence_mark([question, *(d.title + d.text for d in sources)])
        parts = [known.question, fenced(question, mark)]
        parts += [known.sources, fenced(source_lines(sources), mark)]
        return self.asking(read, context="\n".join(parts), words=str(words))
