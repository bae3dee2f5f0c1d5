"""Nothing that is loaded runs code: each kind of artefact is planted with code that would show."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from bases import save_base
from typer.testing import CliRunner

from ragassay.cli import app
from ragassay.errors import SettingsError, StorageError
from ragassay.graphs.case import VERDICTS
from ragassay.store import open_store

CODE = "import pathlib; pathlib.Path({!r}).touch()\n"


class Mark:
    """Leaves a file where it is unpickled."""

    def __init__(self, ran: Path) -> None:
        self.ran = ran

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
        return Path.touch, (self.ran,)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that planted code leaves; whoever is asked whether to run it says yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    return tmp_path / "ran"


def test_planted_code_would_show(ran: Path):
    pickle.loads(pickle.dumps(Mark(ran)))
    assert ran.exists()


# Files that a user names


def call(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words], input="y\ny\n")
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.output


OPTIONS = {
    "a compiled prompt": ("--prompts", "openai/a", "json"),
    "a compiled program": ("--prompts", "openai/a", "pkl"),
    "rubrics": ("--rubric", "openai/a", "yaml"),
    "a classifier of correctness": ("--correctness", "", "json"),
    "a fitted verifier": ("--verifier", "", "json"),
    "gold nuggets": ("--nuggets", "", "jsonl"),
    "a corpus": ("--corpus", "", "pkl"),
    "answers": ("", "", "jsonl"),
}
"""Files that a user names: the option, a judge where one is needed, the file's suffix."""


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_pickle_in_place_of_a_file_is_refused_in_a_line(kind, ran, tmp_path):
    option, model, suffix = OPTIONS[kind]
    planted, answers = tmp_path / f"planted.{suffix}", tmp_path / "answers.jsonl"
    planted.write_bytes(pickle.dumps(Mark(ran)))
    answers.write_text('{"id": "a", "question": "Why?", "answer": "Aspirin thins blood [1]."}\n')
    given = [answers, option, planted] if option else [planted]
    judge = ["--model", model, "--dry-run"] if model else []
    only = ["--only", "correctness", "--only", "citations", "--out", tmp_path / "run"]
    code, said = call("evaluate", *given, *judge, *([] if model else only), "--quiet")
    assert code in (1, 2), said
    assert "planted" in said
    assert not ran.exists()


@pytest.mark.parametrize(
    "planted",
    [
        "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{ran}]]",
        "rubrics: !!python/object/new:pathlib.Path [{ran}]",
        "rubrics: !!python/name:os.system",
        "[" * 5_000,
    ],
)
def test_rubrics_that_name_python_are_refused_in_a_line(planted, ran, tmp_path):
    rubrics, answers = tmp_path / "rubrics.yaml", tmp_path / "answers.jsonl"
    rubrics.write_text(planted.replace("{ran}", str(ran)))
    answers.write_text('{"id": "a", "question": "Why?", "answer": "Aspirin thins blood."}\n')
    code, said = call("evaluate", answers, "--rubric", rubrics, "--model", "openai/a", "--quiet")
    assert code == 1
    assert said.startswith("error: rubrics ") and said.count("\n") == 1
    assert not ran.exists()


TEMPLATE = (
    "{{ cycler.__init__.__globals__.os.system('touch x') }} {0.__class__} %(a)s ${a} {% raw %}"
)


def test_words_of_a_rubric_are_no_template(tmp_path):
    from ragassay.agents.base import SharedPrefixAdapter
    from ragassay.prompts.rubrics import read_rubrics

    rubrics = tmp_path / "rubrics.yaml"
    scale = {n: TEMPLATE for n in range(1, 6)}
    rubrics.write_text(json.dumps({"rubrics": {"own": {"question": TEMPLATE, "scale": scale}}}))
    (rubric,) = read_rubrics([rubrics])
    assert TEMPLATE in rubric.model_dump()["question"]
    import dspy

    signature = dspy.make_signature("context, rubric -> rating", TEMPLATE)
    given = {"context": TEMPLATE, "rubric": TEMPLATE}
    said = SharedPrefixAdapter().format(signature, [], given)[1]["content"]
    assert said.count(TEMPLATE) == 3


# What ragassay keeps itself


PLANTED: dict[str, Callable[[Path], bytes]] = {
    "a pickle": lambda ran: pickle.dumps([Mark(ran)]),
    "a constructor": lambda ran: json.dumps(
        [{"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [str(ran)]}]
    ).encode(),
    "an extension of msgpack": lambda ran: ormsgpack.packb(
        ormsgpack.Ext(0, ormsgpack.packb(["os", "mkdir", str(ran)]))
    ),
    "a model that is no verdict": lambda ran: b'[{"evaluator": "os.mkdir", "path": "x"}]',
}


@pytest.mark.parametrize("kind", PLANTED)
async def test_finished_work_that_somebody_changed_builds_nothing(kind, ran, tmp_path):
    with open_store(tmp_path / "verdicts.sqlite") as store:
        store.add_rows([("key", PLANTED[kind](ran))])
        with pytest.raises(StorageError, match="an entry that ragassay did not write"):
            await store.get("key", VERDICTS)
    assert not ran.exists()


def test_a_pickle_in_the_cache_of_pubmed_is_no_reply(ran, tmp_path):
    import diskcache

    from ragassay.retrievers.pubmed.live import open_cache

    with diskcache.Cache(str(tmp_path / "pubmed")) as planted:
        planted.set("key", Mark(ran))
        planted.set("good", b"reply")
    with open_cache(tmp_path / "pubmed") as cache:
        assert (cache.get("key"), cache.get("good")) == (None, b"reply")
    assert not ran.exists()


# Models


def with_code(folder: Path, ran: Path) -> Path:
    """A model's folder whose classes are its own."""
    folder.mkdir()
    kinds = ("", "ForSequenceClassification", "ForCausalLM", "ForSeq2SeqLM", "ForQuestionAnswering")
    own = {f"AutoModel{kind}": "own.Model" for kind in kinds} | {"AutoConfig": "own.Config"}
    tokenizer = {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}}
    config = {"model_type": "own", "auto_map": own, "architectures": ["T5Model"]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "own.py").write_text(CODE.format(str(ran)))
    return folder


def embed(name: str, cache: Path) -> Any:
    from ragassay.models.embeddings import Embedder

    return Embedder(name).encode(["a"])


def embed_tokens(name: str, cache: Path) -> Any:
    from ragassay.models.token_vectors import TokenEncoder

    return TokenEncoder(name).encode(["a"])


def rerank(name: str, cache: Path) -> Any:
    from ragassay.records import Article
    from ragassay.retrievers.literature import Hit
    from ragassay.retrievers.rerankers import CrossEncoderReranker

    return CrossEncoderReranker(name).rerank("a", [Hit(Article(id="1", text="b"), 1.0)], 1)


def infer(name: str, cache: Path) -> Any:
    from ragassay.models.verifiers import require_verifier

    return require_verifier(name, cache)


def write(name: str, cache: Path) -> Any:
    from ragassay.models.written_labels import CausalText

    return CausalText(name, 4).predict_word_shares(["a"], ["b"])


def answer(name: str, cache: Path) -> Any:
    from ragassay.models.local_readers import SpanReader

    return SpanReader(name).read(["a"], "b")


def grade(name: str, cache: Path) -> Any:
    from ragassay.instruments.local_graders import open_local_grader

    return open_local_grader(name)


def pair(name: str, cache: Path) -> Any:
    from ragassay.models.entailment import load_pair_encoder

    return load_pair_encoder(name, cache)


LOADERS = (embed, embed_tokens, rerank, infer, write, answer, grade, pair)


@pytest.mark.parametrize("load", LOADERS)
def test_a_model_with_code_of_its_own_is_refused(load, ran, tmp_path):
    folder = with_code(tmp_path / "model", ran)
    with pytest.raises(SettingsError, match="custom code which must be executed"):
        load(str(folder), tmp_path)
    assert not ran.exists()


@pytest.mark.parametrize("load", [infer, write])
def test_weights_in_a_pickle_are_not_unpickled(load, ran, tmp_path):
    folder = tmp_path / "model"
    save_base(folder, "bert" if load is infer else "llama")
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(zipped(Mark(ran)))
    config = json.loads((folder / "config.json").read_text())
    labels = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    (folder / "config.json").write_text(json.dumps(config | {"id2label": labels}))
    with pytest.raises(SettingsError, match="its weights file has objects that could"):
        found = load(str(folder), tmp_path)
        found.predict_probabilities([("a", "b")])
    assert not ran.exists()


def zipped(planted: object) -> bytes:
    """Bytes as `torch.save` writes them, of an object that runs code where it is unpickled."""
    import io

    import torch

    buffer = io.BytesIO()
    torch.save({"weight": planted}, buffer)
    return buffer.getvalue()


def test_a_checkpoint_of_alignscore_is_not_unpickled(ran, tmp_path):
    from ragassay.models.scorers import read_checkpoint

    path = tmp_path / "planted.ckpt"
    path.write_bytes(zipped(Mark(ran)))
    with pytest.raises(SettingsError, match=r"planted\.ckpt is not a tensor checkpoint"):
        read_checkpoint(path)
    assert not ran.exists()


def test_an_adapter_in_a_pickle_is_refused(ran, tmp_path):
    from ragassay.models.tuned import find_adapter_folder, read_note

    shipped = find_adapter_folder("judge")
    assert shipped is not None
    folder = tmp_path / "adapter"
    folder.mkdir()
    for name in ("ragassay.json", "adapter_config.json"):
        (folder / name).write_bytes((shipped / name).read_bytes())
    (folder / "adapter_model.bin").write_bytes(zipped(Mark(ran)))
    with pytest.raises(SettingsError, match=r"has no adapter_model\.safetensors"):
        read_note(folder)
    (folder / "adapter_model.safetensors").write_bytes(zipped(Mark(ran)))
    with pytest.raises(SettingsError, match=r"adapter_model\.safetensors"):
        read_note(folder)
    assert not ran.exists()


def test_an_embedder_with_modules_of_its_own_is_refused(ran, tmp_path):
    folder = with_code(tmp_path / "model", ran)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "own.Module"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    for load in (embed, rerank):
        with pytest.raises(SettingsError, match=r"contains custom code \(own\.Module"):
            load(str(folder), tmp_path)
    assert not ran.exists()


def test_a_chat_template_is_sandboxed(ran, tmp_path):
    folder = tmp_path / "model"
    save_base(folder, "llama")
    attack = "{{ cycler.__init__.__globals__.os.mkdir('" + str(ran) + "') }}"
    (folder / "chat_template.jinja").write_text(attack)
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "question": "Why?", "answer": "Aspirin thins blood."}\n')
    only = ("--only", "rubrics", "--rubric", "cohesion", "--out", tmp_path / "run", "--quiet")
    code, said = call("evaluate", answers, "--model", f"ragassay/{folder}", *only)
    assert code != 0
    assert "Traceback" not in said
    assert not ran.exists()
