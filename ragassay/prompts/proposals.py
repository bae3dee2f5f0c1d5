"""What the writer of new instructions is told."""

from __future__ import annotations

import functools

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen


class ImproveWords(Frozen):
    """How a better instruction is asked for, and the headings of the cases that it is shown."""

    task: str
    case: str
    given: str
    replied: str
    remark: str


class FeedbackWords(Frozen):
    """What is said of a reply. Names in braces stand for what was found and what is right."""

    right: str
    wrong: str
    unusable: str
    at_most: str
    damaged: str
    missed: str
    spare: str
    articles: str
    distance: str


class ProposalWords(Frozen):
    """All of it.

    Attributes:
        again: Added where a model that does not draw at random is to say something else.
        labels: What each label means.
    """

    version: int
    improve: ImproveWords
    again: str
    feedback: FeedbackWords
    labels: dict[str, str]


@functools.cache
def load_proposals() -> ProposalWords:
    """The words that the package ships."""
    return ProposalWords.model_validate(yaml.safe_load(prompt_text("proposals.yaml")))
