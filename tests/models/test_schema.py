"""Replies under a JSON schema."""

from __future__ import annotations

import json

import jsonschema
import pytest
import schemas
from case_tables import each_case
from lazy import LazyModule
from tiny_llama import tiny_model

from ragassay.errors import RefusedError
from ragassay.models.local import engine as engine_module
from ragassay.models.local.engine import Engine
from ragassay.models.local.replies import Prompt

torch = LazyModule("torch")


def closed(**properties: object) -> str:
    return json.dumps(schemas.closed(**properties))


RATING = json.dumps(schemas.RATING)
SCHEMAS = {
    "enum": closed(label={"enum": ["required", "unnecessary", "borderline"]}),
    "integers": closed(n={"type": "integer", "minimum": 3, "maximum": 17}),
    "pattern": closed(code={"type": "string", "pattern": "^[A-C]{2,4}-[0-9]$"}),
    "array": closed(xs={"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}),
    "text": closed(why={"type": "string", "maxLength": 20}),
    "constant": closed(only={"const": "this"}),
}


def prompt(schema: str | None, text: str = "the trial", **options: int) -> Prompt:
    return Prompt((("user", text),), schema, **{"max_tokens": 100, **options})


def test_replies_fit_their_schemas_alone_and_together(engine):
    prompts = [prompt(schema, text) for schema in SCHEMAS.values() for text in ("a", "the b")]
    together = engine.answer([*prompts, prompt(None)])[:-1]
    for one, reply in zip(prompts, together, strict=True):
        jsonschema.validate(json.loads(reply.text), json.loads(one.schema))
        assert not reply.is_cut
        assert engine.answer([one])[0].text == reply.text


def test_a_wholly_forced_reply_is_given_beside_others(engine):
    replies = engine.answer([prompt(SCHEMAS["constant"]), prompt(RATING)])
    assert replies[0].text == '{"only":"this"}'
    assert "".join(token.text for token in replies[1].tokens) == replies[1].text


@each_case("schema", [RATING, SCHEMAS["text"], SCHEMAS["constant"]])
def test_the_limit_holds_also_for_forced_tokens(engine, schema):
    texts = [token.text for token in engine.answer([prompt(schema)])[0].tokens]
    for limit in range(1, 25):
        reply = engine.answer([prompt(schema, max_tokens=limit)])[0]
        assert [token.text for token in reply.tokens] == texts[:limit], limit
        assert reply.is_cut is (len(texts) > limit), limit


def test_no_alternatives_unless_asked(engine):
    replies = engine.answer([prompt(None, n_top=0), prompt(None, n_top=2), prompt(RATING, n_top=0)])
    assert [{len(token.top) for token in reply.tokens} for reply in replies] == [{0}, {2}, {0}]


@pytest.mark.parametrize("schema", ["no json", '{"type": "nonsense"}', '{"$ref": "#/missing"}'])
def test_an_unusable_schema_is_refused_in_words(engine, schema, capfd):
    with pytest.raises(RefusedError, match="invalid reply schema"):
        engine.check(prompt(schema))
    assert capfd.readouterr() == ("", "")


def test_the_five_best_of_a_rating_are_the_five_ratings_wherever_it_stands(engine, plain):
    digits = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    ids = [engine.tokenizer.convert_tokens_to_ids(digit) for digit in "12345"]
    one = prompt(closed(first=digits, placebo=digits, trial_of_the_drug=digits))
    (reply, *_) = engine.answer([one, prompt(RATING, "the migraine")])
    known, n_compared = engine.chat.encode(one.messages), 0
    for token in reply.tokens:
        if token.top:
            shares = torch.log_softmax(plain.logits(tuple(known))[-1][ids], dim=0).tolist()
            expected = dict(zip("12345", shares, strict=True))
            assert dict(token.top) == pytest.approx(expected, abs=1e-4)
            assert token.logprob == token.top[0][1] == max(token.top[n][1] for n in range(5))
            n_compared += 1
        else:
            assert token.logprob == 0.0, "a forced token is certain"
        known = [*known, engine.pieces.index(token.text)]
    assert n_compared == 3


def test_only_the_latest_schemas_are_kept(tokenizer, monkeypatch):
    monkeypatch.setattr(engine_module, "N_SCHEMAS_KEPT", 3)
    engine = Engine(tiny_model(len(tokenizer)), tokenizer)
    compiled: list[str] = []
    real = engine_module.json.loads
    monkeypatch.setattr(engine_module.json, "loads", lambda s: (compiled.append(s), real(s))[1])
    schemas = [closed(only={"const": str(n)}) for n in range(5)]
    for schema in (*schemas[:3], schemas[0], *schemas[3:]):
        engine.check(prompt(schema))
    assert compiled == schemas
    # The first was asked for again, so that the second and third went.
    for schema in (schemas[0], *schemas[3:], schemas[1]):
        engine.check(prompt(schema))
    assert compiled == [*schemas, schemas[1]]
