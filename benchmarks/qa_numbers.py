"""Measure detection of wrong numbers and context-dependent wording in question-answer pairs.

    python benchmarks/qa_numbers.py --shared ../shared

No model is used. Numbers are tested on SciQAG (35 papers with 350 published pairs) and on BioASQ's
answers, with the gold snippets as the source. The criteria for "near" were fixed before BioASQ's
answers were read.

- found: answer numbers that occur in the source (equation 2), compared as quantities and as digit
  strings.
- planted: in answers with all numbers found, each number is replaced by a wrong one in every
  applicable way. "Elsewhere" checks only whether the number occurs. "Near" also checks its unit and
  nearby words. A wrong number that occurs by chance still counts as planted.
- accused: original numbers of the same answers that are reported as wrong.

Context: half of the templates were held back until the rules were final. Questions that need no
context are the SciQAG questions that a reader found self-contained, and all of BioASQ's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.metrics.papers.sciqag import (
    SourceNumbers,
    check_answer_numbers,
)
from ragassay.metrics.stats.intervals import compute_share_interval
from ragassay.perturbations.numbers import WRONG
from ragassay.records.qa import AnswerNumber
from ragassay.text.quantities import read_quantities
from ragassay.text.questions import find_context_marks

SEEDS = (0, 1, 2)

# Paper and question indices, starting at 0. A reader found that these questions need their paper.
# The rules mark all of them except one.
DEPENDENT = frozenset(
    "0.2 0.3 0.6 1.2 1.8 2.9 4.2 4.3 5.0 5.1 5.6 5.7 5.9 7.2 7.7 9.0 9.2 9.4 9.8 9.9 11.0 11.3 "
    "14.1 14.2 16.9 17.3 17.9 18.3 18.9 19.8 20.5 20.9 21.0 21.3 21.4 22.9 23.4 23.5 24.5 24.9 "
    "26.0 26.1 26.7 27.2 28.2 29.5 29.9 30.6 30.7 30.8 31.3 31.4 31.5 32.3 32.7 32.9 33.1 33.3 "
    "33.5 33.6 33.8".split()
)

TRIED = (
    "What can we say about the effect of {topic} from Figure {number}?",
    "{stem} in this paper?",
    "According to the authors, {question}",
    "What do the authors conclude about {topic}?",
    "{stem} in this study?",
    "What is shown in Table {number} about {topic}?",
    "In this work, {question}",
    "How does the proposed method handle {topic}?",
    "What did we find about {topic}?",
    "As described above, {question}",
    "Why were these results for {topic} surprising?",
    "Based on the text, {question}",
    "Which advantages of {topic} does the study report?",
    "What is our approach to {topic}?",
    "{stem} (see Fig. {number}a)?",
)
HELD_BACK = (
    "How does the paper define {topic}?",
    "What is the main finding of the present study on {topic}?",
    "{stem}, as shown in Fig. {number}b?",
    "What was the aim of the article with regard to {topic}?",
    "Which limitations of {topic} do the researchers mention?",
    "How many samples of {topic} were used in our experiments?",
    "In the current investigation, {question}",
    "What is the purpose of Equation {number} for {topic}?",
    "{stem} according to the passage?",
    "What does the aforementioned approach to {topic} require?",
    "What is discussed in Section {number} about {topic}?",
    "How was the above problem of {topic} solved?",
    "{stem} in the experiments reported here?",
    "Which result on {topic} does the manuscript highlight?",
    "What do these findings mean for {topic}?",
    # Written after the rules were final. The rules were never adjusted to these.
    "What does the paper's introduction say about {topic}?",
    "Which of the authors' hypotheses concerns {topic}?",
    "How is {topic} treated in the present article?",
    "What is the take-home message of this review on {topic}?",
    "Judging from the data in Fig. {number}, {question}",
    "{stem}, according to the study's results?",
    "What do the authors recommend for future work on {topic}?",
    "What question about {topic} does this research try to answer?",
    "Which samples were excluded from the study of the authors on {topic}?",
    "What was unexpected about {topic} in our results?",
    "As reported in Table {number}, {question}",
    "How was {topic} handled in the experiment described in the text?",
    "What is the significance of the proposed framework?",
    "Why do the researchers consider {topic} important?",
    "What is presented in the article about {topic}?",
)


@dataclass(frozen=True)
class Answered:
    """A question, its answer, and the source text of the answer."""

    id: str
    question: str
    answer: str
    source: str
    topic: str = ""


@dataclass(frozen=True)
class Planted:
    """An answer with a wrong number, its method and its position."""

    way: str
    answer: str
    start: int
    end: int


def sciqag_answers(shared: Path) -> list[Answered]:
    found: list[Answered] = []
    for n, paper in enumerate(_lines(shared / "data/sciqag/papers.jsonl.gz")):
        for k, pair in enumerate(paper["Q&A"]):
            topic = paper["keywords"][k % len(paper["keywords"])]
            found.append(Answered(f"{n}.{k}", pair["Q"], pair["A"], paper["txt"], topic))
    return found


def bioasq_answers(shared: Path) -> list[Answered]:
    folder = shared / "data/bioasq"
    texts = {one["pmid"]: one["text"] for one in _lines(folder / "snippet_documents.jsonl.gz")}
    return [
        Answered(
            one["id"],
            one["question"],
            next(iter(one["ideal_answer"]), ""),
            "\n\n".join(texts[pmid] for pmid in one["pmids"] if pmid in texts),
        )
        for one in _lines(folder / "questions.jsonl.gz")
    ]


def _lines(path: Path) -> list[dict]:  # type: ignore[type-arg]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Checked:
    """Answers with their numbers looked up in the sources."""

    def __init__(self, answers: Sequence[Answered]) -> None:
        self.answers = answers
        self.sources = {
            text: SourceNumbers.from_text(text) for text in {one.source for one in answers}
        }
        self.numbers = [self.look_up(one, one.answer) for one in answers]

    def look_up(self, one: Answered, answer: str) -> tuple[AnswerNumber, ...]:
        return check_answer_numbers(answer, self.sources[one.source])

    def whole(self) -> list[tuple[Answered, tuple[AnswerNumber, ...]]]:
        """Return the answers that have numbers, all of them found."""
        both = zip(self.answers, self.numbers, strict=True)
        return [(one, found) for one, found in both if found and all(n.is_found for n in found)]

    def planted(self, seed: int) -> Iterator[tuple[Answered, Planted]]:
        """Yield each number of these answers replaced in every applicable way."""
        whole = self.whole()
        for one, found in whole:
            quantities = {q.start: q for q in read_quantities(one.answer)}
            own = {q.value for q in quantities.values()}
            for number in found:
                rng = random.Random(f"{seed}/{one.id}/{number.start}")
                edits = {
                    name: way(one.answer, quantities[number.start], rng)
                    for name, way in WRONG.items()
                }
                elsewhere = rng.choice(whole)[0].source
                for name, text in (("of the paper", one.source), ("of another", elsewhere)):
                    others = [q for q in self.sources[text].all if q.value not in own]
                    if others:
                        other = rng.choice(others)
                        edits[name] = (number.start, number.end, text[other.start : other.end])
                for name, edit in edits.items():
                    if edit:
                        yield one, _edited(name, one.answer, number, edit)

    def found_wrong(self, one: Answered, planted: Planted) -> tuple[bool, bool]:
        """Return whether a planted number is reported as absent, and whether as not near."""
        hit = [
            number
            for number in self.look_up(one, planted.answer)
            if number.start < planted.end and number.end > planted.start
        ]
        return any(not n.is_found for n in hit), any(not n.is_near for n in hit)


def _edited(name: str, answer: str, number: AnswerNumber, edit: tuple[int, int, str]) -> Planted:
    start, end, new = edit
    longer = len(new) - (end - start) if start < number.end else 0
    return Planted(name, answer[:start] + new + answer[end:], number.start, number.end + longer)


def digits_found(answers: Sequence[Answered]) -> tuple[int, int]:
    """Return how many digit strings of the answers occur in the source, and the total."""
    strings = [(n, one.source) for one in answers for n in _DIGITS.findall(one.answer)]
    return sum(number in source for number, source in strings), len(strings)


_DIGITS = re.compile(r"\d+(?:\.\d+)?")


def planted_questions(
    answers: Sequence[Answered], templates: Sequence[str], seed: int = 0
) -> list[tuple[str, str]]:
    """Return pairs of a template and the template filled from a self-contained question."""
    found: list[tuple[str, str]] = []
    for one in answers:
        rng = random.Random(f"{seed}/{one.id}")
        template, question = rng.choice(templates), one.question
        lowered = question if question[1:2].isupper() else question[0].lower() + question[1:]
        text = template.format(
            topic=one.topic,
            number=rng.randint(1, 9),
            question=lowered,
            stem=question.rstrip("? "),
        )
        found.append((template, text))
    return found


def share(n_hits: int, n: int) -> str:
    low, high = compute_share_interval(n_hits, n) or (0.0, 1.0)
    return f"{n_hits / max(n, 1):7.1%}  {n_hits:5d} of {n:5d}  [{low:.1%}, {high:.1%}]"


def show_numbers(name: str, answers: Sequence[Answered]) -> None:
    checked = Checked(answers)
    stated = [bool(own) for own in checked.numbers]
    found = [one.is_found for own in checked.numbers for one in own]
    print(f"\n## Numbers of {name}")
    with_digit = sum(any(c.isdigit() for c in one.answer) for one in answers)
    print(f"answers with a digit                 {share(with_digit, len(answers))}")
    print(f"answers with numbers                 {share(sum(stated), len(stated))}")
    print(f"found, as quantities                 {share(sum(found), len(found))}")
    print(f"found, as strings of digits          {share(*digits_found(answers))}")
    right = [number for _, numbers in checked.whole() for number in numbers]
    n_accused = sum(not number.is_near for number in right)
    print(f"right ones accused, near             {share(n_accused, len(right))}")
    hits: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for seed in SEEDS:
        for one, planted in checked.planted(seed):
            hits[planted.way].append(checked.found_wrong(one, planted))
    hits["all"] = [pair for pairs in list(hits.values()) for pair in pairs]
    for way, pairs in hits.items():
        for column, title in ((0, "elsewhere"), (1, "near")):
            n_hits = sum(pair[column] for pair in pairs)
            print(f"planted: {way:13s} found, {title:9s}  {share(n_hits, len(pairs))}")


def show_context(sciqag: Sequence[Answered], bioasq: Sequence[Answered]) -> None:
    print("\n## Words that need the paper")
    whole = [one for one in sciqag if one.id not in DEPENDENT]
    for title, templates in (("tried", TRIED), ("held back", HELD_BACK)):
        planted = planted_questions(whole, templates)
        missed = [template for template, text in planted if not find_context_marks(text, "")]
        print(
            f"planted, {title:9s} found          {share(len(planted) - len(missed), len(planted))}"
        )
        for template, n in Counter(missed).most_common():
            print(f"    missed {n}: {template}")
    needing = [one for one in sciqag if one.id in DEPENDENT]
    for title, some in (
        ("SciQAG, needing the paper, found", needing),
        ("SciQAG, whole, accused", whole),
        ("BioASQ, whole, accused", bioasq),
    ):
        print(f"{title:33s}    {share(sum(map(_is_marked, some)), len(some))}")
    n_answers = sum(bool(find_context_marks("", one.answer)) for one in sciqag)
    print(f"SciQAG, answers with a mark          {share(n_answers, len(sciqag))}")


def _is_marked(one: Answered) -> bool:
    return bool(find_context_marks(one.question, ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    shared = os.environ.get("RAGASSAY_SHARED", "../shared")
    parser.add_argument("--shared", type=Path, default=Path(shared))
    folder = parser.parse_args().shared
    sciqag, bioasq = sciqag_answers(folder), bioasq_answers(folder)
    show_numbers("SciQAG", sciqag)
    show_numbers("BioASQ", [one for one in bioasq if one.source])
    show_context(sciqag, bioasq)


if __name__ == "__main__":
    main()
