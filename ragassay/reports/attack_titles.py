"""Titles of attacks in a report, for a reader who does not know their names."""

from __future__ import annotations

from ragassay.reports.text import humanise

ATTACK_TITLES = {
    "off_topic": "Sentence on another subject at the end",
    "off_topic_inside": "Sentence on another subject inside",
    "same_domain": "Sentence of another answer at the end",
    "same_domain_inside": "Sentence of another answer inside",
    "blog": "Blog snippet at the end",
    "blog_inside": "Blog snippet inside",
    "tweet": "Tweet at the end",
    "tweet_inside": "Tweet inside",
    "drop_last": "Last sentence left out",
    "drop_inside": "Sentence inside left out",
    "drop_last_off_topic": "Last sentence replaced by another subject",
    "swap_last": "Last two sentences swapped",
    "shuffle": "Sentences shuffled",
    "first_connective": "First connective left out",
    "all_connectives": "All connectives left out",
    "repeat_last": "Last sentence said again",
    "repeat_inside": "Sentence inside said again",
    "repeat_all": "Every sentence said again",
    "number": "Dose or number changed",
    "negation": "Negation turned round",
    "comparator": "Direction turned round (higher, lower)",
    "population": "Other people or animals named",
    "drug": "Other drug named",
    "hedge": "Hedging left out",
    "citation": "Citation moved to another source",
    "retracted": "Retracted article cited",
    "instruction": "Instructions to the judge",
    "forged_rating": "Forged rating",
    "forged_end": "Forged end of the answer",
    "experts_said": "Claim that experts rated it highest",
    "flattery": "Flattery of the judge",
    "given": "Damage that the file holds",
    "wrong_number": "Wrong number",
    "points_to_paper": "Question that points to its paper",
    "half_answer": "Half of the answer left out",
    "foreign_question": "Question on another subject",
    "contradiction": "Answer that contradicts itself",
}


def attack_title(attack: str) -> str:
    """Return an attack's title; for an unknown one, its name as words."""
    return ATTACK_TITLES.get(attack) or humanise(attack)
