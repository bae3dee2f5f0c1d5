"""Nothing that is loaded runs code: each kind of artefact is planted with code that would show."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diskcache
import dspy
import ormsgpack
import pytest
from bases import save_base
from calls import call

from ragassay.agents.base import SharedPrefixAdapter
from ragassay.errors import SettingsError, StorageError
from ragassay.graphs.case import VERDICTS
from ragassay.instruments.local_graders import open_local_grader
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import load_pair_encoder
from ragassay.models.local_readers import SpanReader
from ragassay.models.scorers import read_checkpoint
from ragassay.models.token_vectors import TokenEncoder
from ragassay.models.tuned import find_adapter_folder, read_note
from ragassay.models.verifiers import require_verifier
from ragassay.models.written_labels import CausalText
from ragassay.prompts.rubrics import read_rubrics
from ragassay.records import Article
from ragassay.retrievers.literature import Hit
from ragassay.retrievers.rerankers import CrossEncoderReranker
from ragassay.store import open_plain_cache, open_store

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


def test_planted_code_would_show(ran):
    pickle.loads(pickle.dumps(Mark(ran)))
    assert ran.exists()


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a", "question": "Why?", "answer": "Aspirin thins blood [1]."}\n')
    return path


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
def test_a_pickle_in_place_of_a_file_is_refused_in_a_line(kind, ran, answers, tmp_path):
    option, model, suffix = OPTIONS[kind]
    planted = tmp_path / f"planted.{suffix}"
    planted.write_bytes(pickle.dumps(Mark(ran)))
    arguments = [answers, option, planted] if option else [planted]
    only = ["--only", "correctness", "--only", "citations", "--out", tmp_path / "run"]
    judge = ["--model", model, "--dry-run"] if model else only
    code, *output = call("evaluate", *arguments, *judge, "--quiet")
    assert code in (1, 2), output
    assert "planted" in "".join(output)
    assert not ran.exists()


@pytest.mark.parametrize(
    "planted",
    [
        "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{ran}]]",
        "rubrics: !!python/object/new:pathlib.Path [{ran}]",
        "rubrics: !!python/name:os.system",
    ],
)
def test_rubrics_that_name_python_are_refused_in_a_line(planted, ran, answers, tmp_path):
    rubrics = tmp_path / "rubrics.yaml"
    rubrics.write_text(planted.replace("{ran}", str(ran)))
    code, out, err = call("evaluate", answers, "--rubric", rubrics, "--model", "openai/a")
    assert (code, out) == (1, "")
    assert err.startswith("error: rubrics ") and err.count("\n") == 1
    assert not ran.exists()


TEMPLATE = (
    "{{ cycler.__init__.__globals__.os.system('touch x') }} {0.__class__} %(a)s ${a} {% raw %}"
)


def test_words_of_a_rubric_are_no_template(tmp_path):
    rubrics = tmp_path / "rubrics.yaml"
    scale = {n: TEMPLATE for n in range(1, 6)}
    rubrics.write_text(json.dumps({"rubrics": {"own": {"question": TEMPLATE, "scale": scale}}}))
    (rubric,) = read_rubrics([rubrics])
    assert TEMPLATE in rubric.model_dump()["question"]
    signature = dspy.make_signature("context, rubric -> rating", TEMPLATE)
    given = {"context": TEMPLATE, "rubric": TEMPLATE}
    said = SharedPrefixAdapter().format(signature, [], given)[1]["content"]
    assert said.count(TEMPLATE) == 3


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
    with diskcache.Cache(str(tmp_path / "pubmed")) as planted:
        planted.set("key", Mark(ran))
        planted.set("good", b"reply")
    with open_plain_cache(tmp_path / "pubmed") as cache:
        assert (cache.get("key"), cache.get("good")) == (None, b"reply")
    assert not ran.exists()


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


LOADERS: dict[str, Callable[[str, Path], Any]] = {
    "embedder": lambda name, cache: Embedder(name).encode(["a"]),
    "token encoder": lambda name, cache: TokenEncoder(name).encode(["a"]),
    "reranker": lambda name, cache: CrossEncoderReranker(name).rerank("a", HITS, 1),
    "verifier": require_verifier,
    "writer": lambda name, cache: CausalText(name, 4).predict_word_shares(["a"], ["b"]),
    "reader": lambda name, cache: SpanReader(name).read(["a"], "b"),
    "grader": lambda name, cache: open_local_grader(name),
    "pair encoder": load_pair_encoder,
}
HITS = [Hit(Article(id="1", text="b"), 1.0)]


@pytest.mark.parametrize("kind", LOADERS)
def test_a_model_with_code_of_its_own_is_refused(kind, ran, tmp_path):
    folder = with_code(tmp_path / "model", ran)
    with pytest.raises(SettingsError, match="custom code which must be executed"):
        LOADERS[kind](str(folder), tmp_path)
    assert not ran.exists()


def zipped(planted: object) -> bytes:
    """Bytes as `torch.save` writes them, of an object that runs code where it is unpickled."""
    import torch

    buffer = io.BytesIO()
    torch.save({"weight": planted}, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(("kind", "base"), [("verifier", "bert"), ("writer", "llama")])
def test_weights_in_a_pickle_are_not_unpickled(kind, base, ran, tmp_path):
    folder = tmp_path / "model"
    save_base(folder, base)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(zipped(Mark(ran)))
    config = json.loads((folder / "config.json").read_text())
    labels = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    (folder / "config.json").write_text(json.dumps(config | {"id2label": labels}))
    with pytest.raises(SettingsError, match="its weights file has objects that could"):
        LOADERS[kind](str(folder), tmp_path).predict_probabilities([("a", "b")])
    assert not ran.exists()


def test_a_checkpoint_of_alignscore_is_not_unpickled(ran, tmp_path):
    path = tmp_path / "planted.ckpt"
    path.write_bytes(zipped(Mark(ran)))
    with pytest.raises(SettingsError, match=r"planted\.ckpt is not a tensor checkpoint"):
        read_checkpoint(path)
    assert not ran.exists()


def test_an_adapter_in_a_pickle_is_refused(ran, tmp_path):
    folder = tmp_path / "adapter"
    folder.mkdir()
    for name in ("ragassay.json", "adapter_config.json"):
        (folder / name).write_bytes((find_adapter_folder("judge") / name).read_bytes())
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
    for kind in ("embedder", "reranker"):
        with pytest.raises(SettingsError, match=r"contains custom code \(own\.Module"):
            LOADERS[kind](str(folder), tmp_path)
    assert not ran.exists()


def test_a_chat_template_is_sandboxed(ran, answers, tmp_path):
    folder = tmp_path / "model"
    save_base(folder, "llama")
    attack = "{{ cycler.__init__.__globals__.os.mkdir('" + str(ran) + "') }}"
    (folder / "chat_template.jinja").write_text(attack)
    only = ("--only", "rubrics", "--rubric", "cohesion", "--out", tmp_path / "run", "--quiet")
    code, *output = call("evaluate", answers, "--model", f"ragassay/{folder}", *only)
    assert code != 0
    assert "Traceback" not in "".join(output)
    assert not ran.exists()
