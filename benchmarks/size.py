"""Count lines of the package and its tests, for the tables in `docs/lab/size.md`.

    python benchmarks/size.py

The first line counts the kinds of lines in the package, and the table counts lines by feature.
A module belongs to the first feature with a pattern that matches its path. A test belongs to the
first feature whose regular expression matches its path. Otherwise it belongs to the feature from
which it imports most, ignoring features shared by all if it imports others.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ragassay"


@dataclass(frozen=True)
class Feature:
    """A feature with path patterns of its modules and a regular expression for its tests."""

    name: str
    modules: str
    tests: str = "$^"


FEATURES = (
    Feature("files: TREC RAG, BioGen", "formats/trec_*", "biogen|trec_rag"),
    Feature("files: nuggetizer", "formats/nuggetizer formats/assignments", "nuggetizer"),
    Feature(
        "files: MedAESQA, YESciEval, SummEval, USR, labels",
        "formats/medaesqa formats/yescieval formats/rated_texts formats/labels",
        "medaesqa|summeval|usr|test_yescieval",
    ),
    Feature(
        "files: ragas, DeepEval, RAGChecker",
        "formats/ragas_deepeval formats/ragchecker",
        "deepeval|ragas_|ragchecker",
    ),
    Feature(
        "files: frameworks, providers' replies, chats, documents",
        "formats/exports formats/repl* formats/conversations formats/objects formats/documents",
        "export|repl(y|ies)|conversation|objects",
    ),
    Feature(
        "files: BioASQ, PubMedQA, claims",
        "formats/qa_collections formats/claims",
        "bioasq|pubmedqa|test_claims",
    ),
    Feature("files: corpora, qrels, runs", "formats/retrieval", "qrel"),
    Feature(
        "SciQAG",
        "qa/* formats/papers/* graphs/qa graphs/qa_* agents/qa_writer agents/pair_raters "
        "metrics/papers/sciqag evaluators/pairs records/qa instruments/pair_rater "
        "testing/pairs text/keywords",
        "qa/|papers/|_qa|qa_|jats",
    ),
    Feature(
        "workbench: test banks",
        "workbench/bank_* formats/workbench/bank* formats/exam_queries runs/banks "
        "workbench/commands/testbank* agents/writers graphs/writing",
        "bank",
    ),
    Feature(
        "workbench: grading",
        "workbench/grad* workbench/commands/grad* workbench/passages agents/passage_graders "
        "evaluators/passage_grades "
        "instruments/exam_grader instruments/local_graders models/local_answers text/answer_match "
        "records/exam formats/workbench/*",
        "grade|grading|exam",
    ),
    Feature(
        "workbench: oversight, cover, leaderboards, qrels",
        "workbench/* reports/comparison",
        "oversight|leaderboard|cover",
    ),
    Feature("review page", "review/* formats/reviews runs/journal", "review/"),
    Feature(
        "audit by perturbations",
        "studies/audit* studies/certificate studies/commands/audit perturbations/* runs/audit_job "
        "records/audit reports/audit_report reports/certificate",
        "perturbations/|audit",
    ),
    Feature(
        "study: strategies",
        "studies/strateg* studies/commands/studies metrics/papers/strategies",
        "strateg",
    ),
    Feature("study: rationales", "studies/rational* metrics/papers/rationales", "rationale"),
    Feature(
        "study: matrix, self-preference",
        "studies/matrix* studies/ratings studies/commands/matrix",
        "matrix|test_ratings",
    ),
    Feature(
        "study: similarity", "studies/similarity studies/text_similarity", "similarity|transport"
    ),
    Feature("study: syntheses", "studies/synthes* studies/commands/synthesize", "synthes"),
    Feature("study: repeats", "studies/repeats", "repeats"),
    Feature(
        "study: judges against humans",
        "studies/meta_evaluation studies/commands/meta_evaluate studies/trust "
        "metrics/stats/alignment metrics/papers/rankings "
        "runs/people",
        "meta_eval|alignment|trust|people",
    ),
    Feature(
        "verifiers, fact checkers and their study",
        "studies/verifiers/* studies/commands/verifiers models/fact_checkers models/scorers "
        "models/written_labels models/verifiers models/token_vectors models/correctness "
        "models/local_readers metrics/papers/verifier_scores",
        "verifier|checkers|scorers|written_labels|correctness|separation",
    ),
    Feature("published judges", "agents/published_judge prompts/model_forms", "published"),
    Feature("batch interfaces", "models/batch* testing/batch_server", "batch"),
    Feature("Ray", "runs/distributed/*", "distributed|hub|_ray"),
    Feature("serve", "models/serving/*", "serving"),
    Feature(
        "models in the same process (SmolLM2)",
        "models/local/* models/tuned agents/tuned_judge models/hosting",
        "engine|provider|tuned|packed",
    ),
    Feature(
        "local servers, probe",
        "models/local_servers models/probe cli/local_servers models/availability",
        "local_server|availability|probe",
    ),
    Feature("tracing", "tracing", "tracing|collector"),
    Feature("run an application", "applications/*", "applications/"),
    Feature(
        "optimize (DSPy)",
        "optimizers/compiling/* prompts/compiled cli/optimize",
        "optimizers/compiling",
    ),
    Feature("finetune", "optimizers/finetuning/* cli/finetune", "finetuning|training/"),
    Feature(
        "nugget matcher fitted to data",
        "optimizers/nugget_matching runs/nugget_matching",
        "nugget_match|matcher",
    ),
    Feature(
        "nugget lists",
        "graphs/nugget* runs/nuggets agents/nugget_writers cli/nuggets",
        "nugget_(graph|writ|lists)|cli/test_nuggets",
    ),
    Feature("PubMed", "retrievers/pubmed/*", "pubmed|entrez"),
    Feature("corpora: disk, dense, fusion, reranking", "retrievers/*", "retrievers/"),
    Feature(
        "search for evidence",
        "graphs/evidence* graphs/passage_choice agents/evidence_search",
        "evidence|sufficiency",
    ),
    Feature(
        "signals (ratings without a model)",
        "instruments/signals/* judges/signals models/fitted_raters records/signals",
        "signals|rater",
    ),
    Feature(
        "encoders: built-in verifier, embeddings",
        "instruments/encoder_verifier models/cross_encoder models/entailment models/minilm "
        "models/layers models/adapters/* models/weights models/embeddings models/computed "
        "models/fitted_models models/decisions",
        "encoder|minilm|embed|entail",
    ),
    Feature(
        "panel, cascade",
        "judges/panel reports/panel_view metrics/stats/panel_agreement "
        "metrics/stats/joint_judgments metrics/stats/uncertainty",
        "panel|cascade",
    ),
    Feature(
        "compare runs, thresholds",
        "runs/compare runs/gates runs/past reports/changes reports/answer_changes "
        "reports/past_runs metrics/stats/changes metrics/stats/leaderboard cli/compare",
        "compare|gates|changes|baseline",
    ),
    Feature("pytest plugin", "pytest_plugin/*", "pytest_plugin"),
    Feature("test doubles (`ragassay.testing`)", "testing/*", "tests/testing"),
    Feature("citations in texts", "text/citation* text/bibliography text/markup", "citation|bibli"),
    Feature("numbers and units in texts", "text/number* text/quantities text/units", "number|unit"),
    Feature("files: shared reader code", "formats/*", "tests/formats/"),
    Feature("texts: sentences, statements, search", "text/*", "tests/text/"),
    Feature("reports", "reports/*", "tests/reports/"),
    Feature("gateway to LiteLLM", "models/*"),
    Feature("commands: shared code", "cli/*", "tests/cli/"),
    Feature("statistics, scores of the papers", "metrics/*", "tests/metrics/"),
    Feature("evaluators, graphs", "evaluators/* graphs/*", "tests/(evaluators|graphs)/"),
    Feature(
        "agents, judges, prompts",
        "agents/* judges/* prompts/* instruments/*",
        "tests/(agents|prompts)/",
    ),
    Feature("runs", "runs/*", "tests/runs/"),
    Feature("records, settings, options, Python", "*"),
)
SHARED = {one.name for one in FEATURES[-10:]} | {"test doubles (`ragassay.testing`)"}


def feature_of(path: Path) -> str:
    name = str(path.relative_to(PACKAGE).with_suffix(""))
    patterns = ((one.name, pattern) for one in FEATURES for pattern in one.modules.split())
    return next(feature for feature, pattern in patterns if fnmatch(name, pattern))


def tested_feature(path: Path, features: Mapping[str, str]) -> str:
    name = str(path.relative_to(ROOT))
    for feature in FEATURES:
        if re.search(feature.tests, name):
            return feature.name
    counts = Counter(
        features[module]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        for module in (f"{node.module}.{alias.name}", node.module)
        if module in features
    )
    own = Counter({name: n for name, n in counts.items() if name not in SHARED})
    return next((name for name, _ in (own or counts).most_common(1)), FEATURES[-1].name)


def n_lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def count_kinds(path: Path) -> Counter[str]:
    """Count lines of code, docstrings, imports, comments and blank lines."""
    lines = path.read_text("utf-8").splitlines()
    starts = [line.strip()[:1] for line in lines]
    kinds = [{"": "blank", "#": "comments"}.get(start, "code") for start in starts]
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            kinds[node.lineno - 1 : node.end_lineno] = ["imports"] * n_spanned(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node):
                text = node.body[0]
                kinds[text.lineno - 1 : text.end_lineno] = ["docstrings"] * n_spanned(text)
    return Counter(kinds)


def n_spanned(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main() -> None:
    kinds = sum(map(count_kinds, PACKAGE.rglob("*.py")), Counter[str]())
    print(", ".join(f"{name}: {n:,}" for name, n in kinds.most_common()))
    features: dict[str, str] = {}
    modules, lines, tests = Counter[str](), Counter[str](), Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        features[name] = feature = feature_of(path)
        modules[feature] += 1
        lines[feature] += n_lines(path)
    for path in (ROOT / "tests").rglob("*.py"):
        tests[tested_feature(path, features)] += n_lines(path)
    for name, n in lines.most_common():
        print(f"| {name} | {modules[name]} | {n:,} | {tests[name]:,} |")
    print(f"| all | {modules.total()} | {lines.total():,} | {tests.total():,} |")


if __name__ == "__main__":
    main()
