"""A run's judge against a file of labels, from folder to files."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import calls
import pytest
from answers import answer, written_run
from fakes import WordEmbedder
from rows import read_csv

from ragassay.errors import InputError
from ragassay.evaluators.build_run import build_run
from ragassay.metrics.stats.joint_judgments import merge_judgments
from ragassay.records import Document, Evaluation, HumanLabel, Judgment
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import read_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.meta_evaluation import (
    MetaEvaluation,
    measure,
    meta_evaluate,
    write_meta_evaluation,
)
from ragassay.testing import ScriptedModel

call = partial(calls.call, COLUMNS="120")
EVIL = "@evil <b> $x$"


def labelled_run(systems: Sequence[str] = ("alpha", "beta")) -> list[Evaluation]:
    """Two questions; the first system has the better labels."""
    return [
        answer(
            f"{system}-{topic}",
            topic,
            system,
            labels=[("Aspirin thins blood.", label), ("It is white.", "unnecessary")],
            citations=[(1, "31180121", verdict)],
            scores={"nuggets.recall": recall},
        )
        for topic in ("t1", "t2")
        for system, label, verdict, recall in (
            (systems[0], "required", "supports", 0.9),
            (systems[-1], "unnecessary", "neutral", 0.1),
        )
    ]


def labels_of(run: Sequence[Evaluation]) -> list[HumanLabel]:
    """People agree with every verdict, and find the better system accurate."""
    found = []
    for evaluation in run:
        given = [
            {"task": "relevance", "label": verdict.label, "sentence": verdict.sentence}
            for verdict in evaluation.labels
        ]
        for cited in evaluation.citations:
            place = {"sentence": cited.sentence, "item": cited.citation.document}
            given.append({"task": "citation", "label": cited.verdict} | place)
        is_good = evaluation.scores["nuggets.recall"].value == 0.9
        given.append({"task": "accuracy", "label": "yes" if is_good else "no"})
        found += [{"record_id": evaluation.record_id} | fields for fields in given]
    return [HumanLabel.model_validate(fields) for fields in found]


def measured(run: Sequence[Evaluation], labels: Sequence[HumanLabel]) -> MetaEvaluation:
    return measure(run, labels, "judge", lambda: WordEmbedder().encode)


def written_labels(path: Path, labels: Sequence[HumanLabel], more: str = "") -> Path:
    lines = (label.model_dump_json(exclude_defaults=True) + "\n" for label in labels)
    path.write_text("".join(lines) + more)
    return path


@pytest.fixture(autouse=True)
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.models.embeddings.Embedder", lambda name: WordEmbedder(name))


def test_a_judge_that_people_agree_with(tmp_path):
    run = labelled_run()
    labels = written_labels(tmp_path / "labels.jsonl", labels_of(run))
    found = meta_evaluate(written_run(tmp_path / "run", run), labels)
    assert (found.judge, found.n_labels, found.rejections) == ("judge", 16, ())
    accuracies = {
        (task.task, task.reading): figure.score.value
        for task in found.tasks
        for figure in task.figures
        if figure.metric in ("accuracy", "AUROC")
    }
    assert set(accuracies.values()) == {1.0}
    assert ("accuracy", "nuggets.recall") in accuracies
    taus = {ranking.name: ranking.correlation.kendall.value for ranking in found.rankings}
    assert taus["precision"] == taus["recall"] == taus["citation support"] == 1.0
    assert taus["harmfulness"] is None
    assert taus["nugget recall and recall"] == 1.0


def test_recall_of_people_is_clustered_over_all_systems():
    run = labelled_run()
    (ranking,) = [r for r in measured(run, labels_of(run)).rankings if r.name == "recall"]
    # One sentence is required, by the first system only: one of ten clusters.
    assert ranking.human == {"alpha": 0.1, "beta": 0.0}


def test_no_model_is_loaded_where_nothing_is_clustered():
    def refuse():
        raise AssertionError("no embedding is needed")

    run = labelled_run()
    alone = [e for e in run if e.system == "alpha"]
    assert measure(alone, labels_of(alone), "judge", refuse).rankings == ()
    citations = [label for label in labels_of(run) if label.task == "citation"]
    assert measure(run, citations, "judge", refuse).rankings


def test_labels_that_fit_nothing_are_refused_with_the_reason(tmp_path):
    stray = [HumanLabel(task="relevance", label="required", record_id="zzz", sentence=1)]
    run = written_run(tmp_path / "run", labelled_run())
    labels = tmp_path / "labels.jsonl"
    with pytest.raises(InputError):
        meta_evaluate(run, labels)
    with pytest.raises(InputError, match=r"the answer is not in the run.*'alpha-t1'"):
        meta_evaluate(run, written_labels(labels, stray))
    with pytest.raises(InputError, match="no labels to compare"):
        measured([], [])


def test_files_hold_everything_and_come_out_the_same(tmp_path):
    run = labelled_run(("alpha", EVIL))
    stray = HumanLabel(task="relevance", label="required", record_id="=zzz", sentence=1)
    found = measured(run, [*labels_of(run), stray])
    paths = {path.name: path for path in write_meta_evaluation(found, tmp_path / "one")}
    assert {
        *("agreement.csv", "agreement.tex", "classes.csv", "unaligned.csv", "rankings.csv"),
        *("confusion-relevance-four_labels.svg", "reliability-relevance-four_labels.svg"),
        "ranking-precision.svg",
    } <= paths.keys()
    (row, *_) = read_csv(paths["agreement.csv"])
    columns = ("task", "metric", "value", "n")
    assert [row[name] for name in columns] == ["relevance", "accuracy", "1.0", "8"]
    cells = read_csv(paths["confusion.csv"])
    assert sum(int(c["n"]) for c in cells if c["reading"] == "three labels") == 4
    assert all(c["people"] == c["judge"] for c in cells if c["n"] != "0")
    (left_out,) = read_csv(paths["unaligned.csv"])
    assert (left_out["record_id"], left_out["reason"]) == ("'=zzz", "the answer is not in the run")
    assert f"'{EVIL}" in paths["rankings.csv"].read_text()
    tex = paths["agreement.tex"].read_text()
    assert "n/a" in tex and tex.count(r"\toprule") == 4
    for path in paths.values():
        if path.suffix == ".svg":
            ElementTree.parse(path)
            assert "<b>" not in path.read_text()
    again = write_meta_evaluation(found, tmp_path / "two")
    assert [p.read_bytes() for p in again] == [paths[p.name].read_bytes() for p in again]


def test_the_command_prints_tables(tmp_path):
    run = labelled_run()
    labels = written_labels(tmp_path / "labels.jsonl", labels_of(run))
    folder = written_run(tmp_path / "run", run)
    code, out, errors = call("meta-evaluate", folder, "--human", labels, "--out", tmp_path / "out")
    assert code == 0
    assert "judge compared with 16 of 16 human labels" in out
    assert "Cohen's kappa" in out and "n/a" in out
    assert "System rankings by humans and by the judge" in out
    assert "agreement.tex" in errors


def test_the_command_names_what_it_left_out(tmp_path):
    run = labelled_run()
    labels = [*labels_of(run), HumanLabel(task="rubric", label="3", record_id="alpha-t1", item="x")]
    path = written_labels(tmp_path / "labels.jsonl", labels, more='{"task": "relevance"}\n')
    code, _, errors = call("meta-evaluate", written_run(tmp_path / "run", run), "--human", path)
    assert code == 3
    assert "1 rubric label excluded: the run did not judge the rubric" in errors
    assert "(e.g. alpha-t1, x)" in errors
    assert "rejected" in errors and ":18" in errors
    code, _, errors = call("meta-evaluate", tmp_path / "nowhere", "--human", tmp_path / "x")
    assert code == 1 and "has no run" in errors


def test_help_teaches_with_an_example():
    _, out, _ = call("meta-evaluate", "--help")
    assert "ragassay meta-evaluate runs/first --human labels.jsonl" in out


def medaesqa(path: Path) -> Path:
    """Write two questions, each answered by two systems, with labels of every kind."""

    def answered(is_accurate: str, label: str, relation: str) -> dict[str, object]:
        sentence = {
            "answer_sentence_id": "1",
            "answer_sentence": "Aspirin thins the blood.",
            "answer_sentence_relevance": label,
            "citation_assessment": [{"cited_pmid": "31180121", "evidence_relation": relation}],
        }
        answer = {"answer": "Aspirin thins the blood [31180121].", "answer_sentences": [sentence]}
        return answer | {"is_answer_accurate": is_accurate}

    answers = {
        "M1": answered("yes", "required", "supporting"),
        "M2": answered("no", "unnecessary", "neutral"),
    }
    questions = [
        {"question_id": str(n), "question": f"What does aspirin do, part {n}?"}
        | {"machine_generated_answers": answers}
        for n in (1, 2)
    ]
    path.write_text(json.dumps(questions))
    return path


@pytest.mark.integration
async def test_labels_of_medaesqa_fit_a_run_over_the_same_file(tmp_path):
    path = medaesqa(tmp_path / "medaesqa.json")
    documents = (Document(id="31180121", text="Aspirin thins the blood of adults."),)
    job = replace(read_job(path), corpus=Corpus(documents))
    with ScriptedModel() as model:
        named = {"model": model.model_name, "api_base": model.base_url, "rubrics": ("cohesion",)}
        run = build_run(load_settings(**named), job.corpus).with_models(embedder=WordEmbedder())
        await run_job(job, run, RunFolder(tmp_path / "run"))
    found = meta_evaluate(tmp_path / "run", path)
    assert found.alignment.unaligned == ()
    assert {task.task for task in found.tasks} == {"relevance", "citation", "accuracy"}
    assert {ranking.name for ranking in found.rankings} >= {"precision", "citation support"}


def test_a_panels_errors_are_compared_where_people_rated(tmp_path):
    # People say 3 everywhere: errors of a are 1, -1, 2, 0, those of b the same but for the last.
    judged, labels = [], []
    for n, row in enumerate(((4, 4), (2, 2), (5, 5), (3, 2))):
        panel = [
            Judgment(rubric="cohesion", judge=judge, rating=rating, score=float(rating))
            for judge, rating in zip("ab", row, strict=True)
        ]
        judged.append(answer(f"r{n}", f"t{n}", judgments=(merge_judgments(panel),)))
        labels.append(HumanLabel(task="rubric", label="3", record_id=f"r{n}", item="cohesion"))
    (pair,) = measured(judged, labels).panel
    # Means .5 and .25; sums of products 5.5, of squares 5 and 6.75: 5.5 / sqrt(5 * 6.75) = .9467.
    assert (pair.first, pair.second, pair.alike.n) == ("a", "b", 4)
    assert pair.alike.value == pytest.approx(0.9467, abs=1e-4)
    people = written_labels(tmp_path / "labels.jsonl", labels)
    shown = call("meta-evaluate", written_run(tmp_path / "run", judged), "--human", people)[1]
    shown = " ".join(shown.split())
    assert "a and b make similar errors (correlation 0.95" in shown
    assert "the 2 judges are worth 1.0 independent judges" in shown
