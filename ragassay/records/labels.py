"""Human labels of answers, against which judges are measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen

OwnTask = Literal["evidence", "correctness", "exam_grade", "relevance_grade"]
"""An evaluator's name: its verdicts are what people are asked about, one by one."""

LabelTask = Literal["accuracy", "relevance", "citation", "nugget", "rubric", "racar", OwnTask]
"""An annotator's task.

- accuracy: whether the answer as a whole is accurate ("yes", "no")
- relevance: whether the answer needs a sentence (`RelevanceLabel`)
- citation: whether a cited document supports the sentence that cites it (`CitationLabel`)
- nugget: whether the answer states a gold nugget (`Assignment`)
- rubric: the rating on a rubric ("1" to "5")
- racar: the rating of a question-answer pair in a dimension of RACAR ("1" to "3")
- evidence: whether a passage that was found supports a sentence (`Verdict`)
- correctness: whether what was found bears a sentence out ("correct", "not_supported")
- exam_grade: how well a passage covers an item of a test bank ("0" to "5"; extracted, "yes", "no")
- relevance_grade: whether a passage is relevant to its query ("yes", "no")"""


class HumanLabel(Frozen):
    """One label that a person gave.

    `record_id`, or else topic and system, identify the answer.

    Attributes:
        task: The annotator's task.
        label: The label, in our words.
        record_id: The answer's id, where the file gives it; for RACAR the pair's.
        topic: The question's id.
        system: The system that wrote the answer.
        sentence: 1-based, for relevance and citation.
        item: The cited document's id, the nugget's text, the name of the rubric or dimension; of an
            evaluator's own task the item of its verdict, such as "2/for/1" or "rating/q1/4f2a".
        annotator: The person's name; empty where unknown.
        reason: Why; empty where unknown.
    """

    task: LabelTask
    label: str = Field(min_length=1)
    record_id: str | None = None
    topic: str | None = None
    system: str | None = None
    sentence: int | None = Field(default=None, ge=1)
    item: str = ""
    annotator: str = ""
    reason: str = ""
