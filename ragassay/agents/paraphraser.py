"""Paraphrase a sentence at needless length, to make answers redundant on purpose."""

from __future__ import annotations

import re
from typing import Annotated

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, Request
from ragassay.agents.context import fence_mark, fenced
from ragassay.prompts import load_prompts
from ragassay.records import Paraphrase, Usage
from ragassay.text.numbers import numbers_of
from ragassay.text.words import tokenize

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


class Restate(dspy.Signature):
    """Paraphrase a sentence."""

    context: str = dspy.InputField()
    restatement: Restatement = dspy.OutputField()


class Paraphraser(Agent):
    """Paraphrases a sentence in more words."""

    name = "paraphraser"
    wants_logprobs = False

    def __init__(self) -> None:
        super().__init__(Restate)

    def request(self, sentence: str) -> Request:
        """Say a sentence again.

        What comes of it has no text where the reply cannot stand beside the sentence; see
        `is_restatement`.

        Args:
            sentence: Without citation markers.
        """

        def read(found: dspy.Prediction, usage: Usage) -> Paraphrase:
            text = " ".join(found.restatement.split())
            if is_restatement(text, sentence):
                return Paraphrase(sentence=sentence, text=text, usage=usage)
            return Paraphrase(sentence=sentence, refused=text, usage=usage)

        # The sentence is all there is to see: no question and no sources stand before it.
        return self.asking(read, context=fenced(sentence, fence_mark([sentence])))


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
    if not numbers_of(text) <= numbers_of(sentence):
        return False
    content = set(tokenize(sentence))
    return not content or not content.isdisjoint(tokenize(text))
