"""Words around numbers: which mean one thing, and which say nothing of what is measured."""

from __future__ import annotations

import re
from functools import lru_cache

_CONCEPTS = {
    "enrol": "enrol enroll enrolled randomise randomised randomize randomized recruit recruited "
    "include included comprise comprised assign assigned allocate allocated enrolment enrollment "
    "participated",
    "follow": "follow followed follow-up followup follow-ups last lasted lasts duration",
    "dose": "dose doses dosage dosages dosed take takes took taken receive received receives "
    "give given gave administer administered administration",
    "die": "die died dies death deaths dead fatal fatality mortality",
    "relapse": "relapse relapsed relapses recurrence recurred",
    "respond": "respond responded response responses responder responders",
    "stop": "stop stopped discontinue discontinued discontinuation withdraw withdrew withdrawn",
    "women": "women woman female females",
    "men": "men man male males",
    "child": "child children paediatric pediatric",
    "tumour": "tumour tumours tumor tumors",
    "haemoglobin": "haemoglobin hemoglobin",
    "year": "annual annually yearly",
    "day": "daily",
    "week": "weekly",
    "month": "monthly",
    "weight": "weight weigh weighed weighs",
    "age": "age aged ages",
    "infect": "infection infections infected infect",
    "placebo": "placebo placebos",
}
CONCEPTS = {word: concept for concept, words in _CONCEPTS.items() for word in words.split()}
"""The name of what a word means, by word; "took 5 mg" is a dose as "a dose of 5 mg" is."""

PEOPLE = frozenset(
    "patient particip subject individu person peopl adult volunt respond case popul".split()
)
"""Stems of who is counted: a trial's patients are its participants."""

GENERIC = PEOPLE | frozenset(
    "studi trial group arm cohort sampl total overal altogeth averag mean median percent percentag "
    "proport share number rate risk ratio odd hazard interv confid ci hr or rr n p point "
    "year day week month hour minut second mg kg g ml l mmol mm hg mcg microgram gram "
    "occur seen see report found find observ show shown result had have reach develop "
    "compar respect approxim rough near almost around least most half third quarter fifth tenth "
    "one two three four five six seven eight nine ten twice time fold onc hundr thousand million "
    "lower higher less fewer more greater reduc reduct increas decreas declin fell fall rose rise "
    "drop cut rais lowest highest great differ chang signific statist associ relat adjust absolut "
    "use effect level valu treatment therapi drug medic recommend rang estim accord data "
    "author research analysi review paper articl evid base baselin end first also howev thus "
    "said becam did about up down into out over under onli per each all both other anoth some "
    "made make becom remain use usual common typic general known typical particular well "
    "enrol out-of of follow".split()
)
"""Stems that tell little of what is measured."""

WORD = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W\d_][^\W_]*)*")
SMALL_WORDS = frozenset(
    "a an and are as at be been but by can for from had has have in into is it its may not of on "
    "or our than that the their there these they this those to was we were which who with will "
    "would when where while if after before during per each both between among against within "
    "under over about more less versus vs did does do could should must no nor so such compared "
    "only also".split()
)
"""Words that name nothing."""


DULL = re.compile(rf"{'|'.join(sorted(SMALL_WORDS))}|\w+-?fold", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def stem_of(word: str) -> str:
    """Return the stem of a word, or the name of its concept: "randomised" is to "enrol"."""
    import snowballstemmer

    low = word.lower().removesuffix("'s").removesuffix("\u2019s")
    stem = str(snowballstemmer.stemmer("english").stemWord(low))
    return CONCEPTS.get(low) or CONCEPTS.get(stem) or stem


@lru_cache(maxsize=4_000)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that say what is measured, without generic ones."""
    words = (word for word in WORD.findall(text) if not DULL.fullmatch(word))
    stems = map(stem_of, words)
    return frozenset(stem for stem in stems if stem not in GENERIC and len(stem) > 1)


def word_of(stem: str, text: str) -> str:
    """Return the first word of a text that has a stem; the stem itself where none has."""
    return next((word for word in WORD.findall(text) if stem_of(word) == stem), stem)
