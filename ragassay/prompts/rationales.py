"""Reasons for an answer's rating, from which a judge learns in fine-tuning."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import yaml

from ragassay.prompts.texts import prompt_text
from ragassay.records import Mark
from ragassay.records.base import Frozen

MOST_NAMED = 3
"""Most sentences that a reason names: in a longer list a small model loses count."""

HIGH, LOW = 4, 2
"""Ratings from and up to which an undamaged answer is called good or bad."""


class WholeWords(Frozen):
    """Reasons for the rating of an undamaged answer."""

    high: str
    middle: str
    low: str


class Rationales(Frozen):
    """All reasons.

    Attributes:
        verbs: Plurals by singular.
        whole: By rubric.
        damaged: By attack.
        marks: What is wrong with the sentences that an attack inserted, by attack; other sentences
            are fine.
    """

    version: int
    verbs: dict[str, str]
    whole: dict[str, WholeWords]
    damaged: dict[str, str]
    marks: dict[str, Mark]

    def of_whole(self, rubric: str, rating: int) -> str:
        """Return why an undamaged answer got a rating."""
        words = self.whole[rubric]
        return words.high if rating >= HIGH else words.low if rating <= LOW else words.middle

    def of_damaged(self, attack: str, sentences: Sequence[int]) -> str:
        """Return why a damaged answer is rated low.

        Args:
            attack: The attack on it.
            sentences: Numbers of the sentences that were added or changed; may be empty.
        """
        named = numbered(sentences)
        verbs = {one: one if len(sentences) == 1 else more for one, more in self.verbs.items()}
        return self.damaged[attack].format(
            Sentences=named, sentences=named[:1].lower() + named[1:], **verbs
        )


def numbered(sentences: Sequence[int]) -> str:
    """Name sentences by their numbers; of many, the first ones.

    Example:
        >>> numbered([3, 5, 6]), numbered([2, 4, 6, 8])
        ('Sentences 3, 5 and 6', 'Sentences 2, 4, 6 and others')
    """
    named = [str(number) for number in sentences[:MOST_NAMED]]
    named += ["others"] if len(sentences) > MOST_NAMED else []
    *first, last = named or [""]
    return f"Sentences {', '.join(first)} and {last}" if first else f"Sentence {last}"


@functools.cache
def load_rationales() -> Rationales:
    """Load the reasons that the package ships."""
    return Rationales.model_validate(yaml.safe_load(prompt_text("rationales.yaml")))
