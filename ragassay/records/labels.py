"""What people said of answers: the labels that judges are measured against."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen

LabelTask = Literal["accuracy", "relevance", "citation", "nugget", "rubric"]
"""What was asked of the annotator.

- accuracy: whether the answer as a whole is accurate ("yes", "no")
- relevance: whether the answer needs a sentence (`RelevanceLabel`)
- citation: whether a cited document supports the sentence that cites it (`CitationLabel`)
- nugget: whether the answer states a gold nugget (`Assignment`)
- rubric: the rating on a rubric ("1" to "5")
"""


class HumanLabel(Frozen):
    """One label that a person gave.

    The answer that it is about is named by `record_id`, or else by its topic and system.

    Attributes:
        task: What was asked.
        label: What the person said, in our words for it.
        record_id: The answer's id, where the file gives it.
        topic: The question's id.
        system: The system that wrote the answer.
        sentence: 1-based, for relevance and citation.
        item: What else it is about: the cited document's id, the nugget's text, the rubric's name.
        annotator: Who said so; empty where the file does not tell.
    """

    task: LabelTask
    label: str = Field(min_length=1)
    record_id: str | None = None
    topic: str | None = None
    system: str | None = None
    sentence: int | None = Field(default=None, ge=1)
    item: str = ""
    annotator: str = ""
