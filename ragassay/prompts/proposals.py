"""The prompts of the model that writes new instructions."""

from __future__ import annotations

import functools

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records.base import Frozen


class ImproveWords(Frozen):
    """The request for a better instruction, and the headings of the cases shown."""

    task: str
    case: str
    given: str
    replied: str
    remark: str


class FeedbackWords(Frozen):
    """Feedback on a reply. Names in braces stand for what was found and what is right."""

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
    """All prompts for writing instructions.

    Attributes:
        again: Added where a model that does not sample should say something else.
        labels: The meaning of each label.
    """

    version: int
    improve: ImproveWords
    again: str
    feedback: FeedbackWords
    labels: dict[str, str]


@functools.cache
def load_proposals() -> ProposalWords:
    """Load the texts that the package ships."""
    return ProposalWords.model_validate(yaml.safe_load(prompt_text("proposals.yaml")))
