"""Rules that every module is held to: nothing runs what it reads, and names are the field's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from case_tables import each_case
from conftest import ROOT

PLACES = ("ragassay", "training")

PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
"""Modules that build what a file names; the name of their error is no way to read one."""

BUILTINS = {"eval", "exec", "compile", "__import__"}

CALLS = {
    ("yaml", "load"),
    ("yaml", "load_all"),
    ("yaml", "full_load"),
    ("yaml", "unsafe_load"),
    ("os", "system"),
    ("os", "popen"),
    ("jinja2", "Template"),
}
ATTRIBUTES = {"from_string", "set_default_unsafe", "add_safe_globals"}
"""Methods that make a template of a text, or trust what a file names."""

WANTED = {"torch.load": ("weights_only", True), "from_pretrained": ("trust_remote_code", False)}
FORBIDDEN = {
    "trust_remote_code": True,
    "allow_pickle": True,
    "pickle_fallback": True,
    "shell": True,
    "weights_only": False,
    "autoescape": False,
}


def breaches(source: str) -> Iterator[str]:
    """Yield what a module does that could run code of others."""
    for node in ast.walk(ast.parse(source)):
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


MODULES = [path for place in PLACES for path in sorted((ROOT / place).rglob("*.py"))]


def test_no_module_can_run_what_it_reads():
    found = {
        f"{path.relative_to(ROOT)}: {breach}"
        for path in MODULES
        for breach in breaches(path.read_text(encoding="utf-8"))
    }
    assert len(MODULES) > 100
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
def test_the_walk_finds_each_way(source: str):
    assert list(breaches(source)) != []


@pytest.mark.parametrize(
    "source",
    [
        "from pickle import UnpicklingError",
        "re.compile(x)",
        "yaml.safe_load(x)",
        "torch.load(p, weights_only=True)",
    ],
)
def test_the_walk_lets_the_others_pass(source: str):
    assert list(breaches(source)) == []


def test_the_wheel_has_no_file_of_a_pickle():
    suffixes = {".pkl", ".pickle", ".joblib", ".bin", ".pt", ".pth", ".ckpt", ".dill"}
    found = [path for path in (ROOT / "ragassay").rglob("*") if path.suffix in suffixes]
    assert found == []


MOST_UNDECIDED = 8
"""Modules that may have the word "undecided" in their code: its record, its display, the condition
under which a second judge is asked, and the options that name it."""


def strings_of(source: str) -> Iterator[str]:
    """Yield the texts in a module's code, docstrings left out."""
    tree = ast.parse(source)
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (one.value for one in texts if isinstance(one.value, str) and id(one) not in alone)


def test_few_modules_have_a_word_of_their_own_for_what_is_undecided():
    own = [
        path
        for path in (ROOT / "ragassay").rglob("*.py")
        if any(
            re.search(r"\bundecided\b", one, re.I) for one in strings_of(path.read_text("utf-8"))
        )
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
    package = [p for p in (ROOT / "ragassay").rglob("*") if p.suffix in {".py", ".j2"}]
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [
        f"{path.relative_to(ROOT)}:{n}: {word[0]}"
        for path in (*package, *pages)
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in HOUSE_WORDS.finditer(line)
    ]
    assert package and found == []


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


def definitions() -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of the package with its module."""
    for path in sorted((ROOT / "ragassay").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        yield from ((name, node) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def test_no_identifier_is_a_private_word():
    found = set()
    for module, node in definitions():
        names = {
            ast.Name: ("id",),
            ast.Attribute: ("attr",),
            ast.arg: ("arg",),
            ast.FunctionDef: ("name",),
            ast.AsyncFunctionDef: ("name",),
            ast.ClassDef: ("name",),
        }.get(type(node), ())
        found |= {(module, x) for n in names if (x := getattr(node, n).lower()) in HOUSE_NAMES}
    assert found == set()


def described(node: ast.AST, heading: str) -> list[str]:
    """Return the names that a docstring lists under a heading."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    found = re.search(rf"^{heading}:\n((?:    .*\n?|\n)*)", text, re.MULTILINE)
    return re.findall(r"^    \*{0,2}(\w+):", found[1], re.MULTILINE) if found else []


def test_docstrings_name_parameters_and_attributes_that_there_are():
    wrong = set()
    for module, node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            known = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            wrong |= {(module, node.name, x) for x in described(node, "Args") if x not in known}
        elif isinstance(node, ast.ClassDef):
            text = "\n".join(ast.unparse(one) for one in (*node.body[1:], *node.decorator_list))
            names = described(node, "Attributes")
            wrong |= {(module, node.name, x) for x in names if not re.search(rf"\b{x}\b", text)}
    assert wrong == set()


def test_a_class_name_stands_once_in_the_package():
    places: dict[str, list[str]] = {}
    for module, node in definitions():
        if isinstance(node, ast.ClassDef):
            places.setdefault(node.name.lstrip("_"), []).append(module)
    assert len(places) > 100
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_function_is_named_by_a_bare_participle():
    found = set()
    for module, node in definitions():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
        if not is_property and PARTICIPLES.match(node.name) and node.name.strip("_") not in VERBS:
            found.add((module, node.name))
    assert found == set()


def is_private(name: str) -> bool:
    """Whether a name is private; `_repr_html_` is a protocol's."""
    return name.startswith("_") and not name.endswith("_")


def private_names(source: str) -> Iterator[str]:
    """Yield each private name of the package, or of an object, that a test's module reads."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragassay"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from filter(is_private, names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"ragassay(?:\.\w+)+", node.value):
                yield from filter(is_private, node.value.split("."))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("attr"):
            texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and is_private(text))


def careless_waits(source: str) -> Iterator[str]:
    """Yield where a test's module sleeps for a time, or takes any exception."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"):
                yield "takes any exception"
        elif isinstance(node, ast.Call) and node.args:
            name, first = ast.unparse(node.func), ast.unparse(node.args[0])
            if name in ("time.sleep", "asyncio.sleep") and first != "0":
                yield "sleeps"
            if name in ("pytest.raises", "suppress") and first in ("Exception", "BaseException"):
                yield "takes any exception"


TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("walk", [private_names, careless_waits])
def test_tests_are_held_to_their_rules(walk: Callable[[str], Iterator[str]]):
    found = {
        f"{path.relative_to(ROOT)}: {breach}"
        for path in TEST_MODULES
        for breach in walk(path.read_text(encoding="utf-8"))
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
def test_the_walk_finds_careless_waits(source: str, breaches: list[str]):
    assert list(careless_waits(source)) == breaches


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
def test_the_walk_finds_private_names(source: str, names: list[str]):
    assert list(private_names(source)) == names
