"""How a judge is reached: certificates, redirects, waits, limits, before a run and in one."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path

import pytest
from calls import call
from raw_judge import MIB, Exchange, completion, error, judging, rated

from ragassay.errors import FatalModelError, TransientModelError, UnparsableReplyError
from ragassay.models.gateway import BOUNDED, JudgeLM
from ragassay.models.probe import check_judges
from ragassay.models.provider_errors import PROVIDERS
from ragassay.settings import Settings, load_settings

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

SELF_SIGNED = Path(__file__).with_name("self_signed.pem")
UNTRUSTED = r"the certificate of https://127\.0\.0\.1:\d+/v1 is not valid \(self-signed certificate"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.keys[0], "sk-test")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a", "question": "Why?", "answer": "Aspirin thins blood."}\n')
    return path


def judge(url: str, model: str = "openai/scripted") -> Settings:
    return load_settings(model=model, api_base=url, timeout_s=20.0)


def well(exchange: Exchange) -> None:
    exchange.send(rated("4"))


def evaluated(answers: Path, url: str, *more: str) -> tuple[int, str, str]:
    endpoint = ("--model", "openai/scripted", "--api-base", url)
    only = ("--only", "rubrics", "--rubric", "cohesion", "--out", answers.parent / "run")
    return call("evaluate", answers, *endpoint, *only, *more)


def test_a_certificate_that_nobody_vouches_for_is_refused_before_the_run(answers):
    with judging(well, SELF_SIGNED) as served:
        code, out, errors = evaluated(answers, served.base_url, "--quiet")
        with pytest.raises(FatalModelError, match=UNTRUSTED):
            check_judges([judge(served.base_url)])
        assert served.headers == [], "the key went to nobody"
    assert (code, out) == (1, "")
    assert errors.count("\n") == 1
    assert "is not valid (self-signed certificate); set SSL_CERT_FILE" in errors


async def test_a_certificate_that_goes_bad_in_a_run_is_a_lost_connection():
    with judging(well, SELF_SIGNED) as served:
        with pytest.raises(TransientModelError, match=UNTRUSTED) as raised:
            await JudgeLM(judge(served.base_url)).acall("Why?")
        assert raised.value.reason == "connection"
        assert served.headers == []


def test_a_certificate_that_the_user_vouches_for_is_taken(answers, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    with judging(well, SELF_SIGNED) as served:
        check_judges([judge(served.base_url)])
        assert len(served.headers) == 1


@pytest.mark.parametrize("model", ["openai/scripted", "anthropic/scripted"])
async def test_a_question_is_not_taken_to_an_address_that_nobody_named(model):
    with judging(well) as other:

        def redirect(exchange: Exchange) -> None:
            exchange.send(b"", 307, Location=f"{other.base_url}/chat/completions")

        with judging(redirect) as served:
            with pytest.raises(FatalModelError, match="redirects to another server"):
                await JudgeLM(judge(served.base_url, model)).acall("Why?")
        assert other.headers == [], "neither the question nor the key went on"


def test_a_redirect_elsewhere_ends_the_run_in_one_line(answers):
    def redirect(exchange: Exchange) -> None:
        exchange.send(b"", 307, Location="https://elsewhere.invalid/v1/chat/completions")

    with judging(redirect) as served:
        code, out, errors = evaluated(answers, served.base_url, "--quiet")
        assert len(served.asked) == 1
    assert (code, out) == (1, "")
    assert errors == (
        f"error: openai/scripted: {served.base_url.removesuffix('/v1')} redirects to another "
        "server, https://elsewhere.invalid; if that is intended, pass its address as --api-base\n"
    )


@pytest.mark.parametrize(
    ("status", "until"),
    [(429, lambda: "1"), (503, lambda: formatdate(time.time() + 2, usegmt=True))],
    ids=["seconds", "date"],
)
def test_a_server_that_asks_to_wait_is_waited_for(answers, status, until):
    times: list[float] = []

    def busy_once(exchange: Exchange) -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            exchange.send(error("busy"), status, Retry_After=until())
        else:
            well(exchange)

    with judging(busy_once) as served:
        code, _, _ = evaluated(answers, served.base_url)
    assert code == 0
    assert len(times) == 2
    # A date names whole seconds: of two, one at least is left.
    assert times[1] - times[0] > 0.95


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_passes_costs_an_attempt_and_no_verdict(answers, status):
    def twice(exchange: Exchange) -> None:
        exchange.send(error("busy"), status) if len(exchange.judge.asked) < 3 else well(exchange)

    with judging(twice) as served:
        assert evaluated(answers, served.base_url)[0] == 0
        assert len(served.asked) == 3


@pytest.mark.parametrize(
    ("send", "told"),
    [
        (lambda ex: ex.send(error("busy"), 429), "Rate limit: 1 verdict unscored"),
        (lambda ex: ex.send(completion("Four.")), "Unparsable reply: 1 verdict unscored"),
        (lambda ex: ex.send(error("no way"), 422), "Refused: 1 verdict unscored"),
    ],
)
def test_a_run_in_which_every_call_failed_exits_with_1_and_is_mended(
    answers, monkeypatch, send, told
):
    monkeypatch.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")
    with judging(send) as served:
        code, out, _ = evaluated(answers, served.base_url)
        assert code == 1
        assert " ".join(out.split()).startswith(f"Nothing could be judged. {told}")
        served.answer = well
        assert evaluated(answers, served.base_url, "--retry-failed")[0] == 0


@pytest.mark.parametrize("provider", sorted(BOUNDED))
async def test_each_provider_is_read_within_the_limit(provider):
    with judging(lambda exchange: exchange.send_endlessly(100)) as served:
        with pytest.raises(UnparsableReplyError, match="the reply is longer than 16 MiB"):
            await JudgeLM(judge(served.base_url, f"{provider}/scripted")).acall("Why?")
        assert served.n_sent < 32 * MIB


@pytest.mark.parametrize("provider", [name for name, one in PROVIDERS.items() if one.speaks_openai])
async def test_each_provider_of_the_protocol_is_understood(provider):
    # Groq's reply names its tier, without which LiteLLM cannot read it.
    with judging(lambda exchange: exchange.send(rated("4") | {"service_tier": "auto"})) as served:
        lm = JudgeLM(judge(served.base_url, f"{provider}/scripted"))
        assert '"rating": 4' in (await lm.acall("Why?"))[0]["text"]
        assert served.headers[0]["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("status", [200, 401])
def test_a_probe_reads_no_more_than_it_needs(status):
    def flood(exchange: Exchange) -> None:
        exchange.send_endlessly(100, status)

    with judging(flood) as served:
        served.probed = flood
        if status == 401:
            with pytest.raises(FatalModelError, match=r"rejected the key \(401\)"):
                check_judges([judge(served.base_url)])
        else:
            check_judges([judge(served.base_url)])
    assert served.n_sent < 16 * MIB
