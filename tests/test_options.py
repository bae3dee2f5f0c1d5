"""Options have the same meaning on the command line and in Python."""

from __future__ import annotations

import ast
import inspect
import json
import re
import warnings
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
import typer
from calls import call, run
from conftest import PACKAGE, ROOT

import ragassay
from ragassay.cli import app
from ragassay.errors import InputError, RagassayError, SettingsError
from ragassay.evaluators.build_run import build_run
from ragassay.options import (
    AuditKeywords,
    EvaluateKeywords,
    RunKeywords,
    create_settings,
    list_options,
)
from ragassay.records import RELEVANCE_LABELS, FileFingerprint
from ragassay.retrievers.opening import OpenedCorpus
from ragassay.runs.audit_job import AuditOptions
from ragassay.runs.folder import RunFolder
from ragassay.settings import FIELDS, Settings, load_settings

RECORD = {"id": "a", "question": "q", "answer": "Aspirin thins blood [1]."}
WITHOUT_QUESTION = {
    "metadata": {"team_id": "t", "run_id": "r", "topic_id": "116"},
    "responses": [{"text": "Aspirin thins blood.", "citations": []}],
}

COMMON: dict[str, tuple[str, Any]] = {
    "corpus": ("--corpus {folder}/corpus.jsonl", "{folder}/corpus.jsonl"),
    "out": ("--out {folder}/run", "{folder}/run"),
    "model": (
        "--judge openai/a --model mistral/b@http://127.0.0.1:1/v1",
        ["openai/a", "mistral/b@http://127.0.0.1:1/v1"],
    ),
    "api_base": ("--api-base http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
    "escalate": ("--escalate openai/a", "openai/a"),
    "when": ("--when confidence<0.6 --escalate openai/a", "confidence<0.6"),
    "only": ("--only rubrics --only citations", ("rubrics", "citations")),
    "rubric_set": ("--rubric-set usr", "usr"),
    "rubrics": ("--rubric cohesion --rubrics mine.yaml", ["cohesion", Path("mine.yaml")]),
    "evaluators": ("--evaluator mine:short", "mine:short"),
    "strategy": ("--strategy few_shot", "few_shot"),
    "model_options": ("--model-option top_p=0.5", "top_p=0.5"),
    "samples": ("--samples 5", 5),
    "decisions": ("--decisions on", "on"),
    "judge_seed": ("--judge-seed 7", 7),
    "judge_form": ("--judge-form plain", "plain"),
    "signals": ("--signals", True),
    "evidence": ("--evidence agent", "agent"),
    "evidence_rounds": ("--evidence-rounds 0", 0),
    "evidence_turns": ("--evidence-turns 3", 3),
    "embedder": ("--embedder mine", "mine"),
    "search": ("--by bm25", "bm25"),
    "reranker": ("--reranker none", "none"),
    "verifier": ("--verifier judge", "judge"),
    "verdict_labels": ("--labels 2", 2),
    "citation_evidence": ("--citations sentence", "sentence"),
    "attribution": ("--attribution", True),
    "labeller": ("--labeller ragassay/labeller", "ragassay/labeller"),
    "correctness": ("--correctness cosine", "cosine"),
    "prompts": ("--prompts a.json --prompts b.json", ["a.json", Path("b.json")]),
    "questions": ("--questions {folder}/topics.json", "{folder}/topics.json"),
    "column_map": ("--map question=id,answer=answer", {"question": "id", "answer": "answer"}),
    "nuggets": ("--nuggets {folder}/gold.json", "{folder}/gold.json"),
    "testbank": ("--testbank {folder}/bank.jsonl", "{folder}/bank.jsonl"),
    "grades": ("--grade rating --grades fagb", ["rating", "fagb"]),
    "grader": ("--grader judge --judge openai/a", "judge"),
    "items_per_call": ("--items-per-call 5", 5),
    "qa_coverage": ("--qa-coverage answer", "answer"),
    "pairs_per_call": ("--pairs-per-call 5", 5),
    "concurrency": ("--concurrency 3", 3),
    "max_rpm": ("--max-rpm 600", 600),
    "batch": ("--batch --judge openai/a", True),
    "max_usd": ("--max-usd 2.5", 2.5),
    "engine": ("--engine ray", "ray"),
    "address": ("--address auto", "auto"),
    "workers": ("--workers 4", 4),
    "tracing": ("--tracing", True),
    "tracing_content": ("--tracing-content", True),
    "retry_failed": ("--retry-failed --out {folder}/run", True),
}
CASES = {
    "evaluate": COMMON | {"limit": ("--limit 1", 1)},
    "audit": COMMON
    | {
        "limit": ("--limit 1", 1),
        "seed": ("--seed 7", 7),
        "attacks": ("--attacks shuffle --attacks clinical", ["shuffle", "clinical"]),
        "use_perturbed": ("--use-perturbed", True),
        "paraphraser": ("--paraphraser openai/a", "openai/a"),
    },
}
BESIDE: dict[str, dict[str, Any]] = {
    "when": {"escalate": "openai/a"},
    "batch": {"model": "openai/a"},
    "grader": {"model": ["openai/a"]},
    "retry_failed": {"out": "{folder}/run"},
}
"""Additional arguments that an option needs."""

KEYWORDS = {"evaluate": EvaluateKeywords, "audit": AuditKeywords}
OF_PYTHON = {"answers", "question", "answer", "sources", "reference", "settings", "progress"}
OF_A_RUN = set(list_options(RunKeywords)) - set(list_options(EvaluateKeywords))
"""Python keywords of runs that other evaluations do not accept."""

INSTEAD = {
    "quiet": "progress",  # nothing is shown by default
    "dry_run": "plan",
    "as_json": "summary",
}
"""Python equivalents of terminal flags: a keyword, a function or a result attribute."""
OF_THE_TERMINAL = {
    "evaluate": {"answers", "fail_under", "audit", "repeat", "as_json", "dry_run", "quiet"},
    "audit": {"answers", "strict", "as_json", "dry_run", "quiet"},
}


def commands() -> dict[str, click.Command]:
    """Return all commands of the command line by name."""
    found: dict[str, Any] = {}
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        nested = getattr(command, "commands", None)
        found |= {f"{name} {n}": c for n, c in nested.items()} if nested else {name: command}
    return found


@pytest.mark.parametrize("name", ["evaluate", "audit"])
def test_each_option_is_on_the_command_line_and_in_python(name):
    wanted = set(list_options(KEYWORDS[name]))
    assert {p.name for p in commands()[name].params} - OF_THE_TERMINAL[name] - {"help"} == wanted
    own = OF_A_RUN if name == "evaluate" else set()
    for function in (getattr(ragassay, name), getattr(ragassay, f"a{name}")):
        assert set(inspect.signature(function).parameters) - OF_PYTHON == wanted | own
        for option in list_options(KEYWORDS[name]).values():
            assert f"    {option.name}: {option.help.split()[0]}" in function.__doc__
    assert set(CASES[name]) == wanted, "each option has a case below"


def test_python_has_all_that_the_terminal_has():
    flags = {p.name for p in commands()["evaluate"].params} - {"help"}
    keywords = set(inspect.signature(ragassay.evaluate).parameters)
    assert flags - keywords == INSTEAD.keys()
    assert INSTEAD["quiet"] in keywords
    assert INSTEAD["dry_run"] in ragassay.__all__
    assert INSTEAD["as_json"] in inspect.getsource(ragassay.Results.__init__)
    assert keywords - flags - OF_PYTHON == {"raise_on_failure"}  # exit code 3 of the terminal


def test_what_searches_for_evidence_takes_the_bounds_of_the_search():
    bounds = {"evidence_rounds", "evidence_turns"}
    for name, command in commands().items():
        flags = {p.name for p in command.params}
        assert bounds <= flags or "evidence" not in flags, name
    for name in ("evaluate", "aevaluate", "run", "arun", "audit", "aaudit", "plan"):
        assert bounds <= set(inspect.signature(getattr(ragassay, name)).parameters), name


def test_answers_are_written_with_the_same_options():
    flags = {p.name for p in commands()["synthesize"].params} - {"help", "as_json", "quiet"}
    style = {"models": "model", "endpoint": "api_base", "target": "file"}
    wanted = {style.get(name, name) for name in flags - {"dry_run"}}
    own = {"queries", "file", "papers", "words", "max_tokens", "settings", "progress"}
    for function in (ragassay.synthesize, ragassay.asynthesize):
        keywords = set(inspect.signature(function).parameters)
        assert wanted <= keywords == own | set(list_options(EvaluateKeywords))


def test_an_application_is_run_with_the_same_options():
    flags = {p.name for p in commands()["run"].params} - {"help", "as_json", "quiet"}
    for function in (ragassay.run, ragassay.arun):
        keywords = set(inspect.signature(function).parameters)
        assert keywords - flags == {"parse", "settings", "progress"}
        assert flags <= keywords


class Stopped(RagassayError):
    """Raised when all options are resolved, before any model call."""


@dataclass
class Chosen:
    """Resolved settings of a run before any model call."""

    settings: Settings | None = None
    job: Any = None
    corpus_sha256: str = ""
    options: AuditOptions | None = None
    folder: Path | None = None
    n_forgotten: int = 0


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Chosen]:
    """Collect one entry per started run."""
    starts: list[Chosen] = []

    def run_of(settings, corpus=None, evaluators=(), rubrics=()):
        judge = SimpleNamespace(name_raters=lambda rubrics: "a panel of a, b")
        more = {"rubrics": {}, "registered": (), "judge": judge}
        return SimpleNamespace(settings=settings, corpus=corpus, **more)

    def keep(job, run, options=None):
        starts.append(Chosen(run.settings, replace(job, corpus=None), job.corpus.sha256, options))
        return SimpleNamespace(asks=(), options=options)

    async def run_job(job, run, folder, listen=None):
        keep(job, run)
        await stop(job, run, folder)

    async def stop(job, run, folder, listen=None):
        starts[-1].folder, starts[-1].n_forgotten = folder and folder.path, len(forgotten)
        forgotten.clear()
        raise Stopped("stopped")

    forgotten: list[Path] = []
    monkeypatch.setattr("ragassay.evaluators.build_run.build_run", run_of)
    monkeypatch.setattr(RunFolder, "forget_failures", lambda self: forgotten.append(self.path))
    monkeypatch.setattr("ragassay.runs.evaluate.run_job", run_job)
    monkeypatch.setattr("ragassay.studies.audit.run_audit", stop)
    monkeypatch.setattr("ragassay.runs.audit_job.build_audit_job", keep)
    return starts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create answers and all files that options can refer to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ragassay.runs.preflight.check_judges", lambda judges: None)
    topic = {"id": 116, "topic": "t", "question": "Why?", "narrative": "n"}
    adapter = {"base_sha256": "", "weights_sha256": "", "scale": 2, "n_tokens": 512}
    files = {
        "answers.jsonl": [RECORD | {"id": name, "topic": name} for name in "abc"],
        "run.jsonl": [WITHOUT_QUESTION],
        "topics.json": [{"topics": [topic]}],
        "gold.json": [{"b": ["a fact"]}],
        "bank.jsonl": [{"query_id": "b", "items": [{"question_text": "Why?"}]}],
        "labeller/adapter.safetensors": [],
        "labeller/adapter.json": [adapter | {"labels": list(RELEVANCE_LABELS)}],
        "corpus.jsonl": [{"id": "1", "text": "Aspirin."}, {"text": 3}],
    }
    (tmp_path / "labeller").mkdir()
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return tmp_path


def filled(value: Any, folder: Path) -> Any:
    return value.format(folder=folder) if isinstance(value, str) else value


def from_terminal(name: str, answers: Path, *arguments: str) -> None:
    _, _, errors = call(name, answers, "--quiet", *arguments)
    assert "error: stopped" in errors


def from_python(name: str, answers: Any, **options: Any) -> None:
    with pytest.raises(Stopped), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # audit inputs that could not be read
        getattr(ragassay, name)(answers, **options)


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, cases in CASES.items() for option in cases]
)
def test_an_option_means_the_same_on_the_command_line_and_in_python(name, option, chosen, folder):
    arguments, value = CASES[name][option]
    answers = folder / ("run.jsonl" if option == "questions" else "answers.jsonl")
    beside = {key: filled(text, folder) for key, text in BESIDE.get(option, {}).items()}
    from_terminal(name, answers, *(word.format(folder=folder) for word in arguments.split()))
    from_python(name, answers, **{option: filled(value, folder)}, **beside)
    if option != "questions":
        from_python(name, answers, **beside)
    there, here, *without = chosen
    if "out" not in {option, *beside}:
        assert here.folder is None, "Python makes no folder that nobody named"
        there.folder = None
    assert there == here
    assert [here] != without, "the option has an effect"


@pytest.mark.parametrize(
    ("options", "arguments", "in_python", "in_terminal"),
    [
        ({"evidence_rounds": -1}, "--evidence-rounds -1", "`evidence_rounds=`", "-rounds'"),
        ({"evidence_rounds": 11}, "--evidence-rounds 11", "`evidence_rounds=`", "-rounds'"),
        ({"evidence_turns": 0}, "--evidence-turns 0", "`evidence_turns=`", "-turns'"),
        ({"evidence": "x"}, "--evidence x", "`evidence=`", "'--evidence'"),
        ({"verdict_labels": 5}, "--labels 5", "`verdict_labels=`", "'--labels'"),
        ({"only": "x"}, "--only x", "`only=`", "error: --only:"),
        ({"concurrency": -1}, "--concurrency -1", "`concurrency=`", "'--concurrency'"),
        ({"verifier": ""}, "--verifier ", "`verifier=`", "error: --verifier:"),
        ({"model": ""}, "--judge ", "`model=`", "error: --model / --judge:"),
        ({"when": "x"}, "--when x", "`when=`", "error: --when:"),
        ({"when": "unscored"}, "--when unscored", "set `escalate=`", "set --escalate"),
    ],
)
def test_a_bad_value_is_named_as_the_user_spelled_it(
    options, arguments, in_python, in_terminal, folder
):
    with pytest.raises(SettingsError) as caught:
        ragassay.evaluate(folder / "answers.jsonl", **options)
    assert in_python in str(caught.value)
    code, _, errors = call("evaluate", folder / "answers.jsonl", *arguments.split(" "))
    assert code in (1, 2) and in_terminal in errors


def test_what_is_no_option_is_refused(folder):
    answers = folder / "answers.jsonl"
    with pytest.raises(TypeError, match="unexpected keyword argument 'modle'"):
        ragassay.evaluate(answers, modle="openai/a")
    with pytest.raises(TypeError, match="unexpected keyword argument 'attacks'"):
        ragassay.evaluate(answers, attacks=("rubric",))  # an option of an audit
    with pytest.raises(InputError, match="`limit=` must be at least 1, got 0"):
        ragassay.evaluate(answers, limit=0)


def test_nuggets_are_a_list_for_one_answer_and_a_file_for_many(chosen, folder):
    from_python("evaluate", None, question="q", answer="It is.", nuggets=["a fact"])
    (record,) = chosen[-1].job.records
    assert [nugget.text for nugget in record.nuggets] == ["a fact"] and record.sources == ()
    with pytest.raises(InputError, match="must be a list for a single answer"):
        ragassay.evaluate(question="q", answer="a", nuggets=folder / "gold.json")
    with pytest.raises(InputError, match="with many answers, pass a nugget file"):
        ragassay.evaluate(folder / "answers.jsonl", nuggets=["a fact"])


def test_options_change_settings_and_these_keep_the_environment_out(monkeypatch):
    base = load_settings(model="openai/a", only=("rubrics",))
    monkeypatch.setenv("RAGASSAY_JUDGE__API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("RAGASSAY_PROMPTING__STRATEGY", "few_shot")
    found = create_settings({"concurrency": 3, "model": None, "only": None}, base)
    assert found == base.model_copy(update={"concurrency": 3})
    assert create_settings({"only": (), "prompts": []}, base) == base
    assert create_settings({}).prompting.strategy == "few_shot"
    with pytest.raises(SettingsError, match=r"^concurrency: it must be at least 0"):
        load_settings(concurrency=-1)


def test_rows_and_records_take_the_options_of_files(chosen, folder):
    rows = [RECORD | {"id": name, "topic": name} for name in "abc"]
    records = [ragassay.Record.model_validate(row) for row in rows]
    for answers in (rows, records):
        from_python("evaluate", answers, limit=2, nuggets=folder / "gold.json")
        job = chosen[-1].job
        assert [[n.text for n in record.nuggets] for record in job.records] == [[], ["a fact"]]
        from_python("evaluate", answers)
        assert chosen[-1].job.answers.sha256 != "" and len(chosen[-1].job.records) == 3
    from_python("evaluate", [WITHOUT_QUESTION], questions=folder / "topics.json")
    assert chosen[-1].job.records[0].question == "Why?"
    with pytest.raises(InputError, match="questions cannot be used with records"):
        ragassay.evaluate(records, questions=folder / "topics.json")


def test_a_corpus_of_python_has_a_stamp_and_its_rejections(chosen, folder):
    answers = folder / "answers.jsonl"
    from_python("evaluate", answers, corpus=folder / "corpus.jsonl")
    job = chosen[-1].job
    assert job.corpus_fingerprint.name == "corpus.jsonl"
    assert [Path(rejection.file).name for rejection in job.rejections] == ["corpus.jsonl"]
    fingerprints = []
    for corpus in (["one"], ["two"], ragassay.Corpus()):
        from_python("evaluate", answers, corpus=corpus)
        fingerprints.append(chosen[-1].job.corpus_fingerprint)
    assert [fingerprint.n_items for fingerprint in fingerprints] == [1, 1, 0]
    assert len({fingerprint.sha256 for fingerprint in fingerprints}) == 3


def test_python_warns_of_what_a_result_does_not_say(chosen, folder, monkeypatch):
    given = {"answers": folder / "answers.jsonl", "corpus": folder / "corpus.jsonl"}
    lost = r"1 line was rejected; the first is .*corpus\.jsonl:2: "
    with pytest.warns(UserWarning, match=lost), pytest.raises(Stopped):
        ragassay.audit(**given)
    opened = OpenedCorpus(
        ragassay.Corpus(), FileFingerprint(name="c", sha256="", n_items=0), note="by words"
    )
    monkeypatch.setattr("ragassay.runs.job.open_literature", lambda where, settings: opened)
    for start in (ragassay.evaluate, ragassay.audit):
        with pytest.warns(UserWarning, match="by words"), pytest.raises(Stopped):
            start(**given)


def test_defaults_that_the_help_tells_are_those_of_the_audit():
    options = list_options(AuditKeywords)
    for field in fields(AuditOptions):
        option = options[field.name]
        assert option.default in (field.default, None), field.name
        assert option.default == field.default or not field.default, field.name


def texts_of_help() -> list[tuple[str, str]]:
    """Yield all help texts in the source with their location."""
    found: list[tuple[str, str]] = []
    sources = [*(ROOT / "ragassay/settings").glob("*.py"), ROOT / "ragassay/options.py"]
    commands = (path for folder in ("cli", "*/commands") for path in PACKAGE.glob(f"{folder}/*.py"))
    for path in (*sources, *sorted(commands)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                named = [k.value for k in node.keywords if k.arg in ("help", "description")]
                is_option = ast.unparse(node.func) == "Option"
                for value in (*named, *(node.args[:1] if is_option else ())):
                    if isinstance(value, ast.Constant):
                        found.append((f"{path.name}:{value.lineno}", value.value))
            if isinstance(node, ast.ClassDef):
                for field, text in pairwise(node.body):
                    if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                        written = " ".join(ast.literal_eval(text.value).split())
                        found.append((f"{path.name}:{text.lineno}", written))
            if isinstance(node, ast.FunctionDef):
                entries = (ast.get_docstring(node) or "").partition("\n\nOptions:\n")[2]
                texts = re.findall(r"(?m)^ {4}\w+: (.*(?:\n {8}.*)*)", entries)
                found += [(f"{path.name}:{node.name}", " ".join(one.split())) for one in texts]
    return found


def test_no_option_is_documented_twice():
    places: dict[str, list[str]] = {}
    for place, text in texts_of_help():
        for sentence in text.split(". "):
            if len(sentence.split()) > 3:
                places.setdefault(sentence.strip(" ."), []).append(place)
    assert len(places) > 100
    assert {text: found for text, found in places.items() if len(found) > 1} == {}
    sources = [(ROOT / f"ragassay/{name}.py").read_text("utf-8") for name in ("api", "writing")]
    nodes = [node for source in sources for node in ast.parse(source).body]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    written = [Settings.__doc__ or "", *(ast.get_docstring(node) or "" for node in functions)]
    for option in {*FIELDS, *list_options(EvaluateKeywords), *list_options(AuditKeywords)}:
        assert not any(f"    {option}:" in text for text in written), option


def test_every_setting_and_every_flag_is_documented():
    for name, field in FIELDS.items():
        assert field.description, name
    for name, command in commands().items():
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)


PARTS_ASKED_FOR = {
    ("nuggets, rubrics",): ("nuggets", "rubrics"),
    (" rubrics ",): ("rubrics",),
    ("nuggets,rubrics", "citations"): ("nuggets", "rubrics", "citations"),
    ("nuggets", "rubrics,citations"): ("nuggets", "rubrics", "citations"),
    ("nuggets,rubrics", "rubrics"): ("nuggets", "rubrics"),
    ("sentences,evidence,correctness,grades",): ("sentences", "evidence", "correctness", "grades"),
    ("racar,intents",): ("racar", "intents"),
}


def test_several_parts_are_named_with_commas(monkeypatch):
    for given, parts in PARTS_ASKED_FOR.items():
        assert create_settings({"only": list(given)}).evaluation.only == parts, given
        monkeypatch.setenv("RAGASSAY_EVALUATION__ONLY", ",".join(given))
        assert load_settings().evaluation.only == parts, given
        monkeypatch.setenv("RAGASSAY_EVALUATION__ONLY", json.dumps(given))
        assert load_settings().evaluation.only == parts, given
        monkeypatch.delenv("RAGASSAY_EVALUATION__ONLY")
    assert create_settings({"only": "nuggets,rubrics"}).evaluation.only == ("nuggets", "rubrics")


WRONG_PARTS = {
    "nuggets,rubics": "rubics",
    "rubics,nuggets": "rubics",
    "nuggets;rubrics": "nuggets;rubrics",
    "nuggets rubrics": "nuggets rubrics",
    "nuggets,,rubrics": "",
    "nuggets,": "",
    "Nuggets": "Nuggets",
    "rubric": "rubric",
}


def test_a_wrong_part_lists_the_right_ones(folder, monkeypatch):
    right = "choose from nuggets, rubrics, sentences, evidence, correctness, citations, grades, r"
    for given, wrong in WRONG_PARTS.items():
        with pytest.raises(SettingsError, match=f"unknown part '{wrong}'; {right}"):
            create_settings({"only": [given]})
        _, errors = run("evaluate", folder / "answers.jsonl", "--only", given, "--dry-run", code=1)
        assert right in errors, given
    monkeypatch.setenv("RAGASSAY_EVALUATION__ONLY", "[rubrics")
    with pytest.raises(SettingsError, match=r"EVALUATION__ONLY: .*names separated by commas"):
        load_settings()


def test_parts_and_an_evaluator_of_ones_own_are_named_together():
    @ragassay.evaluator
    def brevity(case) -> bool:
        return len(case.answer) < 100

    evaluators = build_run(load_settings(only="citations,brevity"), evaluators=[brevity]).evaluators
    assert {"citation", "brevity"} <= {one.name for one in evaluators}
    assert {one.part for one in evaluators} == {"citations", "brevity"}
    with pytest.raises(SettingsError, match=r"part 'brevty'; choose from nuggets.*, brevity"):
        build_run(load_settings(only="citations,brevty"), evaluators=[brevity])
