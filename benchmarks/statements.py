"""Measure how well answers are split into statements, compared with ExpertQA's claims.

    python benchmarks/statements.py --shared ../shared
    python benchmarks/statements.py --shared ../shared --show 20 --system bing_chat
    python benchmarks/statements.py --shared ../shared --findings --limit 40 --show 20

ExpertQA (dev) contains answers of six systems. Experts split each answer into claims, usually
sentences, and listed the citation marks of each. `ragassay.text.segmenter.segment` splits the same
answer into statements. The first table counts the claims that are recovered as statements:

- A claim is copied from its answer, so its position is known. Its statements are those that overlap
  the claim.
- found: the statements contain the claim's words in order, or at least nine tenths of the words if
  a list mark or heading interrupts them. Words are compared in lower case, without citation marks,
  list marks and emphasis.
- whole, split, merged: found as one statement with the same words, as several statements (such as
  list items), or in statements that also contain other words.
- with marks: found, and the statements have the same citation marks as the claim, resolved or not.
  If statements overlap other claims, the marks of these claims are also allowed.

Five claims in the file lack marks that are in their text ("[2,5]", "Africa[49]"), so 100 % cannot
be reached there.

The second table counts statements and their defects:

- joined: contains words of two or more claims.
- list mark: begins or ends with the number or dash of a list item.
- markup: contains emphasis, a link, a table rule or HTML.
- short: has fewer than three alphabetic words, such as a heading, "References:" or "1.".
- unclaimed: overlaps no claim, although claims follow. Experts left out the end of some answers, so
  statements after the last claim are counted separately as "behind".

With --findings, `ragassay.evaluate` evaluates the answers without a judge, which takes some seconds
per answer. The third table counts leading findings by kind and message. Numbers and quotations are
removed from the messages so that similar findings are grouped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ragassay
from ragassay.records import AnswerSentence, Document, Record
from ragassay.text.segmenter import segment

ENOUGH_WORDS = 0.9
"""Minimum share of a claim's words that its statements must contain."""

STATEMENT_COLUMNS = ("joined", "list mark", "markup", "short", "unclaimed", "behind")

CITATION = re.compile(r"\[\d{1,3}(?:, ?\d{1,3}){0,9}\]")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+\u2022\u2013][ \t]|\(?(?:\d{1,2}|[a-z])[.)](?=\s|$))", re.M)
_LIST_EDGE = re.compile(
    r"(?:[-*+\u2022\u2013]\s|\(?\d{1,2}[.)]\s).*|.*(?:[.:!?]\s\d{1,2}[.)]|\s[-*+\u2022\u2013])|\d{1,2}[.)]",
    re.DOTALL,
)
_MARKUP = re.compile(r"\*\*|\]\(|<[a-z/]|\|\s*-{3}|^#{1,6}\s", re.M)
_QUOTED = re.compile(r"'[^']{1,200}'|\"[^\"]{1,200}\"")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Claim:
    """An expert's claim and its position in the answer."""

    start: int
    end: int
    words: tuple[str, ...]
    marks: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """An answer with the experts' claims and our statements.

    Attributes:
        found: "whole", "split", "merged", "missed" or "no words" for each claim.
        has_marks: Whether the statements of each claim have its marks.
    """

    record: Record
    answer: str
    claims: tuple[Claim, ...]
    statements: tuple[AnswerSentence, ...]
    found: tuple[str, ...]
    has_marks: tuple[bool, ...]


def read_answers(shared: Path) -> Iterator[tuple[Record, list[dict[str, object]]]]:
    """Yield the answers of ExpertQA dev as records, with the claims from the file."""
    path = shared / "data" / "expertqa" / "dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            sources = [Document(id=one["id"], text=one["text"]) for one in row["sources"]]
            record = Record(
                id=row["id"],
                question=row["question"],
                answer=row["answer"],
                sources=tuple(sources),
                system=row["system"],
            )
            yield record, row["claims"]


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without citation marks."""
    return tuple(_WORD.findall(CITATION.sub(" ", text).lower()))


def locate_claims(answer: str, rows: Iterable[dict[str, object]]) -> list[Claim]:
    """Return the claims with their positions in an answer.

    Whitespace is ignored because it differs between the claims and the answer.
    """
    positions = [i for i, c in enumerate(answer) if not c.isspace()]
    bare = "".join(answer[i] for i in positions)
    readable = CITATION.sub(_blank, _LIST_MARK.sub(_blank, answer))
    claims: list[Claim] = []
    position = 0
    for row in rows:
        needle = "".join(str(row["claim"]).split())
        start = bare.find(needle, position)
        start = start if start >= 0 else bare.find(needle)
        if start < 0 or not needle:
            raise ValueError(f"the claim {row['claim']!r} is not in its answer")
        position = start + len(needle)
        claims.append(
            claim_between(positions[start], positions[position - 1] + 1, readable, row["markers"])
        )
    return claims


def claim_between(start: int, end: int, readable: str, marks: object) -> Claim:
    """Return the claim at a position, trimmed to its first and last word.

    The file includes the dash of the next list item in the claim before it.
    """
    assert isinstance(marks, list)
    words = list(_WORD.finditer(readable, start, end))
    first = words[0].start() if words else start
    last = words[-1].end() if words else end
    return Claim(first, last, words_of(readable[start:end]), frozenset(map(str, marks)))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def find_claim(claim: Claim, statements: Sequence[AnswerSentence]) -> str:
    """Return how a claim is found in the statements that overlap it."""
    if not any(word.isalpha() for word in claim.words):
        return "no words"
    words = [word for one in statements for word in words_of(one.text)]
    shared = (Counter(claim.words) & Counter(words)).total()
    is_in_order = f" {' '.join(claim.words)} " in f" {' '.join(words)} "
    if not is_in_order and shared < ENOUGH_WORDS * len(claim.words):
        return "missed"
    if shared < ENOUGH_WORDS * len(words):
        return "merged"
    return "whole" if len(statements) == 1 else "split"


def marks_of(statements: Iterable[AnswerSentence]) -> frozenset[str]:
    """Return all citation marks of statements, resolved or not."""
    return frozenset(one.marker.strip("[] ") for part in statements for one in part.citations)


def read_as_statements(record: Record, rows: Iterable[dict[str, object]]) -> Reading:
    """Split an answer into statements, and find the experts' claims among them."""
    answer, statements, *_ = segment(record, lambda _: None)
    claims = locate_claims(answer, rows)
    found: list[str] = []
    has_marks: list[bool] = []
    for claim in claims:
        parts = [one for one in statements if one.start < claim.end and claim.start < one.end]
        found.append(find_claim(claim, parts))
        touched = [c for c in claims if any(o.start < c.end and c.start < o.end for o in parts)]
        allowed = frozenset[str]().union(*(one.marks for one in touched))
        has_marks.append(claim.marks <= marks_of(parts) <= (claim.marks | allowed))
    return Reading(record, answer, tuple(claims), tuple(statements), tuple(found), tuple(has_marks))


def describe_statement(statement: AnswerSentence, claims: Sequence[Claim]) -> list[str]:
    """Return the columns of the second table that count a statement."""
    words = words_of(statement.text)
    n_claims = sum(one.start < statement.end and statement.start < one.end for one in claims)
    is_behind = not any(one.start >= statement.end for one in claims)
    columns = {
        "joined": n_claims > 1,
        "list mark": _LIST_EDGE.fullmatch(statement.text) is not None,
        "markup": _MARKUP.search(statement.text) is not None,
        "short": sum(word.isalpha() for word in words) < 3,
        "unclaimed": n_claims == 0 and not is_behind,
        "behind": n_claims == 0 and is_behind,
    }
    return [name for name, is_so in columns.items() if is_so]


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    for cells in [head, *rows]:
        name, *numbers = map(str, cells)
        print(f"{name:<20}" + "".join(f" {number:>15}" for number in numbers))
    print()


def share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"


def count_claims(name: str, readings: Sequence[Reading]) -> list[str]:
    pairs = [pair for one in readings for pair in zip(one.found, one.has_marks, strict=True)]
    kinds = Counter(kind for kind, _ in pairs)
    n_claims = len(pairs) - kinds["no words"]
    n_found = n_claims - kinds["missed"]
    n_marked = sum(has_marks and kind not in ("missed", "no words") for kind, has_marks in pairs)
    cells = [
        share(n_found, n_claims),
        *(str(kinds[kind]) for kind in ("whole", "split", "merged")),
    ]
    return [name, str(n_claims), *cells, share(n_marked, n_claims), str(kinds["no words"])]


def count_statements(name: str, readings: Sequence[Reading]) -> list[str]:
    kinds = Counter(
        kind
        for one in readings
        for statement in one.statements
        for kind in describe_statement(statement, one.claims)
    )
    n_statements = sum(len(one.statements) for one in readings)
    return [name, str(n_statements), *(str(kinds[column]) for column in STATEMENT_COLUMNS)]


def print_tables(readings: Sequence[Reading]) -> None:
    systems = sorted({str(one.record.system) for one in readings})
    groups = [(s, [one for one in readings if one.record.system == s]) for s in systems]
    groups.append(("all", list(readings)))
    print(f"{len(readings)} answers\n")
    head = ("claims", "n", "found", "whole", "split", "merged", "with marks", "no words")
    print_table(head, [count_claims(*group) for group in groups])
    head = ("statements", "n", *STATEMENT_COLUMNS)
    print_table(head, [count_statements(*group) for group in groups])


def describe_misses(reading: Reading) -> Iterator[str]:
    """Yield each claim that was missed or has different marks, and each defective statement."""
    name = f"{reading.record.system} {reading.record.id}"
    for claim, found, has_marks in zip(
        reading.claims, reading.found, reading.has_marks, strict=True
    ):
        if found == "no words" or (found != "missed" and has_marks):
            continue
        parts = [o for o in reading.statements if o.start < claim.end and claim.start < o.end]
        lines = [f"{name}: {'missed' if found == 'missed' else 'other marks'}"]
        lines.append(f"  claim {sorted(claim.marks)}: {reading.answer[claim.start : claim.end]!r}")
        lines += [f"  statement {sorted(marks_of([one]))}: {one.text!r}" for one in parts]
        around = reading.answer[max(0, claim.start - 80) : claim.end + 80]
        yield "\n".join([*lines, f"  answer: {around!r}"])
    for one in reading.statements:
        kinds = [k for k in describe_statement(one, reading.claims) if k != "behind"]
        if kinds:
            around = reading.answer[max(0, one.start - 80) : one.end + 80]
            yield f"{name}: {', '.join(kinds)}\n  statement: {one.text!r}\n  answer: {around!r}"


def shape_message(message: str) -> str:
    """Return a finding's message without numbers and quotations.

    Example:
        >>> shape_message("Sentence 4 cites '3', which contradicts it: it has no 5 and no 2.5.")
        'Sentence N cites ..., which contradicts it: it has no N'
    """
    plain = _QUOTED.sub("...", message)
    plain = re.sub(r"\d+(?:[.,]\d+)*", "N", plain)
    return re.sub(r"(?:,| and) no N", "", plain).rstrip(".")


def print_findings(records: Sequence[Record], n_shown: int, rng: random.Random) -> None:
    """Evaluate answers without a judge, and print leading findings with examples."""
    evaluations = list(ragassay.evaluate(records))
    found = [(one, finding) for one in evaluations for finding in one.primary_findings]
    shapes = Counter((one.kind, shape_message(one.message)) for _, one in found)
    n_answers = len({one.record_id for one, _ in found})
    print(f"{len(found)} leading findings in {n_answers} of {len(evaluations)} answers\n")
    for (kind, message), count in shapes.most_common():
        print(f"{count:>5}  {kind}: {message}")
    print()
    for evaluation, finding in rng.sample(found, min(n_shown, len(found))):
        print(f"{evaluation.system} {evaluation.record_id} {finding.kind}: {finding.message}")
        if finding.sentence is not None:
            print(f"  statement: {evaluation.sentences[finding.sentence - 1].text!r}")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder that contains data/")
    parser.add_argument("--system", help="only answers of this system, e.g. bing_chat")
    parser.add_argument("--limit", type=int, metavar="N", help="sample N answers")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N sampled misses")
    parser.add_argument("--findings", action="store_true", help="count leading findings (slow)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of --limit and --show")
    arguments = parser.parse_args()
    rows = list(read_answers(arguments.shared))
    rows = [one for one in rows if arguments.system in (None, one[0].system)]
    rng = random.Random(arguments.seed)
    if arguments.limit is not None:
        rows = rng.sample(rows, min(arguments.limit, len(rows)))
    readings = [read_as_statements(record, claims) for record, claims in rows]
    print_tables(readings)
    if arguments.findings:
        print_findings([record for record, _ in rows], arguments.show, rng)
        return
    misses = [text for one in readings for text in describe_misses(one)]
    for text in rng.sample(misses, min(arguments.show, len(misses))):
        print(text, end="\n\n")


if __name__ == "__main__":
    main()
