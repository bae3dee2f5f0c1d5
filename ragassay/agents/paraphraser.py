"""Paraphrase a sentence at needless length, to make answers redundant on purpose."""

from __future__ import annotations

import re
from typing import Annotated

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent
from ragassay.agents.context import fence_mark, fenced
from ragassay.prompts import load_prompts
from ragassay.records import Paraphrase
from ragassay.retrievers.bm25 import tokenize

_MOST_CHARS = load_prompts().agents["paraphraser"].restatement_chars

Restatement = Annotated[str, StringConstraints(pattern=rf"^[A-Za-z0-9].{{8,{_MOST_CHARS}}}$")]

_ABOUT = (
    r"(?:sentence|version|statement|restatement|paraphrase|rewording|rephrasing|rewrite|redundan\w+"
    r"|wordy|wordier|verbose)"
)
_INTRODUCED = re.compile(
    r"\W*(?:(?:sure|certainly|of course|okay|absolutely)\s*[,!.:]"
    rf"|(?:here(?:['\u2019]s| is| are)|below is|this is|the following is)\b[^.]{{0,60}}\b{_ABOUT}\b"
    rf"|(?:an? |the |my )?(?:\w+ ){{0,3}}{_ABOUT}(?: \w+){{0,4}}\s*:)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Restate(dspy.Signature):
    """Say a sentence again."""

    context: str = dspy.InputField()
    restatement: Restatement = dspy.OutputField()


class Paraphraser(Agent):
    """Paraphrases a sentence in more words."""

    name = "paraphraser"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(Restate)

    async def aforward(self, sentence: str) -> Paraphrase:
        """Paraphrase a sentence.

        Args:
            sentence: The sentence, without citation markers.

        Returns:
            The reply; without a text where it is no paraphrase of the sentence, see
            `is_restatement`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        # The sentence is the whole prompt: no question and no sources precede it.
        found, usage = await self.ask(context=fenced(sentence, fence_mark([sentence])))
        text = " ".join(found.restatement.split())
        if is_restatement(text, sentence):
            return Paraphrase(sentence=sentence, text=text, usage=usage)
        return Paraphrase(sentence=sentence, refused=text, usage=usage)


def is_restatement(text: str, sentence: str) -> bool:
    """Return whether a text can be used as a redundant copy of a sentence.

    It cannot if it is empty, the sentence itself, or about itself ("Here is a wordy version"),
    which would reveal the damage; or if it shares no content word with the sentence or has a number
    that the sentence lacks, which would be another kind of damage.

    Args:
        text: The reply, on one line.
        sentence: The sentence to paraphrase.

    Example:
        >>> is_restatement("It was pain that the drug lowered.", "The drug lowered pain.")
        True
        >>> is_restatement("Here is a redundant sentence: pain fell.", "Pain fell.")
        False
    """
    words = re.findall(r"\w+", text.lower())
    if not words or words == re.findall(r"\w+", sentence.lower()) or _INTRODUCED.match(text):
        return False
    if not set(_NUMBER.findall(text)) <= set(_NUMBER.findall(sentence)):
        return False
    content = set(tokenize(sentence))
    return not content or not content.isdisjoint(tokenize(text))
