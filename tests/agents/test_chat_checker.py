"""Bespoke-MiniCheck-7B over a chat interface: its prompt, its cut, and a run by it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from replying import logprobs_of
from typer.testing import CliRunner

from ragassay.agents.verifiers import check_by_chat
from ragassay.cli import app
from ragassay.errors import SettingsError, UnparsableReplyError
from ragassay.evaluators.models import build_encoder, build_verifier_lm
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import open_entailment_model
from ragassay.prompts.model_forms import load_verifier_kinds
from ragassay.runs.folder import RunFolder
from ragassay.settings import Settings
from ragassay.testing import ScriptedModel


class Replying:
    """Gives one reply, and records what it was asked."""

    model, kwargs = "double", {"max_tokens": 100}

    def __init__(self, text: str, first: Sequence[tuple[str, float]] = ()) -> None:
        tokens = [(text, dict(first))] if first else []
        self.reply = {"text": text, "logprobs": logprobs_of(*tokens)}
        self.asked: list[Any] = []

    async def acall(self, messages: Any, **options: Any) -> list[dict[str, Any]]:
        self.asked.append((messages, options))
        return [self.reply]


# The reply, its first token's alternatives; the verdict and its confidence.
REPLIES = [
    ("Yes", [("Yes", 0.9), ("No", 0.1)], "supports", 0.9),
    ("No", [("No", 0.7), ("Yes", 0.25), ("yes", 0.05)], "not_attributable", 0.7),
    ("Yes", [("Yes", 0.4), ("yes", 0.2), ("No", 0.4)], "supports", 0.6),
    # The program's cut is above one half, whatever word is likeliest.
    ("Yes", [("Yes", 0.5), ("No", 0.3)], "not_attributable", 0.5),
    ("Yes", [("Yes", 0.45), ("No", 0.3)], "not_attributable", 0.55),
    ("no", [("no", 1.0)], "not_attributable", 1.0),
    (" Yes.", [(" Yes", 0.8)], "supports", 0.8),
    ("Yes", [], "supports", None),
    ("No", [], "not_attributable", None),
    ("yes, it does", [], "supports", None),
]


async def test_the_probability_of_yes_decides():
    for text, first, verdict, confidence in REPLIES:
        with dspy.context(lm=Replying(text, first)):
            found = await check_by_chat("It fell.", "It fell.")
        assert (found.verdict, found.confidence) == (verdict, confidence), (text, first)


@pytest.mark.parametrize("text", ["", "Maybe", "The document says so.", "1", "Document: Yes"])
async def test_a_reply_of_another_form_is_no_verdict(text: str):
    with dspy.context(lm=Replying(text)), pytest.raises(UnparsableReplyError):
        await check_by_chat("It fell.", "It fell.")


async def test_the_prompt_is_that_of_its_program():
    lm = Replying("Yes")
    with dspy.context(lm=lm):
        await check_by_chat("Pain {rose}.", "A trial.\nPain {fell}.\nAll was well.")
    ((messages, _),) = lm.asked
    system, user = messages
    assert system["role"] == "system" and '"Yes" or "No"' in system["content"]
    assert user == {
        "role": "user",
        "content": "Document: A trial. Pain {fell}. All was well.\nClaim: Pain {rose}.",
    }


@pytest.mark.parametrize(
    ("name", "is_chat"),
    [
        ("hosted_vllm/bespokelabs/Bespoke-MiniCheck-7B", True),
        ("hosted_vllm/bespokelabs/Bespoke-MiniCheck-7B@http://127.0.0.1:8000/v1", True),
        ("ollama_chat/bespoke-minicheck", True),
        ("ollama/bespoke-minicheck:7b-q3_K_L", True),
        ("bespokelabs/Bespoke-MiniCheck-7B", True),
        ("minicheck", False),
        ("lytang/MiniCheck-RoBERTa-Large", False),
        ("openai/gpt-4.1-mini", False),
        ("ragassay/minilm-verifier", False),
    ],
)
def test_a_name_tells_whether_a_server_answers(name: str, is_chat: bool):
    assert load_verifier_kinds().facts.is_chat(name) == is_chat


def test_a_name_without_a_server_says_which_there_are(tmp_path: Path):
    for name in ("bespokelabs/Bespoke-MiniCheck-7B", "bespoke-minicheck"):
        settings = Settings(verifier=name)
        assert build_encoder(settings, Embedder()) is None
        with pytest.raises(SettingsError, match=r"hosted_vllm/.*ollama_chat/bespoke-minicheck"):
            build_verifier_lm(settings)
    with pytest.raises(SettingsError, match="requires a server"):
        open_entailment_model("ollama_chat/bespoke-minicheck", tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("manner", "name"),
    [
        ("vllm", "hosted_vllm/bespokelabs/Bespoke-MiniCheck-7B"),
        ("ollama", "ollama_chat/bespoke-minicheck"),
    ],
)
def test_a_run_without_a_judge_is_verified_over_a_server(manner: Any, name: str, tmp_path: Path):
    def reply(messages: Any, schema: Any) -> str:
        return "No" if "340" in messages[-1]["content"].partition("Claim:")[2] else "Yes"

    answer = {
        "user_input": "Does brelozant help?",
        "response": "Brelozant raised pain in 340 men [1]. It lowers pressure [1].",
        "retrieved_contexts": ["Brelozant lowers pressure in adults with migraine."],
    }
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(answer) + "\n")
    with ScriptedModel(reply, manner=manner) as server:
        verifier = ["--verifier", f"{name}@{server.base_url}"]
        out = ["--only", "citations", "--out", str(tmp_path / "run")]
        done = CliRunner().invoke(app, ["evaluate", str(file), *out, *verifier])
        assert done.exit_code == 0, done.output
        assert len(server.requests) == 2
        asked: Any = server.requests[0].asked
        user = asked["messages"][-1]["content"]
    assert user.startswith("Document: ") and "\nClaim: " in user
    (evaluation,) = RunFolder(tmp_path / "run").read_evaluations()
    verdicts = [verdict.verdict for verdict in evaluation.citations]
    assert verdicts == ["not_attributable", "supports"]
