"""Planted keys and passwords are in nothing that a command writes, however it ends.

Each case is a command; after it, all of its output and every file that it left are searched for the
plants as they are, quoted as in an address, and in base64.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
from calls import call
from case_tables import each_case
from collector import collecting
from conftest import ROOT
from corpora import add_to_corpus
from fakes import WordEmbedder
from raw_judge import Exchange, completion, error, judging, rated

import ragassay
from ragassay.errors import FatalModelError
from ragassay.models.provider_errors import lacks_key
from ragassay.records import Document
from ragassay.safe_text import hide_known_secrets, hide_secrets
from ragassay.settings import load_settings

pytestmark = pytest.mark.integration

KEY = "pl4nted+Key/of-the-judge"
USER, PASSWORD = "ann", "pl4nted:p@ss/word"
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "RAGASSAY_LITERATURE__NCBI_API_KEY": "pl4nted-ncbi-key",
    "RAGASSAY_OUTPUT__SERVER_KEY": "pl4nted-server-key-of-many-letters",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=pl4nted-otel-token",
}
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
NOWHERE = f"http://{LOGIN}@127.0.0.1:9"
PROXY = "http://ann:pl4nted-proxy@127.0.0.1:9"


def forms(secret: str) -> set[bytes]:
    plain = secret.encode()
    return {plain, quote(secret, safe="").encode(), base64.b64encode(plain)}


PLANTS = set[bytes]().union(
    *(forms(one.removeprefix("authorization=")) for one in SECRETS.values() if one != USER),
    *(forms(one) for one in (PASSWORD, f"{USER}:{PASSWORD}", "pl4nted-proxy")),
)


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")
    monkeypatch.setenv("RAGASSAY_LITERATURE__CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))


def well(exchange: Exchange) -> None:
    exchange.send(rated("4"))


def echoed(exchange: Exchange) -> str:
    """What a server may know, and repeat: the key, and the header that it came in."""
    return f"not this: {exchange.headers['Authorization']} or {KEY}"


def echo(status: int) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.send(error(echoed(exchange)), status)


def echo_in_turn(exchange: Exchange) -> None:
    """Repeat the key in an error of each kind, in junk, in prose, in a refusal and in a reason."""
    said, n = echoed(exchange), len(exchange.judge.asked)
    message = {"role": "assistant", "content": None, "refusal": said}
    ways: list[Callable[[], None]] = [
        *(lambda status=status: exchange.send(error(said), status) for status in STATUSES),
        lambda: exchange.send(error(said)),
        lambda: exchange.send(said.encode()),
        # At the end of what is quoted of a reply, a key would be cut in half.
        lambda: exchange.send(b"x" * 90 + KEY.encode()),
        lambda: exchange.send(completion(said)),
        lambda: exchange.send(completion(None, choices=[{"index": 0, "message": message}])),
        lambda: exchange.send(rated("4", said)),
    ]
    ways[n % len(ways)]()


STATUSES = (400, 413, 422, 429, 500, 503)
N_WAYS = 12


def make_answers(n: int) -> list[dict[str, str]]:
    return [{"id": f"a{i}", "question": "Why?", "answer": f"Due to {i}."} for i in range(n)]


@dataclass
class Try:
    """A command that is tried.

    Attributes:
        words: The command; `$URL` is the judge with a user and password, `$PLAIN` without.
        code: Its exit code.
        told: A part of what it says.
        answer: What the judge answers.
        environment: Besides the planted one.
    """

    words: str
    code: int = 1
    told: str = ""
    answer: Callable[[Exchange], None] = well
    environment: Mapping[str, str] = field(default_factory=dict)


EVALUATE = "evaluate answers.jsonl --out run --only rubrics --rubric cohesion"
OF_PLAIN = "--model openai/a --api-base $PLAIN"
BY_URL, BY_PLAIN = f"{EVALUATE} --model openai/a --api-base $URL", f"{EVALUATE} {OF_PLAIN}"
TRACED = {"RAGASSAY_OUTPUT__TRACING": "true", "RAGASSAY_OUTPUT__TRACING_CONTENT": "true"}
UNCOLLECTED = {"OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
PROXIES = {"HTTP_PROXY": PROXY, "http_proxy": PROXY}
WEAK_KEY = {"RAGASSAY_OUTPUT__SERVER_KEY": f"{KEY} 1"}
CHROMA = {"RAGASSAY_LITERATURE__CHROMA_URL": NOWHERE}
SAMPLE = ROOT / "examples"
TRIES = {
    "a run": Try(BY_URL, 0),
    "a run without a login": Try(BY_PLAIN, 0),
    "a plan": Try(f"{BY_URL} --dry-run --json", 0),
    "a judge that repeats the key": Try(BY_PLAIN, 3, answer=echo_in_turn),
    "a judge that repeats the login": Try(BY_URL, 3, answer=echo_in_turn),
    "a wrong key": Try(BY_URL, 1, "http://***@127.0.0.1", echo(401)),
    "a forbidden key": Try(BY_PLAIN, 1, "rejected the key (403)", echo(403)),
    "an unknown path": Try(BY_URL, 1, "(404); check", echo(404)),
    "nobody there": Try(
        BY_URL.replace("$URL", f"{NOWHERE}/v1"),
        1,
        "connection refused at http://***@127.0.0.1:9/v1",
    ),
    "no scheme": Try(BY_URL.replace("$URL", f"{LOGIN}@127.0.0.1:9/v1"), 1, "is not an address"),
    "a panel": Try(f"{EVALUATE} --judge openai/a@$URL --judge openai/b@$URL", 0),
    "a panel with nobody there": Try(
        f"{EVALUATE} --judge openai/a@$URL --judge openai/b@{NOWHERE}", 1, "***@127.0.0.1:9"
    ),
    "a panel of one endpoint": Try(
        f"{EVALUATE} --judge openai/a@$URL --judge openai/b", 1, "has no endpoint, but"
    ),
    "a second judge": Try(f"{BY_URL} --escalate openai/b@$URL", 0),
    "a second judge that is the first": Try(
        f"{BY_URL} --escalate openai/a@$URL", 1, "must be a different model"
    ),
    "a corpus by an address": Try(
        f"{BY_URL} --corpus http://{LOGIN}@127.0.0.1:9/index", 1, "***@127.0.0.1:9/index is a"
    ),
    "a login for Chroma": Try(
        "corpus embed corpus", 1, "must not contain a user name", environment=CHROMA
    ),
    "a collector that is not there": Try(BY_URL, 0, environment=TRACED | UNCOLLECTED),
    "a proxy that is not there": Try(
        BY_URL.replace("$URL", "http://judge.invalid/v1"),
        1,
        "connection refused",
        environment=PROXIES,
    ),
    "an application": Try(
        f"run $URL answers.jsonl --out run --only rubrics {OF_PLAIN}",
        1,
        "http://***@127.0.0.1",
        echo(500),
    ),
    "an application that is not there": Try(
        f"run {NOWHERE} answers.jsonl --out run --only rubrics {OF_PLAIN}", 1
    ),
    "an application of another kind": Try(
        f"run ftp://{LOGIN}@127.0.0.1 answers.jsonl {OF_PLAIN}", 1, "cannot import"
    ),
    "an audit": Try(BY_PLAIN.replace("evaluate", "audit") + " --limit 1", 3, answer=echo(422)),
    "grades": Try(f"grade answers.jsonl --grade thomas --out run {OF_PLAIN}", 3, answer=echo(500)),
    "nuggets": Try(
        f"nuggets create answers.jsonl --from answer --accept-all --out n.jsonl {OF_PLAIN}",
        3,
        "server_error",
        echo(500),
    ),
    "pairs": Try(
        f"qa generate {SAMPLE}/sciqag/paper.xml --n 1 --out p.jsonl {OF_PLAIN}", 3, "***", echo(500)
    ),
    "answers of models": Try(
        f"synthesize {SAMPLE}/sample/answers.jsonl --out a.jsonl --limit 1 {OF_PLAIN}",
        1,
        "***",
        echo(500),
    ),
    "a test bank": Try(
        f"testbank create {SAMPLE}/workbench/queries.json --out b.jsonl {OF_PLAIN}",
        3,
        "***",
        echo(500),
    ),
    "a weak key of the server": Try(
        "serve --port 0", 1, "setting 'server_key'", environment=WEAK_KEY
    ),
    "the models": Try("models list", 0, environment={"RAGASSAY_JUDGE__API_BASE": NOWHERE}),
}


@pytest.mark.parametrize("name", TRIES)
def test_no_secret_is_in_what_a_command_writes(name, tmp_path, monkeypatch, caplog):
    tried = TRIES[name]
    monkeypatch.chdir(tmp_path)
    for variable, value in tried.environment.items():
        monkeypatch.setenv(variable, value)
    rows = make_answers(N_WAYS if tried.answer is echo_in_turn else 2)
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if "corpus embed" in tried.words:
        add_to_corpus(tmp_path, Document(id="1", text="Aspirin thins blood."))
    with judging(tried.answer) as judge:
        words = tried.words.replace("$URL", log_in(judge.base_url))
        code, *output = call(*words.replace("$PLAIN", judge.base_url).split())
    shown = "".join(output)
    assert code == tried.code, shown
    assert tried.told in shown
    assert dict(leaks(tmp_path, shown + caplog.text)) == {}


def log_in(url: str) -> str:
    """Return an address with the user and the password."""
    return url.replace("http://", f"http://{LOGIN}@")


def leaks(folder: Path, said: str) -> Iterator[tuple[str, set[bytes]]]:
    """Yield where a plant is, and which."""
    places = {"output": said.encode()}
    for path in folder.rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            is_packed = held.startswith(b"\x1f\x8b")
            places[str(path)] = gzip.decompress(held) if is_packed else held
    for place, held in places.items():
        if found := {plant for plant in PLANTS if plant in held}:
            yield place, found


def test_the_search_would_find_a_plant(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.gz").write_bytes(gzip.compress(base64.b64encode(KEY.encode())))
    found = dict(leaks(tmp_path, quote(PASSWORD, safe="")))
    assert found.keys() == {str(tmp_path / "deep" / "a.gz"), "output"}


def test_no_secret_is_in_a_span(tmp_path, monkeypatch):
    for name, value in TRACED.items():
        monkeypatch.setenv(name, value)
    with collecting() as collector, judging(echo_in_turn) as judge:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        options = {"model": "openai/a", "api_base": log_in(judge.base_url), "only": ["rubrics"]}
        found = ragassay.evaluate(make_answers(N_WAYS), rubrics=["cohesion"], **options)
    assert any("***" in span.told for span in collector.spans), "a collector sees what was wrong"
    assert not any(plant in body for body in collector.bodies for plant in PLANTS)
    assert not any(plant in repr(found).encode() for plant in PLANTS)


@pytest.mark.parametrize("status", [401, 404])
def test_no_secret_is_in_an_exception_or_its_traceback(status):
    with judging(echo(status)) as judge, pytest.raises(FatalModelError) as raised:
        url = log_in(judge.base_url)
        ragassay.evaluate(make_answers(1), model="openai/a", api_base=url, only=["rubrics"])
    told = "".join(traceback.format_exception(raised.value)).encode()
    assert b"FatalModelError" in told
    assert not any(plant in told for plant in PLANTS)


def test_settings_are_shown_without_the_users_of_addresses():
    url = f"http://{LOGIN}@host/v1"
    shown = load_settings(model="openai/b", api_base=url, panel=(f"openai/a@{url}",))
    for told in (repr(shown), str(shown)):
        assert "http://***@host/v1" in told
        assert not any(plant in told.encode() for plant in PLANTS)


@each_case(
    ("text", "shown"),
    [
        ("at http://ann:pw@host:1/v1, twice", "at http://***@host:1/v1, twice"),
        ("at http://ann@host/v1", "at http://***@host/v1"),
        ("at https:/ann:p@w/d@host/x", "at https:/***@host/x"),
        ("ann:pw@host:9 is not an address", "***@host:9 is not an address"),
        ("openai/a@http://ann:pw@host/v1", "openai/a@http://***@host/v1"),
        ("write to ann@host", "write to ann@host"),
        ("a/model@2025 at http://host/a?b=c@d", "a/model@2025 at http://host/a?b=c@d"),
        (f"key {KEY}", "key ***"),
        (f"key {quote(KEY, safe='')}", "key ***"),
    ],
)
def test_what_is_hidden_of_a_text(text, shown):
    assert hide_secrets(text) == shown


@pytest.mark.parametrize("unit", [":/", "a:", "://a", "missing ", "a:a@", "x", "http://a:b@"])
def test_a_long_text_takes_no_long_time(unit):
    text = unit * (200_000 // len(unit))
    start = time.monotonic()
    hide_secrets(text)
    lacks_key(ValueError(text))
    assert time.monotonic() - start < 20


def test_a_key_that_is_a_word_hides_no_word(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "anything")
    assert hide_known_secrets("It supports anything.") == "It supports anything."
    assert os.environ["OPENAI_API_KEY"] == "anything"
