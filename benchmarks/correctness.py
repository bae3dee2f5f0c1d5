"""BioACE's correctness (section 4.1.3): classifiers, the semantic route, correctness at k.

    python benchmarks/correctness.py --shared ../shared

1. A sentence with its evidence against the same sentence with the best other fragment. The
   classical baselines are fitted to four fifths of the questions of SciFact and BioASQ and measured
   on the others. MiniLM's verifier has learnt from all of BioASQ's, so that it is measured on
   the groups of SciFact that it has not seen, and on PubMedQA; the baselines have seen neither. The
   embedded language model, zero-shot, is asked about a sample.
2. Algorithm 1 on PubMedQA: the best fragment of a conclusion's own abstract against that of another
   question's, by cosine and by MiniLM's verifier.
3. Correctness at k: answers of MedAESQA against the k best abstracts of 31,932.
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
from ragassay.graphs.case import case_of
from ragassay.model_names import EMBEDDED_BASE, MINILM, MINILM_VERIFIER
from ragassay.models.correctness import CorrectnessModel, correctness_model
from ragassay.models.embeddings import Embedder
from ragassay.optimizers.finetuning.labelled_pairs import LabelledPair
from ragassay.optimizers.finetuning.pair_classifiers import fit_classifier
from ragassay.records import Document, Record
from ragassay.settings import load_settings
from ragassay.studies.verifiers.claims import verification
from ragassay.studies.verifiers.sentences import (
    CitedDocument,
    CitedSentence,
    SentencePair,
    open_models,
    separate,
)
from ragassay.text.sentences import sentences_of

sys.path.insert(0, str(Path(__file__).parents[1]))  # where training/ stands

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
    """Questions with their conclusion's first sentence and their abstract without it."""
    with gzip.open(shared / "data/pubmedqa/train.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        BioasqAnswer(
            question=row["question"],
            sentences=tuple(sentences_of(row["long_answer"])[:1]),
            documents=(Document(id=row["pmid"], text=" ".join(row["contexts"])),),
            group=row["pmid"],
        )
        for row in rows
    ]


def report(name: str, pairs: Sequence[LabelledPair], scores: Sequence[float], least: float):
    """Print macro precision, recall and F1, and AUC."""
    said = [LABELS[score < least] for score in scores]
    truth, groups = [LABELS[pair.label] for pair in pairs], [pair.group for pair in pairs]
    found = verification(truth, said, LABELS, groups, scores)
    macro = next(one for one in found.averages if one.average == "macro")
    p, r, f = (score.value or 0 for score in (macro.precision, macro.recall, macro.f1))
    has_area = found.auc is not None and len(set(scores)) > 2
    auc = f", AUC {found.auc.value:.3f}" if has_area else ""
    print(f"  {name:<44} precision {p:.3f}, recall {r:.3f}, F1 {f:.3f}{auc}", flush=True)


def scored(model: CorrectnessModel, pairs: Sequence[LabelledPair]) -> list[float]:
    return model.scores([(pair.sentence, pair.passage) for pair in pairs]).tolist()


def compare_classifiers(shared: Path, unseen: dict[str, list[LabelledPair]]) -> None:
    others = {pair.group for pairs in unseen.values() for pair in pairs}
    pairs = [pair for pair in read_pairs(shared) if pair.group not in others]
    held = held_out(pairs, HELD_OUT, SEED)
    sets = {"SciFact and BioASQ, held out": [p for p in pairs if held[p.group]], **unseen}
    fitted = [p for p in pairs if not held[p.group]]
    embedder = Embedder()
    names, cache_dir = (MINILM_VERIFIER, "cosine"), load_settings().literature.cache_dir
    verifier, cosine = (correctness_model(name, embedder, cache_dir) for name in names)
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
    """1 where the embedded language model says that the passage supports the sentence."""
    import dspy

    from ragassay.records import EvidenceSpan

    tools = build_run(load_settings(model=EMBEDDED_BASE, verifier="judge", correctness="judge"))
    found: list[float] = []
    for number, pair in enumerate(pairs):
        record = Record(id=str(number), question="Is it so?", answer=pair.sentence)
        span = EvidenceSpan(document="1", start=0, end=len(pair.passage), text=pair.passage)
        with dspy.context(lm=tools.judge.lm):
            case = case_of(record, tools.settings, tools.retrieval.corpus)
            verdict = await tools.agents.verifier.acall(
                case=case, claim=pair.sentence, passage=span
            )
        found.append(float(verdict.verdict == "supports"))
    return found


def semantic_route(answers: Sequence[BioasqAnswer]) -> None:
    """Algorithm 1, a seeded other question's abstract as the negative."""
    chosen = [cited(answer) for answer in random.Random(SEED).sample(list(answers), N_QUESTIONS)]
    pairs = [
        SentencePair(own, other)
        for own, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True)
    ]
    for model in open_models([MINILM_VERIFIER], [MINILM], load_settings().literature.cache_dir):
        for one in separate(pairs, model):
            found = one.result
            assert found is not None
            # One sentence a question: the area is that over all questions.
            print(
                f"  {model.name:<44} positive {found.positive:.3f}, negative {found.negative:.3f}, "
                f"accuracy {found.accuracy:.3f} over {found.n_questions} questions\n"
                f"  {'':<44} AUC {found.pooled_auc:.3f}",
                flush=True,
            )


def cited(answer: BioasqAnswer) -> CitedSentence:
    """The sentence of a conclusion with its abstract, which supports it."""
    documents = tuple(CitedDocument(d.id, d, "supports") for d in answer.documents)
    name = answer.group
    return CitedSentence(name, name, answer.question, 1, answer.sentences[0], documents)


def correctness_at_k(shared: Path) -> None:
    folder = shared / "data" / "medaesqa"
    answers: dict[str, list[dict[str, str]]] = {}
    for name in ("expert_answers", "inaccurate_machine_answers"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        # One a question, the longest: some say nothing at all.
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
    parser.add_argument("--part", choices=("classifiers", "route", "k"), help="only this part")
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
