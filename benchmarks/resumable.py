"""Commands that can be killed and resumed, with their input, result and stored progress."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"
QUERIES = ("word7 word11", "a trial of word3", "word990")


@dataclass(frozen=True)
class Job:
    """A command to kill and resume.

    Attributes:
        name: Command name.
        words: Function that returns the arguments from the output folder and the model URL.
        result: Function that reads the final result for comparison.
        n_kept: Function that counts the model replies on disk. None if the command calls no model.
        prepare: Function that creates required files in the output folder.
        done_codes: Exit codes of a completed command.
        full_at: File size limit of the full-disk test, as a share of the largest file.
    """

    name: str
    words: Callable[[Path, str], Sequence[str]]
    result: Callable[[Path], object]
    n_kept: Callable[[Path], int] | None = None
    prepare: Callable[[Path], object] = lambda out: None
    done_codes: tuple[int, ...] = (0,)
    full_at: float = 0.5


def evaluate(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    answers = write_answers(inputs / "answers.jsonl", n_answers)
    parts = [word for part in only for word in ("--only", part)]
    words = ["evaluate", str(answers), "--corpus", str(SAMPLE / "abstracts.jsonl"), *parts]
    return Job("evaluate", asking(words), files("evaluations.jsonl"), n_verdicts)


def audit(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    answers = write_answers(inputs / "answers.jsonl", n_answers)
    attacks = ("off_topic", "off_topic_inside")
    words = ["audit", str(answers), "--only", "rubrics", "--limit", "0"]
    words += [word for attack in attacks for word in ("--attacks", attack)]
    return Job("audit", asking(words), files("audit.json", "figures.csv"), n_verdicts)


def grade(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    answers = write_answers(inputs / "answers.jsonl", n_answers * 4)
    words = ["grade", str(answers), "--grade", "helm", "--grade", "thomas", "--grade", "sun"]
    return Job("grade", asking(words), files("graded.jsonl.gz"), n_verdicts)


def synthesize(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    questions = write_answers(inputs / "questions.jsonl", n_answers * 4)
    words = ["synthesize", str(questions), "--corpus", str(SAMPLE / "abstracts.jsonl")]

    def build(folder: Path, url: str) -> Sequence[str]:
        models = [word for name in "ab" for word in ("--model", f"openai/{name}@{url}")]
        file = str(folder / "answers.jsonl")
        return [*words, *models, "--concurrency", "8", "--out", file, "--quiet"]

    return Job("synthesize", build, files("answers.jsonl"), n_syntheses)


def optimize(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    train = write_claims(inputs / "train.jsonl", 0, n_answers)
    dev = write_claims(inputs / "dev.jsonl", n_answers, n_answers)
    words = ["optimize", "verifier", "--labels", "3", "--data", str(train), "--dev", str(dev)]
    words += ["--optimizer", "miprov2", "--keep-anyway"]
    return Job(
        "optimize",
        asking(words, out="--work", wide=4),
        files("prompt.json"),
        lambda out: n_lines(out / "replies.jsonl"),
        done_codes=(0, 3),
    )


def corpus_build(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    n = n_answers * 300
    files = [write_articles(inputs / f"{k:02}.jsonl", k * n, n) for k in range(20)]
    words = ["corpus", "build", *map(str, files), "--quiet"]
    return Job(
        "corpus build",
        lambda out, url: [*words, "--out", str(out)],
        articles_and_rankings,
        full_at=0.03,  # The largest file results from merging, which is skipped when it fails.
    )


def corpus_embed(inputs: Path, n_answers: int, only: Sequence[str]) -> Job:
    from ragassay.retrievers.disk.build import build_corpus

    articles = write_articles(inputs / "articles.jsonl", 0, n_answers * 60)
    return Job(
        "corpus embed",
        lambda out, url: ["corpus", "embed", str(out), "--tokens", "--quiet"],
        vectors,
        prepare=lambda out: build_corpus([articles], out),
    )


COMMANDS: dict[str, Callable[[Path, int, Sequence[str]], Job]] = {
    "evaluate": evaluate,
    "audit": audit,
    "grade": grade,
    "synthesize": synthesize,
    "optimize": optimize,
    "corpus-build": corpus_build,
    "corpus-embed": corpus_embed,
}


def asking(
    words: Sequence[str], out: str = "--out", wide: int = 32
) -> Callable[[Path, str], Sequence[str]]:
    """Return a function that builds the arguments of a command that calls a model."""

    def build(folder: Path, url: str) -> Sequence[str]:
        options = ["--model", "openai/scripted", "--api-base", url, "--concurrency", str(wide)]
        return [*words, *options, out, str(folder), "--quiet"]

    return build


def files(*names: str) -> Callable[[Path], object]:
    """Return a function that reads files from a folder."""

    def read(out: Path) -> object:
        contents = [(out / name).read_bytes() for name in names]
        return [
            gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
            for content in contents
        ]

    return read


def n_verdicts(out: Path) -> int:
    """Return the number of model verdicts in a run folder, without correctness verdicts."""
    return n_finished(out / "verdicts.sqlite", 'NOT instr(value, \'"evaluator":"correctness"\')')


def n_syntheses(out: Path) -> int:
    """Return the number of syntheses stored next to an answers file."""
    return n_finished(out / "answers.jsonl.state.sqlite", "instr(value, '{\"text\"') = 1")


def n_finished(file: Path, condition: str) -> int:
    if not file.exists():
        return 0
    with sqlite3.connect(file) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'finished'")
        if tables.fetchone() is None:
            return 0
        query = f"SELECT count(*) FROM finished WHERE {condition}"
        return int(connection.execute(query).fetchone()[0])


def n_lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def articles_and_rankings(out: Path) -> object:
    """Return all articles of a corpus and the scores of the best hits.

    Only scores are compared, because articles with equal scores are in index order. No article is
    replaced, because BM25 counts a replaced article until tantivy merges its segment.
    """
    from ragassay.retrievers.disk.corpus import DiskCorpus

    corpus = DiskCorpus(out)
    articles = sorted(a.model_dump_json() for page in corpus.iter_pages() for a in page)
    scores = [[round(hit.score, 4) for hit in corpus.search(query, 50)] for query in QUERIES]
    return corpus.sha256, articles, scores, n_lines(out / "rejected.jsonl")


def vectors(out: Path) -> object:
    """Return the vectors of a corpus and their search results."""
    from ragassay.models.embeddings import Embedder
    from ragassay.retrievers.dense.chroma import connect
    from ragassay.retrievers.dense.index import DenseIndex
    from ragassay.retrievers.disk.corpus import DiskCorpus

    index = DenseIndex(DiskCorpus(out), Embedder())
    found = [sorted((i, round(s, 6)) for i, s in index.find_nearest(q, 50)) for q in QUERIES]
    with connect(out, "") as client:
        (collection,) = client.list_collections()
        kept = collection.get(include=["embeddings"])
    rows = dict(zip(kept["ids"], kept["embeddings"].round(6).tolist(), strict=True))
    return found, rows


def write_answers(path: Path, n_answers: int) -> Path:
    """Write the sample's answers repeatedly, with distinct questions."""
    rows = [json.loads(line) for line in (SAMPLE / "answers.jsonl").read_text().splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for n in range(n_answers):
            row = dict(rows[n % len(rows)], id=f"answer-{n}")
            row["question"] += f" (variant {n})"
            row["topic"] = f"topic-{n}"
            file.write(json.dumps(row) + "\n")
    return path


def write_claims(path: Path, start: int, n_claims: int) -> Path:
    labels = ("supports", "contradicts", "neutral")
    rows = [
        {"claim": f"Drug {n} heals.", "evidence": f"Trial {n} of it.", "label": labels[n % 3]}
        for n in range(start, start + n_claims)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_articles(path: Path, start: int, n_articles: int) -> Path:
    """Write synthetic articles numbered from `start`."""
    with path.open("w", encoding="utf-8") as file:
        for n in range(start, start + n_articles):
            words = " ".join(f"word{(n * k) % 997}" for k in range(1, 40))
            row = {"id": str(n), "title": f"A trial of word{n % 997}", "text": words}
            file.write(json.dumps(row) + "\n")
    return path
