"""`ragassay.evaluate` and `ragassay.aevaluate`."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from lazy import LazyModule

import ragassay
from ragassay.errors import InputError, NoRecordError, RunMismatchError, SettingsError
from ragassay.records import Document, Record
from ragassay.runs.job import build_record
from ragassay.settings import load_settings

pytestmark = pytest.mark.usefixtures("no_embedding_model")

pd = LazyModule("pandas")

ONE = {
    "question": "Does drug A lower blood pressure?",
    "answer": "Drug A lowers blood pressure [1]. It may cause a cough [2].",
    "sources": ["Drug A lowered blood pressure in adults.", "Cough was seen in some patients."],
}


@pytest.mark.integration
def test_one_answer(settings, tmp_path):
    result = ragassay.evaluate(**ONE, nuggets=["Drug A lowers blood pressure"], settings=settings)
    assert result.scores["rubric.correctness"].n == 1
    assert result.scores["nuggets.recall"].value == 1.0
    assert [c.citation.document for c in result.citations] == ["1", "2"]
    assert result.nuggets and result.labels and result.judgments
    frame = result.to_frame()
    assert frame.loc["citations.coverage", "value"] == 1.0
    for name in ("a.html", "a.md", "a.jsonl", "a.csv"):
        assert result.save(tmp_path / name).stat().st_size > 100
    with pytest.raises(InputError, match=r"\.docx"):
        result.save(tmp_path / "a.docx")


@pytest.mark.integration
async def test_inside_a_running_loop(settings):
    assert len(await ragassay.aevaluate(**ONE, settings=settings)) == 1
    assert len(ragassay.evaluate(**ONE, settings=settings)) == 1


@pytest.mark.integration
def test_all_ways_in_are_one_path(settings, sample, tmp_path):
    rows = [{**ONE, "id": "a"}, {**ONE, "id": "b", "answer": "It does."}]
    documents = tuple(Document(id=str(n), text=t) for n, t in enumerate(ONE["sources"], 1))
    records = [
        Record(id=r["id"], question=r["question"], answer=r["answer"], sources=documents)
        for r in rows
    ]
    from_rows = ragassay.evaluate(rows, settings=settings)
    from_frame = ragassay.evaluate(pd.DataFrame(rows), settings=settings)
    from_records = ragassay.evaluate(records, settings=settings)
    assert [e.scores for e in from_rows] == [e.scores for e in from_frame]
    assert [e.scores for e in from_rows] == [e.scores for e in from_records]
    assert list(from_rows.to_frame()["record_id"]) == ["a", "b"]


@pytest.mark.integration
def test_a_path_a_corpus_and_a_run_folder(settings, sample, tmp_path):
    results = ragassay.evaluate(
        sample / "answers.jsonl",
        corpus=sample / "abstracts.jsonl",
        settings=settings,
        out=tmp_path / "run",
        limit=2,
    )
    assert len(results) == 2
    assert (tmp_path / "run" / "report.html").exists()
    assert results[0].record_id == "alpha-t1"
    assert set(results.summary.systems) == {"alpha-rag", "beta-rag"}


@pytest.mark.integration
def test_a_run_folder_refuses_another_corpus_of_python_and_takes_the_same(settings, tmp_path):
    asked = {"answers": [{**ONE, "id": "a"}], "only": "sentences", "settings": settings}
    first = ragassay.evaluate(**asked, corpus=["one text"], out=tmp_path)
    assert first.manifest.corpus is not None and first.manifest.corpus.n_items == 1
    assert ragassay.evaluate(**asked, corpus=["one text"], out=tmp_path).scores == first.scores
    with pytest.raises(RunMismatchError, match="the corpus file"):
        ragassay.evaluate(**asked, corpus=["another text"], out=tmp_path)


@pytest.mark.integration
def test_what_could_not_be_read_of_a_corpus_is_a_rejection(settings, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "text": "Aspirin."}\n{"text": 3}\n', encoding="utf-8")
    result = ragassay.evaluate(**ONE, only="sentences", corpus=corpus, settings=settings)
    assert [rejection.line for rejection in result.rejections] == [2]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"question": "q"},
        {"answer": "a"},
        {"answers": [{"question": "q", "answer": "a"}], "question": "q"},
    ],
)
def test_unclear_arguments_are_refused(arguments):
    with pytest.raises(InputError):
        ragassay.evaluate(**arguments)


def test_settings_come_from_the_environment_and_name_their_mistakes(monkeypatch):
    monkeypatch.setenv("RAGASSAY_LIMITS__CONCURRENCY", "7")
    assert load_settings().n_slots == 7
    monkeypatch.setenv("RAGASSAY_LIMITS__CONCURRENCY", "many")
    with pytest.raises(
        SettingsError, match="RAGASSAY_LIMITS__CONCURRENCY: it must be a whole number"
    ):
        load_settings()


def test_nothing_but_settings_reads_the_environment():
    # probe.py, safe_text.py: keys, to ask with or to hide; driver.py, litellm_library.py: no
    # telemetry; provider_errors.py, local_servers.py: addresses in the variables of other tools.
    allowed = {"base.py", "litellm_library.py", "probe.py", "safe_text.py"}
    allowed |= {"driver.py", "provider_errors.py", "local_servers.py"}
    for path in sorted((ROOT / "ragassay").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name not in allowed and path.parent.name != "settings":
            assert "os.environ" not in text and "getenv" not in text, path


def test_the_public_names_are_sorted_and_there():
    assert list(ragassay.__all__) == sorted(ragassay.__all__)
    for name in ragassay.__all__:
        assert getattr(ragassay, name) is not None


def test_importing_loads_nothing():
    program = "import sys, ragassay; print([m for m in sys.modules if m.startswith('ragassay')])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert ast.literal_eval(done.stdout) == ["ragassay"]


def test_imports_point_one_way():
    script = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def test_an_empty_answer_is_an_exception(settings):
    with pytest.raises(NoRecordError, match="answer: found an empty answer, expected text"):
        ragassay.evaluate(question="Q?", answer=" ", settings=settings)
    with pytest.raises(NoRecordError) as caught:
        ragassay.evaluate([{"question": "Q?"}, {"question": "Q?", "answer": ""}], settings=settings)
    assert [(r.line, r.field) for r in caught.value.rejections] == [(1, "answer"), (2, "answer")]
    with pytest.raises(NoRecordError):
        ragassay.audit([Record(id="a", question="Q?", answer=())], settings=settings)


def test_a_record_without_an_answer_is_set_aside(settings):
    given, none = (Record(id=text, question="Q?", answer=text.strip()) for text in ("Yes.", " "))
    records = [given, none]
    results = ragassay.evaluate(records, only="sentences", settings=settings)
    assert [one.record_id for one in results] == ["Yes."]
    assert [(r.file, r.line, r.field) for r in results.rejections] == [("records", 2, "answer")]


def test_one_text_is_one_source_and_passages_in_it_are_several():
    asked = {"question": "Does it work?", "answer": "It works [1]."}
    for sources, n in (("It works.", 1), ("[1] It works.\n\n[2] It fails.", 2)):
        record = build_record(asked["answer"], asked["question"], sources)
        assert len(record.sources) == n
