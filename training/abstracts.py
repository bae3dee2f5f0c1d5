"""Build claims from abstracts: declarative titles and conclusions.

An abstract supports its title and usually its last sentence. Edited versions of either are
contradicted. The data are SciFact's corpus and PubMedQA's articles.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

from ragassay.models.entailment import NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.perturbations.counterfactuals import turn_negation
from ragassay.text.search import rank_texts
from ragassay.text.sentences import extract_sentences
from training.edits import Made, edited

LEAST_WORDS = 6


def article_claims(shared: Path, known: frozenset[str], rng: random.Random) -> Iterator[Made]:
    """Yield claims from titles and conclusions, in original and edited form.

    Args:
        shared: Folder that contains data/.
        known: Titles of abstracts to exclude because they are used for evaluation.
        rng: Random generator of the edits.
    """
    articles = [a for a in _articles(shared) if a[0] not in known and len(a[2]) > 2]
    for title, claim, sentences in articles:
        # A sentence that can be negated makes a statement.
        if len(claim.split()) < LEAST_WORDS or not turn_negation(claim, rng):
            continue
        made = LabelledClaim(claim, "", tuple(sentences), (), SUPPORTS, f"article {title}")
        closest = [place for place, _ in rank_texts(claim, sentences)]
        yield Made(made, "article")
        yield from edited(made, closest, rng)
        other = rng.choice(articles)
        if other[0] != title:
            yield Made(
                LabelledClaim(claim, "", tuple(other[2]), (), NEUTRAL, made.group), "other article"
            )


def _articles(shared: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield title, claim and supporting sentences."""
    with gzip.open(shared / "data" / "scifact" / "corpus.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            sentences = [sentence.strip() for sentence in row["abstract"]]
            yield row["title"], row["title"], sentences
            yield row["title"], sentences[-1], sentences[:-1]
    with gzip.open(shared / "data" / "pubmedqa" / "train.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            sentences = extract_sentences(" ".join(row["contexts"]))
            for claim in extract_sentences(row["long_answer"]):
                yield row["question"], claim, sentences
