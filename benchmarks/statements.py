"""How well answers are read as statements: the claims of ExpertQA against ours.

    python benchmarks/statements.py --shared ../shared
    python benchmarks/statements.py --shared ../shared --show 20 --system bing_chat
    python benchmarks/statements.py --shared ../shared --findings --limit 40 --show 20

ExpertQA (dev) holds answers of six systems. Experts cut each answer into claims, which are mostly
sentences, and wrote down the citation marks of each. `ragassay.text.segmenter.segment` cuts the
same answer into statements. The first table says how many claims come out as statements:

- A claim is copied from its answer, so its place is known. Its statements are those that share
  characters with it.
- found: the statements have the claim's words in the claim's order; or, where a list mark or a
  heading stands between them, at least nine tenths of its words. Words are compared in lower case,
  without citation marks, list marks and emphasis.
- whole, split, merged: how it was found. As one statement with the same words; as several, such as
  the items of a list; or in statements that hold other words too.
- with marks: found, and the statements' citation marks, resolved or not, are the claim's. Where
  statements reach into other claims, the marks of these claims count as well.

Five claims of the file lack marks that their own text has ("[2,5]", "Africa[49]"), so that no
reading reaches 100 % there.

The second table counts statements, and what in them should not be there:

- joined: hold words of two or more claims.
- list mark: begin or end with the number or the dash of a list item.
- markup: hold emphasis, a link, a table's rule or HTML.
- short: fewer than three words of letters, such as a heading, "References:" or "1.".
- unclaimed: share no character with a claim, though claims follow. Experts left out the end of some
  answers, so statements after the last claim are counted apart, as "behind".

With --findings, the answers are evaluated by `ragassay.evaluate` without a judge, which takes some
seconds an answer. The third table counts the findings that lead the report, by kind and message;
numbers and quotations are left out of the messages, so that like ones are counted together.
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
"""Least share of a claim's words that its statements must hold."""

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
    """A claim of the experts, and where it stands in its answer."""

    start: int
    end: int
    words: tuple[str, ...]
    marks: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """One answer, its claims and our statements.

    Attributes:
        found: For each claim "whole", "split", "merged", "missed" or "no words".
        has_marks: For each claim whether its statements have its marks.
    """

    record: Record
    answer: str
    claims: tuple[Claim, ...]
    statements: tuple[AnswerSentence, ...]
    found: tuple[str, ...]
    has_marks: tuple[bool, ...]


def read_answers(shared: Path) -> Iterator[tuple[Record, list[dict[str, object]]]]:
    """Yield the answers of ExpertQA dev as records, each with its claims as the file has them."""
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
    """Return the claims with their places in an answer.

    The experts' file has other white space than the answer, so places are found without any.
    """
    places = [i for i, c in enumerate(answer) if not c.isspace()]
    bare = "".join(answer[i] for i in places)
    readable = CITATION.sub(_blank, _LIST_MARK.sub(_blank, answer))
    claims: list[Claim] = []
    position = 0
    for row in rows:
        needle = "".join(str(row["claim"]).split())
        at = bare.find(needle, position)
        at = at if at >= 0 else bare.find(needle)
        if at < 0 or not needle:
            raise ValueError(f"the claim {row['claim']!r} is not in its answer")
        position = at + len(needle)
        claims.append(claim_between(places[at], places[position - 1] + 1, readable, row["markers"]))
    return claims


def claim_between(start: int, end: int, readable: str, marks: object) -> Claim:
    """Return the claim at a place, from its first word to its last.

    The file gives the dash of the next item to the claim before it.
    """
    assert isinstance(marks, list)
    words = list(_WORD.finditer(readable, start, end))
    first = words[0].start() if words else start
    last = words[-1].end() if words else end
    return Claim(first, last, words_of(readable[start:end]), frozenset(map(str, marks)))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def find_claim(claim: Claim, statements: Sequence[AnswerSentence]) -> str:
    """Return how a claim is found in the statements that share characters with it."""
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
    """Return the citation marks of statements, whether they point to a source or not."""
    return frozenset(one.marker.strip("[] ") for part in statements for one in part.citations)


def read_as_statements(record: Record, rows: Iterable[dict[str, object]]) -> Reading:
    """Cut an answer into statements and look for the experts' claims among them."""
    answer, cut, *_ = segment(record, lambda _: None)
    claims = locate_claims(answer, rows)
    found: list[str] = []
    has_marks: list[bool] = []
    for claim in claims:
        own = [one for one in cut if one.start < claim.end and claim.start < one.end]
        found.append(find_claim(claim, own))
        touched = [c for c in claims if any(o.start < c.end and c.start < o.end for o in own)]
        allowed = frozenset[str]().union(*(one.marks for one in touched))
        has_marks.append(claim.marks <= marks_of(own) <= (claim.marks | allowed))
    return Reading(record, answer, tuple(claims), tuple(cut), tuple(found), tuple(has_marks))


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
    """Return a row of the table of claims."""
    pairs = [pair for one in readings for pair in zip(one.found, one.has_marks, strict=True)]
    ways = Counter(way for way, _ in pairs)
    n_claims = len(pairs) - ways["no words"]
    n_found = n_claims - ways["missed"]
    n_marked = sum(has_marks and way not in ("missed", "no words") for way, has_marks in pairs)
    cells = [share(n_found, n_claims), *(str(ways[way]) for way in ("whole", "split", "merged"))]
    return [name, str(n_claims), *cells, share(n_marked, n_claims), str(ways["no words"])]


def count_statements(name: str, readings: Sequence[Reading]) -> list[str]:
    """Return a row of the table of statements."""
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
    """Yield each claim that was missed or has other marks, and each odd statement."""
    name = f"{reading.record.system} {reading.record.id}"
    for claim, found, has_marks in zip(
        reading.claims, reading.found, reading.has_marks, strict=True
    ):
        if found == "no words" or (found != "missed" and has_marks):
            continue
        own = [o for o in reading.statements if o.start < claim.end and claim.start < o.end]
        lines = [f"{name}: {'missed' if found == 'missed' else 'other marks'}"]
        lines.append(f"  claim {sorted(claim.marks)}: {reading.answer[claim.start : claim.end]!r}")
        lines += [f"  statement {sorted(marks_of([one]))}: {one.text!r}" for one in own]
        around = reading.answer[max(0, claim.start - 80) : claim.end + 80]
        yield "\n".join([*lines, f"  answer: {around!r}"])
    for one in reading.statements:
        kinds = [k for k in describe_statement(one, reading.claims) if k != "behind"]
        if kinds:
            around = reading.answer[max(0, one.start - 80) : one.end + 80]
            yield f"{name}: {', '.join(kinds)}\n  statement: {one.text!r}\n  answer: {around!r}"


def shape_message(message: str) -> str:
    """Return a finding's message without what differs from answer to answer.

    Example:
        >>> shape_message("Sentence 4 cites '3', which contradicts it: it has no 5 and no 2.5.")
        'Sentence N cites ..., which contradicts it: it has no N'
    """
    plain = _QUOTED.sub("...", message)
    plain = re.sub(r"\d+(?:[.,]\d+)*", "N", plain)
    return re.sub(r"(?:,| and) no N", "", plain).rstrip(".")


def print_findings(records: Sequence[Record], n_shown: int, draw: random.Random) -> None:
    """Evaluate answers without a judge; print a table of the leading findings, and some to read."""
    evaluations = list(ragassay.evaluate(records))
    found = [(one, finding) for one in evaluations for finding in one.primary_findings]
    shapes = Counter((one.kind, shape_message(one.message)) for _, one in found)
    n_answers = len({one.record_id for one, _ in found})
    print(f"{len(found)} leading findings in {n_answers} of {len(evaluations)} answers\n")
    for (kind, message), count in shapes.most_common():
        print(f"{count:>5}  {kind}: {message}")
    print()
    for evaluation, finding in draw.sample(found, min(n_shown, len(found))):
        print(f"{evaluation.system} {evaluation.record_id} {finding.kind}: {finding.message}")
        if finding.sentence is not None:
            print(f"  statement: {evaluation.sentences[finding.sentence - 1].text!r}")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder that holds data/")
    parser.add_argument("--system", help="answers of this system only, e.g. bing_chat")
    parser.add_argument("--limit", type=int, metavar="N", help="N answers, drawn by the seed")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N misses to read")
    parser.add_argument("--findings", action="store_true", help="count leading findings (slow)")
    parser.add_argument("--seed", type=int, default=0, help="for --limit and --show")
    arguments = parser.parse_args()
    rows = list(read_answers(arguments.shared))
    rows = [one for one in rows if arguments.system in (None, one[0].system)]
    draw = random.Random(arguments.seed)
    if arguments.limit is not None:
        rows = draw.sample(rows, min(arguments.limit, len(rows)))
    readings = [read_as_statements(record, claims) for record, claims in rows]
    print_tables(readings)
    if arguments.findings:
        print_findings([record for record, _ in rows], arguments.show, draw)
        return
    misses = [text for one in readings for text in describe_misses(one)]
    for text in draw.sample(misses, min(arguments.show, len(misses))):
        print(text, end="\n\n")


if __name__ == "__main__":
    main()
