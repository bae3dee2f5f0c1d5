"""Rules that every module is held to: nothing runs what it reads, and names are the field's."""

from __future__ import annotations

import ast
import graphlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, KeysView
from pathlib import Path

import pytest
from case_tables import each_case
from conftest import ROOT

PACKAGE = sorted((ROOT / "ragassay").rglob("*.py"))
TRAINING = sorted((ROOT / "training").rglob("*.py"))
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))

Nodes = Iterable[ast.AST]


def nodes_of(module: Path | str) -> list[ast.AST]:
    """Return all nodes of a module, given by its path or its source."""
    source = module.read_text(encoding="utf-8") if isinstance(module, Path) else module
    return list(ast.walk(ast.parse(source)))


@pytest.fixture(scope="module")
def package() -> dict[str, list[ast.AST]]:
    """Parse each module of the package once for all rules."""
    return {str(path.relative_to(ROOT)): nodes_of(path) for path in PACKAGE}


PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
"""Modules that build what a file names; the name of their error is no way to read one."""

BUILTINS = {"eval", "exec", "compile", "__import__"}

CALLS = {
    *(("yaml", name) for name in ("load", "load_all", "full_load", "unsafe_load")),
    *(("os", "system"), ("os", "popen"), ("jinja2", "Template")),
}
ATTRIBUTES = {"from_string", "set_default_unsafe", "add_safe_globals"}
"""Methods that make a template of a text, or trust what a file names."""

WANTED = {"torch.load": ("weights_only", True), "from_pretrained": ("trust_remote_code", False)}
FORBIDDEN = {
    **dict.fromkeys(("trust_remote_code", "allow_pickle", "pickle_fallback", "shell"), True),
    **dict.fromkeys(("weights_only", "autoescape"), False),
}


def breaches(nodes: Nodes) -> Iterator[str]:
    """Yield what a module does that could run code of others."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
            yield from (f"imports {name}" for name in names & PICKLES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PICKLES:
            names = {alias.name for alias in node.names} - {"UnpicklingError"}
            yield from (f"imports {name}" for name in names)
        elif isinstance(node, ast.Call):
            yield from _calls(node)


def _calls(call: ast.Call) -> Iterator[str]:
    given = {one.arg: one.value for one in call.keywords if one.arg}
    for name, value in FORBIDDEN.items():
        if isinstance(one := given.get(name), ast.Constant) and one.value is value:
            yield f"calls with {name}={value}"
    if isinstance(call.func, ast.Name) and call.func.id in BUILTINS:
        yield f"calls {call.func.id}"
    if not isinstance(call.func, ast.Attribute):
        return
    owner = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
    if (owner, call.func.attr) in CALLS or call.func.attr in ATTRIBUTES:
        yield f"calls {owner}.{call.func.attr}"
    for asked, (name, value) in WANTED.items():
        is_asked = asked in (f"{owner}.{call.func.attr}", call.func.attr)
        # An adapter's weights are safetensors, and its configuration names no code.
        if is_asked and owner != "PeftModel":
            found = given.get(name)
            if not (isinstance(found, ast.Constant) and found.value is value):
                yield f"calls {asked} without {name}={value}"


def test_no_module_can_run_what_it_reads(package):
    modules = package | {str(path.relative_to(ROOT)): nodes_of(path) for path in TRAINING}
    found = {f"{name}: {one}" for name, nodes in modules.items() for one in breaches(nodes)}
    assert len(package) > 100 and len(modules) > len(package)
    assert found == set()


@each_case(
    "source",
    [
        "import pickle",
        "import joblib.numpy_pickle",
        "from pickle import loads",
        "from dill import load",
        "yaml.load(text)",
        "yaml.load(text, Loader=yaml.Loader)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "AutoModel.from_pretrained(name)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "SentenceTransformer(name, trust_remote_code=True)",
        "np.load(path, allow_pickle=True)",
        "JsonPlusSerializer(pickle_fallback=True)",
        "eval(text)",
        "exec(text)",
        "os.system(text)",
        "subprocess.run(text, shell=True)",
        "environment.from_string(text)",
        "Environment(autoescape=False)",
    ],
)
def test_the_walk_finds_each_way(source):
    assert list(breaches(nodes_of(source))) != []


@pytest.mark.parametrize(
    "source",
    [
        *("from pickle import UnpicklingError", "re.compile(x)", "yaml.safe_load(x)"),
        "torch.load(p, weights_only=True)",
    ],
)
def test_the_walk_lets_the_others_pass(source):
    assert list(breaches(nodes_of(source))) == []


def test_the_wheel_has_no_file_of_a_pickle():
    suffixes = {".pkl", ".pickle", ".joblib", ".bin", ".pt", ".pth", ".ckpt", ".dill"}
    found = [path for path in (ROOT / "ragassay").rglob("*") if path.suffix in suffixes]
    assert found == []


MOST_UNDECIDED = 8
"""Modules that may have the word "undecided" in their code: its record, its display, the condition
under which a second judge is asked, and the options that name it."""


def strings_of(nodes: Nodes) -> Iterator[str]:
    """Yield the texts in a module's code, docstrings left out."""
    texts = [node for node in nodes if isinstance(node, ast.Constant)]
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    yield from (one.value for one in texts if isinstance(one.value, str) and id(one) not in alone)


def test_few_modules_have_a_word_of_their_own_for_what_is_undecided(package):
    own = [
        name
        for name, nodes in package.items()
        if any(re.search(r"\bundecided\b", one, re.I) for one in strings_of(nodes))
    ]
    assert 0 < len(own) <= MOST_UNDECIDED, own


HOUSE_WORDS = re.compile(
    r"\b(?:seats?|seated|jury|confers?|pleas?|parcels?|desks?|doors?|shelf|shelves|strange|untuned"
    r"|toolbox|stamps?|note_of|bears? out|borne out)\b|CaseFile|OpenFiles|UnderWay|SignalMeter"
    r"|Damaged(?:Answer|Pair)",
    re.IGNORECASE,
)
"""Words of our own for what the field has a term for; docs/lab quotes what was tried under them."""


def test_no_private_word_stands_where_the_field_has_a_term():
    files = [*PACKAGE, *(ROOT / "ragassay").rglob("*.j2")]
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, word.start()) + 1}: {word[0]}"
        for path in (*files, *pages)
        for text in [path.read_text(encoding="utf-8")]
        for word in HOUSE_WORDS.finditer(text)
    ]
    assert len(files) > len(PACKAGE) > 100 and found == []


HOUSE_NAMES = {
    *("said", "leaning", "leanings", "heads", "looks", "worth", "settled", "standing", "subjects"),
    *("note_of", "seat", "jury", "under_way", "meter_of", "toolbox", "tools_of", "make_tools"),
    *("given", "spelled", "damage", "look", "confer", "bearing", "wording_of"),
}
"""Identifiers that the code does not use: `value`, `tentative_label`, `primary_findings` and so on
are the field's terms."""

PARTICIPLES = re.compile(
    r"_?(?:told|kept|found|lost|made|given|asked|said|seen|written|shown|built|taken|known|drawn"
    r"|held|cut|met|sent|left|[a-z]+ed)$"
)
VERBS = {"embed", "feed", "need", "proceed", "exceed", "seed", "speed"}
"""Words that end as a participle does."""


NAMED: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}
"""The attribute of a node that is an identifier."""


def definitions(package: dict[str, list[ast.AST]], *kinds: type) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node of these kinds with its module."""
    yield from ((name, x) for name, nodes in package.items() for x in nodes if type(x) in kinds)


def test_no_identifier_is_a_private_word(package):
    names = {
        (module, getattr(node, NAMED[type(node)]).lower())
        for module, node in definitions(package, *NAMED)
    }
    assert len(names) > 10_000
    assert {(module, name) for module, name in names if name in HOUSE_NAMES} == set()


def described(node: ast.AST, heading: str) -> list[str]:
    """Return the names that a docstring lists under a heading."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    found = re.search(rf"^{heading}:\n((?:    .*\n?|\n)*)", text, re.MULTILINE)
    return re.findall(r"^    \*{0,2}(\w+):", found[1], re.MULTILINE) if found else []


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_docstrings_name_parameters_and_attributes_that_there_are(package):
    wrong = set()
    for module, node in definitions(package, *FUNCTIONS):
        if names := described(node, "Args"):
            known = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            wrong |= {(module, node.name, name) for name in names if name not in known}
    for module, node in definitions(package, ast.ClassDef):
        if names := described(node, "Attributes"):
            text = "\n".join(ast.unparse(one) for one in (*node.body[1:], *node.decorator_list))
            words = set(re.findall(r"\w+", text))
            wrong |= {(module, node.name, name) for name in names if name not in words}
    assert wrong == set()


def test_a_class_name_stands_once_in_the_package(package):
    places: dict[str, list[str]] = {}
    for module, node in definitions(package, ast.ClassDef):
        places.setdefault(node.name.lstrip("_"), []).append(module)
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_function_is_named_by_a_bare_participle(package):
    found = set()
    for module, node in definitions(package, *FUNCTIONS):
        if PARTICIPLES.match(node.name) and node.name.strip("_") not in VERBS:
            if not any("property" in ast.unparse(one) for one in node.decorator_list):
                found.add((module, node.name))
    assert found == set()


NOUNS = set(
    """adapter answers bank best by cell citation cited claims content digest doubt evidence example
    examples fields figures final finding first full identity in instrument item judged key kind
    line lines listed marked messages n names next nugget numbers object one other own page papers
    parts passage plain probabilities prompt rated rating ratings reason references refusal
    relevance reply response result row rows same second sentence sentences shares sheet shipped
    shown signature single source sources span spans status table text texts title token tokens
    unknown usage value values vectors verdict verdicts whole without words""".split()
)
"""Words that begin no function, because a function is a verb with an object. Named measures such as
`f1_score` and the documented methods of evaluators (`items`, `scores`) begin with other words."""


def test_a_function_is_a_verb_with_an_object(package):
    names = {
        (module, node.name)
        for module, node in definitions(package, *FUNCTIONS)
        if not node.name.startswith("__")
        if not any("property" in ast.unparse(one) for one in node.decorator_list)
    }
    assert len(names) > 4_000
    wrong = {(module, name) for module, name in names if name.strip("_").split("_")[0] in NOUNS}
    assert wrong | {(module, name) for module, name in names if name.endswith("_of")} == set()


def test_blanket_excepts_stand_only_at_boundaries(package):
    allowed = {
        "applications/asking.py": 1,  # a question to an application
        "cli/base.py": 1,  # a usage error, whose class Typer keeps to itself
        "formats/papers/pdf.py": 1,  # a file, which may be damaged in any way
        "graphs/qa.py": 1,  # a call, whose failure is kept
        "formats/tables.py": 1,  # a damaged workbook
        "models/batch_services.py": 1,  # every provider's errors are typed here
        "models/batch_queue.py": 3,  # the calls that wait for a batch learn of its error
        "models/computed.py": 2,  # a cache of damaged files, which never fails the work
        "models/decisions.py": 1,  # every provider's errors are typed here
        "models/gateway.py": 1,  # every provider's errors are typed here
        "models/local/batcher.py": 1,  # the engine's thread answers every caller
        "models/prompt_caching.py": 1,  # LiteLLM's, for a model that it does not list
        "optimizers/compiling/compiling_lm.py": 1,  # a loop's thread hands its error to the caller
        "models/serving/requests.py": 1,  # a request
        "graphs/case.py": 1,  # a question
        "runs/engine.py": 1,  # a record
        "process.py": 1,  # a thread hands its error to the caller
        "tracing.py": 1,  # a span ends with the error of what it spans
    }
    found = Counter(
        module.removeprefix("ragassay/")
        for module, node in definitions(package, ast.ExceptHandler)
        if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
    )
    blanket = {name: n for name, n in found.items() if not name.startswith("testing/")}
    assert {name: n for name, n in blanket.items() if n > allowed.get(name, 0)} == {}


def imported(nodes: Nodes, modules: KeysView[str]) -> set[str]:
    """The modules of ours that one names in an import, also one for types or in a function."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{one.name}" for one in node.names}
            found |= (names & modules) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found & modules


def test_no_module_imports_itself_in_a_circle(package):
    modules = {
        name.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): nodes
        for name, nodes in package.items()
    }
    graph = {name: imported(nodes, modules.keys()) - {name} for name, nodes in modules.items()}
    # Raises with the circle, if there is one.
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(modules)


def test_no_module_catches_groups_with_a_star(package):
    """Errors raised in `except*` are wrapped in a group before Python 3.11.4."""
    assert [module for module, _ in definitions(package, ast.TryStar)] == []


RIDDLES = {"What", "Who", "How", "Whether"}


def test_no_docstring_opens_with_a_riddle(package):
    found = []
    for module, node in definitions(package, ast.Module, ast.ClassDef, *FUNCTIONS):
        words = (ast.get_docstring(node) or "").split()
        if words and words[0] in RIDDLES and not getattr(node, "name", "").startswith("_"):
            found.append((module, getattr(node, "lineno", 1), *words[:9]))
    assert found == []


def is_private(name: str) -> bool:
    """Whether a name is private; `_repr_html_` is a protocol's."""
    return name.startswith("_") and not name.endswith("_")


def last_name(called: ast.AST) -> str:
    """Return the function's own name of a call: `sleep` of `time.sleep`."""
    return getattr(called, "attr", getattr(called, "id", ""))


def private_names(nodes: Nodes) -> Iterator[str]:
    """Yield each private name of the package, or of an object, that a test's module reads."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragassay"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from filter(is_private, names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"ragassay(?:\.\w+)+", node.value):
                yield from filter(is_private, node.value.split("."))
        elif isinstance(node, ast.Call) and last_name(node.func).endswith("attr"):
            texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and is_private(text))


WAITS = {"sleep", "raises", "suppress"}


def careless_waits(nodes: Nodes) -> Iterator[str]:
    """Yield where a test's module sleeps for a time, or takes any exception."""
    for node in nodes:
        if isinstance(node, ast.ExceptHandler):
            if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"):
                yield "takes any exception"
        elif isinstance(node, ast.Call) and node.args and last_name(node.func) in WAITS:
            name, first = ast.unparse(node.func), ast.unparse(node.args[0])
            if name in ("time.sleep", "asyncio.sleep") and first != "0":
                yield "sleeps"
            if name in ("pytest.raises", "suppress") and first in ("Exception", "BaseException"):
                yield "takes any exception"


def test_tests_are_held_to_their_rules():
    found = {
        f"{path.relative_to(ROOT)}: {breach}"
        for path in TEST_MODULES
        for nodes in [nodes_of(path)]
        for breach in (*private_names(nodes), *careless_waits(nodes))
    }
    assert len(TEST_MODULES) > 300
    assert found == set()


@each_case(
    ("source", "breaches"),
    [
        ("time.sleep(0.1)", ["sleeps"]),
        ("await asyncio.sleep(30)", ["sleeps"]),
        ("await asyncio.sleep(0)", []),
        ("try:\n    a()\nexcept Exception:\n    pass", ["takes any exception"]),
        ("try:\n    a()\nexcept:\n    pass", ["takes any exception"]),
        ("with pytest.raises(Exception, match='x'):\n    a()", ["takes any exception"]),
        ("with pytest.raises(ValueError):\n    a()", []),
    ],
)
def test_the_walk_finds_careless_waits(source, breaches):
    assert list(careless_waits(nodes_of(source))) == breaches


@each_case(
    ("source", "names"),
    [
        ("from ragassay.errors import _PLAIN", ["_PLAIN"]),
        ("from ragassay._own import read", ["_own"]),
        ("errors._PLAIN", ["_PLAIN"]),
        ("grader.model._loaded()", ["_loaded"]),
        ('monkeypatch.setattr("ragassay.errors._PLAIN", ())', ["_PLAIN"]),
        ('monkeypatch.setattr(Embedder, "_loaded", load)', ["_loaded"]),
        ('getattr(engine, "_chat")', ["_chat"]),
        ("self._kept = shown._repr_html_()", []),
        ("from ragassay.errors import simplify_message", []),
        ("errors.__name__", []),
    ],
)
def test_the_walk_finds_private_names(source, names):
    assert list(private_names(nodes_of(source))) == names
