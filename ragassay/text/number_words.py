"""Words around numbers: which mean one thing, and which say nothing of what is measured."""

from __future__ import annotations

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
