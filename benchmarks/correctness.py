"""Measure BioACE's correctness (section 4.1.3): classifiers, semantic route and correctness at k.

    python benchmarks/correctness.py --shared ../shared

1. Classify sentence-passage pairs. Positives pair a sentence with its evidence, and negatives with
   the most similar other fragment. The classical baselines are fitted to four fifths of the
   questions of SciFact and BioASQ and evaluated on the rest. MiniLM's verifier was trained on all
   of BioASQ, so it is evaluated only on unseen groups of SciFact and on PubMedQA. The baselines
   have seen neither. The embedded language model is evaluated zero-shot on a sample.
2. Run Algorithm 1 on PubMedQA. The best fragment of the conclusion's abstract is compared with that
   of another question's abstract, by cosine and by MiniLM's verifier.
3. Compute correctness at k for the answers of MedAESQA, using the k best abstracts of 31,932.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import ragassay
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.case import convert_to_case
from ragassay.model_names import EMBEDDED_BASE, MINILM, MINILM_VERIFIER
from ragassay.models.correctness import CorrectnessModel, open_correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair
from ragassay.optimizers.finetuning.pair_classifiers import fit_classifier
from ragassay.records import Document, Record
from ragassay.settings import load_settings
from ragassay.studies.verifiers.claims import compare_labels
from ragassay.studies.verifiers.sentences import (
    CitedDocument,
    CitedSentence,
    SentencePair,
    open_models,
    separate,
)
from ragassay.text.sentences import extract_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))  # for training/

from training.bioasq import BioasqAnswer, FragmentSearch
from training.claims import HELD_OUT, SEED, held_out, split_scifact
from training.correctness import (
    CORRECT,
    bioasq_pairs,
    read_pairs,
    scifact_pairs,
)

N_LLM = 60
N_QUESTIONS = 150
KS = (1, 10)
LABELS = ("correct", "incorrect")


def read_pubmedqa(shared: Path) -> list[BioasqAnswer]:
    """Return questions with the first sentence of the conclusion and the rest of the abstract."""
    with gzip.open(shared / "data/pubmedqa/train.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        BioasqAnswer(
            question=row["question"],
            sentences=tuple(extract_sentences(row["long_answer"])[:1]),
            documents=(Document(id=row["pmid"], text=" ".join(row["contexts"])),),
            group=row["pmid"],
        )
        for row in rows
    ]


def report(name: str, pairs: Sequence[LabelledPair], scores: Sequence[float], threshold: float):
    """Print macro precision, recall and F1, and AUC."""
    predicted = [LABELS[score < threshold] for score in scores]
    truth, groups = [LABELS[pair.label] for pair in pairs], [pair.group for pair in pairs]
    result = compare_labels(truth, predicted, LABELS, groups, scores)
    macro = next(one for one in result.averages if one.average == "macro")
    p, r, f = (score.value or 0 for score in (macro.precision, macro.recall, macro.f1))
    has_auc = result.auc is not None and len(set(scores)) > 2
    auc = f", AUC {result.auc.value:.3f}" if has_auc else ""
    print(f"  {name:<44} precision {p:.3f}, recall {r:.3f}, F1 {f:.3f}{auc}", flush=True)


def scored(model: CorrectnessModel, pairs: Sequence[LabelledPair]) -> list[float]:
    return model.score_pairs([(pair.sentence, pair.passage) for pair in pairs]).tolist()


def compare_classifiers(shared: Path, unseen: dict[str, list[LabelledPair]]) -> None:
    others = {pair.group for pairs in unseen.values() for pair in pairs}
    pairs = [pair for pair in read_pairs(shared) if pair.group not in others]
    held = held_out(pairs, HELD_OUT, SEED)
    sets = {"SciFact and BioASQ, held out": [p for p in pairs if held[p.group]], **unseen}
    fitted = [p for p in pairs if not held[p.group]]
    embedder = Embedder()
    names, cache_dir = (MINILM_VERIFIER, "cosine"), load_settings().literature.cache_dir
    verifier, cosine = (open_correctness_model(name, embedder, cache_dir) for name in names)
    assert verifier is not None and cosine is not None
    svm, logistic = (fit_classifier(fitted, family, seed=SEED) for family in ("svm", "logistic"))
    for name, chosen in sets.items():
        n_correct = sum(pair.label == CORRECT for pair in chosen)
        print(f"{name}: {len(chosen)} pairs, {n_correct} correct", flush=True)
        models: list[CorrectnessModel] = [svm, logistic, cosine]
        if name in unseen:
            models.append(verifier)
        for model in models:
            report(model.name, chosen, scored(model, chosen), model.threshold)
    sample = random.Random(SEED).sample(unseen["PubMedQA"], N_LLM)
    report(f"SmolLM2-135M, zero-shot, {N_LLM} pairs", sample, asyncio.run(ask_llm(sample)), 0.5)


async def ask_llm(pairs: Sequence[LabelledPair]) -> list[float]:
    """Return 1 for each pair that the embedded language model labels as supported, otherwise 0."""
    import dspy

    from ragassay.records import EvidenceSpan

    run = build_run(load_settings(model=EMBEDDED_BASE, verifier="judge", correctness="judge"))
    found: list[float] = []
    for number, pair in enumerate(pairs):
        record = Record(id=str(number), question="Is it so?", answer=pair.sentence)
        span = EvidenceSpan(document="1", start=0, end=len(pair.passage), text=pair.passage)
        with dspy.context(lm=run.judge.lm):
            case = convert_to_case(record, run.settings, run.retrieval.corpus)
            verdict = await run.agents.verifier.acall(case=case, claim=pair.sentence, passage=span)
        found.append(float(verdict.verdict == "supports"))
    return found


def semantic_route(answers: Sequence[BioasqAnswer]) -> None:
    """Run Algorithm 1, with the abstract of a random other question as the negative."""
    chosen = [cited(answer) for answer in random.Random(SEED).sample(list(answers), N_QUESTIONS)]
    pairs = [
        SentencePair(own, other)
        for own, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True)
    ]
    for model in open_models([MINILM_VERIFIER], [MINILM], load_settings().literature.cache_dir):
        for one in separate(pairs, model):
            found = one.result
            assert found is not None
            # With one sentence per question, AUC is computed over all questions.
            print(
                f"  {model.name:<44} positive {found.positive:.3f}, negative {found.negative:.3f}, "
                f"accuracy {found.accuracy:.3f} over {found.n_questions} questions\n"
                f"  {'':<44} AUC {found.pooled_auc:.3f}",
                flush=True,
            )


def cited(answer: BioasqAnswer) -> CitedSentence:
    """Return the conclusion sentence with its abstract as supporting evidence."""
    documents = tuple(CitedDocument(d.id, d, "supports") for d in answer.documents)
    name = answer.group
    return CitedSentence(name, name, answer.question, 1, answer.sentences[0], documents)


def correctness_at_k(shared: Path) -> None:
    folder = shared / "data" / "medaesqa"
    answers: dict[str, list[dict[str, str]]] = {}
    for name in ("expert_answers", "inaccurate_machine_answers"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        # Keep the longest answer per question, because some have no content.
        longest = {row["question"]: row for row in sorted(rows, key=lambda r: len(r["answer"]))}
        answers[name] = list(longest.values())
    corpus = shared / "data" / "corpus" / "abstracts.jsonl.gz"
    for k in KS:
        settings = load_settings(only=("correctness",), evidence_rounds=0, evidence_passages=k)
        for name, rows in answers.items():
            records = [
                Record(id=str(n), question=row["question"], answer=row["answer"])
                for n, row in enumerate(rows)
            ]
            found = ragassay.evaluate(records, corpus=corpus, settings=settings)
            score = found.summary.scores["correctness.score"]
            print(f"  {name}, k = {k}: {score.value} (n {score.n} answers)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--part", choices=("classifiers", "route", "k"), help="run only this part")
    arguments = parser.parse_args()
    wanted = {arguments.part} if arguments.part else {"classifiers", "route", "k"}
    answers = read_pubmedqa(arguments.shared)
    fragments = FragmentSearch(d for answer in answers for d in answer.documents)
    unseen = {
        "SciFact, held out of the verifier": scifact_pairs(split_scifact(arguments.shared)[1]),
        "PubMedQA": bioasq_pairs(answers, fragments),
    }
    if "classifiers" in wanted:
        compare_classifiers(arguments.shared, unseen)
    if "route" in wanted:
        print("Algorithm 1, PubMedQA")
        semantic_route(answers)
    if "k" in wanted:
        print("Correctness at k, MedAESQA")
        correctness_at_k(arguments.shared)


if __name__ == "__main__":
    main()
