"""Convert labelled items, claims, and question-answer pairs to training examples for agents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragassay.agents.base import ADAPTER
from ragassay.agents.qa_writer import QAWriter, build_generator_reply
from ragassay.agents.verifiers import N_READ, TunedVerifier, select_claim_passage
from ragassay.errors import InputError
from ragassay.formats.papers import read_pairs, read_papers
from ragassay.graphs.qa_parts import split_paper
from ragassay.graphs.qa_state import QAJob
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.optimizers.finetuning.claims import (
    NOT_RELEVANT,
    WORDS,
    LabelledClaim,
    group_claims,
    read_claims,
    reverse_label,
)
from ragassay.optimizers.finetuning.examples import ChatExample, as_messages, as_reply
from ragassay.records import Document, Paper, QAPair, Rejection
from ragassay.retrievers.rerankers import TextEncoder
from ragassay.text.keywords import find_keywords
from ragassay.text.search import tokenize


def build_agent_examples(
    task: CompileTask, paths: Sequence[Path]
) -> tuple[list[ChatExample], list[Rejection]]:
    """Return the items in files as prompts with expected replies, and the rejected lines.

    Raises:
        InputError: A file cannot be read.
    """
    agent = task.make_agent()
    results = [task.read(path) for path in paths]
    examples: list[ChatExample] = []
    for item in (item for result in results for item in result.items):
        request = agent.request(*item.arguments)
        messages = as_messages(ADAPTER.format(request.signature, [], request.inputs))
        reply = as_reply(item.reply)
        examples.append(ChatExample(messages, reply, "", item.group, str(item.right)))
    return examples, [rejection for result in results for rejection in result.rejections]


FOREIGN = 0.1
"""Share of claims that are also paired with an unrelated document."""

N_MARKED = N_READ - 1
"""Maximum number of marked sentences in a passage. The passage is completed with the sentences that
are most similar to the claim."""


def read_verifier_examples(
    paths: Sequence[Path], embedder: TextEncoder, *, seed: int = 0
) -> tuple[list[ChatExample], list[Rejection]]:
    """Return the claims in files as examples for a verifier, and the rejected lines.

    Raises:
        InputError: A file cannot be opened.
    """
    results = [read_claims(path) for path in paths]
    # Claims are grouped again, because files may share claims and documents.
    claims = group_claims([claim for claims, _ in results for claim in claims])
    rejections = [rejection for _, rejected in results for rejection in rejected]
    return build_verifier_examples(claims, embedder, seed=seed), rejections


def build_verifier_examples(
    claims: Sequence[LabelledClaim], embedder: TextEncoder, *, seed: int = 0
) -> list[ChatExample]:
    """Return examples: claims, changed claims with reversed labels, and unrelated documents."""
    rng = random.Random(seed)
    examples: list[ChatExample] = []
    for claim in claims:
        examples.append(_build_claim_example(claim, embedder))
        turned = reverse_label(claim, rng) if claim.rationale else None
        if turned:
            examples.append(_build_claim_example(turned, embedder, "turned"))
        other = rng.choice(claims)
        if other.group != claim.group and rng.random() < FOREIGN:
            unrelated = replace(
                other, claim=claim.claim, group=claim.group, label=NOT_RELEVANT, rationale=()
            )
            examples.append(_build_claim_example(unrelated, embedder, "foreign"))
    return examples


def _build_claim_example(
    claim: LabelledClaim, embedder: TextEncoder, kind: str = ""
) -> ChatExample:
    marked = claim.rationale[:N_MARKED]
    passage = select_claim_passage(claim.claim, claim.title, claim.sentences, embedder, marked)
    word = WORDS[claim.label]
    return ChatExample(
        messages=as_messages(_VERIFIER.build_messages(claim.claim, passage)),
        reply=as_reply({"label": word}),
        group=claim.group,
        kind=f"{word}, {kind}" if kind else word,
    )


_VERIFIER = TunedVerifier()


PROMPT_TOKENS = 900
"""Approximate number of tokens in the instruction, the keywords and the reply."""

CHARS_PER_TOKEN = 3
"""Low estimate of the number of characters per token, so that most groups of sections fit."""

LEAST_CHARS = 1_000


def build_qa_examples(
    paths: Sequence[Path], papers: Path | None, row_tokens: int
) -> tuple[list[ChatExample], list[Rejection]]:
    """Return one example for each paper or group of sections, and the rejected lines.

    Raises:
        InputError: A file cannot be read, or no paper was found.
    """
    known = read_papers(papers) if papers else None
    rejections = list(known.rejections if known else ())
    by_paper: dict[str, tuple[Paper, list[QAPair]]] = {}
    for path in paths:
        result = read_pairs(path, known.papers if known else ())
        rejections += result.rejections
        texts = {paper.id: paper for paper in result.papers}
        for pair in result.pairs:
            if pair.paper in texts:
                by_paper.setdefault(pair.paper, (texts[pair.paper], []))[1].append(pair)
    if not by_paper:
        raise InputError("no paper was found for any pair; pass the paper file with --papers")
    n_chars = max(LEAST_CHARS, (row_tokens - PROMPT_TOKENS) * CHARS_PER_TOKEN)
    examples = [
        one
        for paper, pairs in by_paper.values()
        for one in _build_paper_examples(paper, pairs, n_chars)
    ]
    return examples, rejections


def _build_paper_examples(paper: Paper, pairs: Sequence[QAPair], n_chars: int) -> list[ChatExample]:
    is_whole = len(paper.evidence_text) <= n_chars
    job = QAJob(long="whole" if is_whole else "sections", section_chars=n_chars)
    parts = split_paper(paper, job)
    keywords = paper.keywords or find_keywords(paper.text)
    by_part: list[list[QAPair]] = [[] for _ in parts]
    for pair in pairs if parts else ():
        by_part[_find_part(pair, parts)].append(pair)
    examples: list[ChatExample] = []
    for part, own in zip(parts, by_part, strict=True):
        if own:
            request = _WRITER.request(part, keywords, len(own))
            messages = as_messages(ADAPTER.format(request.signature, [], request.inputs))
            reply = as_reply(build_generator_reply(own))
            examples.append(ChatExample(messages, reply, "", paper.id, f"{len(own)} pairs"))
    return examples


def _find_part(pair: QAPair, parts: Sequence[Document]) -> int:
    """Return the index of the part with the most words of the pair's sources or answer."""
    words = set(tokenize(" ".join(pair.sources) or pair.answer))
    shared = [len(words & set(tokenize(part.text))) for part in parts]
    return shared.index(max(shared))


_WRITER = QAWriter()
