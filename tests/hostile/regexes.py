"""Every regular expression of the package, and the texts that it is worst at."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ROOT = Path(__file__).parents[2]
CALLS = {"compile", "sub", "subn", "findall", "finditer", "search", "match", "fullmatch", "split"}
FLAGS_AT = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
"""Which argument holds the flags; 2 for the rest."""
ANYWHERE = ("search", "match", "fullmatch")
TRIED_AT = {"match": "match", "fullmatch": "fullmatch"}
"""All other methods begin at every character, as `search` does."""
LIKELY = " a1.\n[(\"'<"
PAIRS = ("a-", "1-", "1.", "1,", "a ", "1 ", "A ", "a, ", "a. ", "(a ", "a/", "Aa", "a'")
ORDINARY = "a1A0 \t\n.,;:-_/\\'\"()[]{}<>=+*#%@!?|&^~$x\u00e9\u0130\u2013\u2019\u3002\x00"


@dataclass(frozen=True)
class Expression:
    """One regular expression, where it stands, and how it is asked."""

    place: str
    pattern: str | bytes
    flags: int
    method: str

    @property
    def name(self) -> str:
        """For the line of a failed case."""
        return f"{self.place} {self.method}"

    def compiled(self) -> re.Pattern[Any]:
        return re.compile(self.pattern, self.flags)


class Sampled(dict[str, object]):
    """The names of a function that a pattern is put together from: a word for each."""

    def __init__(self, known: Mapping[str, object], loops: Mapping[str, object]) -> None:
        super().__init__(loops)
        self.known = known

    def __missing__(self, name: str) -> str:
        if name in self.known or hasattr(builtins, name):
            raise KeyError(name)
        return "word"


@functools.cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted((ROOT / "ragassay").rglob("*.py"))}


@functools.cache
def _asked() -> dict[Path | None, dict[str, set[str]]]:
    """By file, and over all files: the methods used of what has a name, or a function gives."""
    everywhere: dict[str, set[str]] = {}
    asked: dict[Path | None, dict[str, set[str]]] = {None: everywhere}
    for path, tree in _trees().items():
        here = asked[path] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in CALLS:
                of = node.value.func if isinstance(node.value, ast.Call) else node.value
                name = getattr(of, "id", getattr(of, "attr", ""))
                here.setdefault(name, set()).add(node.attr)
                everywhere.setdefault(name, set()).add(node.attr)
    return asked


def _named(tree: ast.Module) -> dict[int, str]:
    """By the identity of a node inside of it: the name that is assigned, or the function."""
    names: dict[int, str] = {}
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.FunctionDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = getattr(node.targets[0], "id", "")
        if name:
            names.update((id(inner), name) for inner in ast.walk(node))
    return names


def _methods(path: Path, call: ast.Call, names: Mapping[int, str]) -> set[str]:
    method = getattr(call.func, "attr", "")
    if method != "compile":
        return {TRIED_AT.get(method, "search")}
    name = names.get(id(call), "")
    used = _asked()[path].get(name, set()) or _asked()[None].get(name, set())
    return {TRIED_AT.get(one, "search") for one in used - {"compile"}} or set(ANYWHERE)


def _is_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and getattr(node.func.value, "id", "") == "re"
        and node.func.attr in CALLS
    )


def expressions(loops: Mapping[tuple[str, str], tuple[str, ...]]) -> Iterator[Expression]:
    """Every expression of the package, once for each way in which it is asked.

    Args:
        loops: by file and name: the patterns that a variable takes in turn, where the whole
            pattern is a variable.
    """
    for path, tree in _trees().items():
        calls = [node for node in ast.walk(tree) if _is_call(node)]
        if not calls:
            continue
        file = path.relative_to(ROOT).as_posix()
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        names = _named(tree)
        for call in calls:
            assert isinstance(call, ast.Call)
            source = ast.unparse(call.args[0])
            patterns = loops.get((file, source)) or (_value(call.args[0], vars(module)),)
            flags = _flags(call, vars(module))
            for pattern in patterns:
                for method in sorted(_methods(path, call, names)):
                    yield Expression(f"{file}:{call.lineno}", pattern, flags, method)


def _value(node: ast.expr, known: dict[str, object]) -> Any:
    return eval(compile(ast.Expression(node), "pattern", "eval"), known, Sampled(known, {}))


def _flags(call: ast.Call, known: dict[str, object]) -> int:
    at = FLAGS_AT.get(getattr(call.func, "attr", ""), 2)
    given = [*call.args[at : at + 1], *(k.value for k in call.keywords if k.arg == "flags")]
    return int(_value(given[0], known)) if given else 0


@dataclass(frozen=True)
class Attack:
    """A text of any length: a piece, again and again, between a beginning and an end."""

    before: str
    piece: str
    after: str = "\x00"

    def text(self, one: Expression, n: int) -> str | bytes:
        """Return about n characters, as the expression takes them."""
        n_times = max((n - len(self.before)) // len(self.piece), 1)
        text = self.before + self.piece * n_times + self.after
        return text if isinstance(one.pattern, str) else text.encode("latin-1", "replace")


def attacks(one: Expression, seed: int = 0) -> list[Attack]:
    """What an expression nearly matches, again and again; the likeliest to be slow come first."""
    pattern = one.pattern if isinstance(one.pattern, str) else one.pattern.decode("latin-1")
    flags = one.flags & ~re.UNICODE if isinstance(one.pattern, bytes) else one.flags
    tree = parser.parse(pattern, flags)
    samplers = [_Sampler(random.Random(seed + turn)) for turn in range(4)]
    wholes = [sampler.of(tree) for sampler in samplers]
    repeated = [pair for sampler in samplers for pair in sampler.repeated]
    literals = sorted({chr(value) for kind, value in _nodes(tree) if kind is sre.LITERAL})
    found = [("", piece) for piece in (*LIKELY, *PAIRS)]
    found += [(before, body) for before, body in repeated]
    found += [("", before + body) for before, body in repeated]
    found += [("", body) for _, body in repeated]
    found += [
        (whole[:end], character)
        for whole in wholes[:1]
        for end in (len(whole) // 2, None)
        for character in LIKELY
    ]
    found += [("", whole[:end]) for whole in wholes for end in range(1, min(len(whole), 40) + 1)]
    found += [
        (before, character) for before in ("", wholes[0]) for character in (*ORDINARY, *literals)
    ]
    return [Attack(*pair) for pair in dict.fromkeys(found) if pair[1]]


def _nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All nodes of a parsed expression."""
    for kind, value in tree:
        yield kind, value
        for part in _parts(kind, value):
            yield from _nodes(part)


def _parts(kind: Any, value: Any) -> list[Any]:
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind is sre.SUBPATTERN:
        return [value[3]]
    if kind is sre.BRANCH:
        return list(value[1])
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    return [value] if kind is sre.ATOMIC_GROUP else []


class _Sampler:
    """Writes a text that an expression would match, and notes its repeats."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.repeated: list[tuple[str, str]] = []
        self.text = ""
        self.groups: dict[int, str] = {}

    def of(self, tree: Any) -> str:
        start = len(self.text)
        for kind, value in tree:
            self._write(kind, value)
        return self.text[start:]

    def _write(self, kind: Any, value: Any) -> None:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY):
            self.text += self._character(kind, value)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            self._repeat(*value)
        elif kind is sre.SUBPATTERN:
            self.groups[value[0]] = self.of(value[3])
        elif kind is sre.BRANCH:
            self.of(self.chance.choice(value[1]))
        elif kind is sre.ATOMIC_GROUP:
            self.of(value)
        elif kind is sre.GROUPREF:
            self.text += self.groups.get(value, "")

    def _repeat(self, least: int, most: int, body: Any) -> None:
        before = self.text
        written = self.of(body)
        if most > 20:
            self.repeated.append((before, written))
        for _ in range(least - 1):
            self.of(body)
        if least == 0 and self.chance.random() < 0.3:
            self.text = before

    def _character(self, kind: Any, value: Any) -> str:
        fits = [one for one in ORDINARY if _fits(one, kind, value)]
        if kind is sre.LITERAL:
            return chr(value)
        if kind is sre.IN and not fits:
            fits = [
                chr(v if k is sre.LITERAL else v[0])
                for k, v in value
                if k in (sre.LITERAL, sre.RANGE)
            ]
        return self.chance.choice(fits[:6] or ["a"])


CATEGORIES = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


def _fits(character: str, kind: Any, value: Any) -> bool:
    """Whether one node matches a character."""
    if kind is sre.ANY:
        return character != "\n"
    if kind is sre.LITERAL:
        return character == chr(value)
    if kind is sre.NOT_LITERAL:
        return character != chr(value)
    if kind is sre.RANGE:
        return value[0] <= ord(character) <= value[1]
    if kind is sre.CATEGORY:
        return CATEGORIES[value](character)
    negated = value[0][0] is sre.NEGATE
    return any(_fits(character, *part) for part in value[negated:]) != negated
