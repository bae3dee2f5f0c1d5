"""50 clients at once on `ragassay serve`: failed requests, latency, and the server's memory.

    python benchmarks/proxy.py --clients 50 --seconds 600

The server runs in a process of its own, with the embedded SmolLM2 unless `--model` names another
local one. Each client asks again as soon as it has its reply: a rating under a JSON schema with
log-probabilities, most of them on one of a few answers (so that prefixes are shared, as an
evaluation does), every tenth on a text that was never seen before.

Memory is the server's resident set, read every two seconds. The first quarter is warm-up: the model
is loaded then, and the bounded stores of keys, values and compiled schemas fill up. Memory counts
as flat where the median of the last quarter is less than 5 % above that of the second; the slope
of a straight line through all that came after warm-up is printed beside it. Batches differ in
size, so single readings go up and down by what one batch holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np
import psutil

RUBRICS = ("cohesion", "coherence", "informativeness", "readability", "correctness", "relevance")
WORDS = (
    "the trial of drug A against placebo in adults with migraine lowered monthly days by".split()
)
SCHEMA = {
    "type": "object",
    "properties": {
        "rating": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        "rationale": {"type": "string", "maxLength": 40},
    },
    "required": ["rating", "rationale"],
    "additionalProperties": False,
}


@dataclass
class Found:
    """What was measured.

    Attributes:
        seconds: Latency of each answered request.
        failures: By status or kind of error.
        readings: Time since the start in s, resident set in bytes.
    """

    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    readings: list[tuple[float, int]] = field(default_factory=list)


@contextmanager
def server(model: str | None, nice: int) -> Iterator[tuple[str, str, psutil.Process]]:
    """The server in a process of its own: its base URL, its key, its process."""
    key = secrets.token_urlsafe(32)
    command = [sys.executable, "-m", "ragassay", "serve", "--port", "0"]
    command += ["--only", "--model", model] if model else []
    with subprocess.Popen(
        command,
        env={**os.environ, "RAGASSAY_OUTPUT__SERVER_KEY": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        if nice:
            psutil.Process(process.pid).nice(nice)
        yield process.stdout.readline().strip(), key, psutil.Process(process.pid)
        process.send_signal(signal.SIGTERM)
        print(f"server ended with code {process.wait(600)}")


def question(chance: random.Random) -> dict[str, object]:
    """A request's messages and what is wanted of the reply."""
    is_new = chance.random() < 0.1
    seed = random.Random(chance.getrandbits(32) if is_new else chance.randrange(8))
    answer = " ".join(seed.choices(WORDS, k=80))
    rubric = chance.choice(RUBRICS)
    text = f"Answer: {answer}.\nRate its {rubric} from 1 to 5 (case {chance.randrange(10**6)})."
    return {
        "messages": [{"role": "user", "content": text}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}},
        "logprobs": True,
        "top_logprobs": 5,
        "max_tokens": 40,
    }


async def ask_on(
    http: httpx.AsyncClient, model: str, number: int, end: float, found: Found
) -> None:
    """One client, until the time is over."""
    chance = random.Random(number)
    while time.monotonic() < end:
        start = time.monotonic()
        try:
            reply = await http.post("/chat/completions", json={"model": model, **question(chance)})
            if reply.status_code == 200 and reply.json()["choices"][0]["logprobs"]["content"]:
                found.seconds.append(time.monotonic() - start)
            else:
                found.failures[str(reply.status_code)] += 1
        except httpx.HTTPError as error:
            found.failures[type(error).__name__] += 1


async def watch(process: psutil.Process, start: float, end: float, found: Found) -> None:
    """Read the server's memory every two seconds."""
    while time.monotonic() < end:
        found.readings.append((time.monotonic() - start, process.memory_info().rss))
        await asyncio.sleep(2)


async def measure(n_clients: int, seconds: float, model: str | None, nice: int) -> Found:
    found = Found()
    with server(model, nice) as (url, key, process):
        limits = httpx.Limits(max_connections=n_clients)
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(
            base_url=url, headers=headers, limits=limits, timeout=600
        ) as http:
            name = model or (await http.get("/models")).json()["data"][-1]["id"]
            start = time.monotonic()
            end = start + seconds
            clients = (ask_on(http, name, n, end, found) for n in range(n_clients))
            await asyncio.gather(watch(process, start, end, found), *clients)
            page = (await http.get(url.removesuffix("/v1") + "/metrics")).text
        print("\n".join(line for line in page.splitlines() if line.startswith("ragassay_local")))
    return found


def summary(found: Found, seconds: float) -> dict[str, object]:
    """The figures: counts, seconds, MiB."""
    kept = np.array([(t, rss / 2**20) for t, rss in found.readings])
    second = kept[(kept[:, 0] >= seconds / 4) & (kept[:, 0] < seconds / 2), 1]
    last = kept[kept[:, 0] >= 3 * seconds / 4, 1]
    warm = kept[kept[:, 0] >= seconds / 4]
    growth = float(np.median(last) / np.median(second) - 1)
    return {
        "answered": len(found.seconds),
        "failed": sum(found.failures.values()),
        "failures": dict(found.failures),
        "requests_a_s": round(len(found.seconds) / seconds, 2),
        "latency_s": {
            f"p{q}": round(float(np.percentile(found.seconds, q)), 2) for q in (50, 90, 99, 100)
        },
        "mean_latency_s": round(statistics.fmean(found.seconds), 2),
        "rss_mib": {
            "start": round(kept[0, 1]),
            "second_quarter": round(float(np.median(second))),
            "last_quarter": round(float(np.median(last))),
            "most": round(kept[:, 1].max()),
        },
        "slope_mib_a_min": round(float(np.polyfit(warm[:, 0], warm[:, 1], 1)[0]) * 60, 2),
        "growth": round(growth, 4),
        "is_flat": growth < 0.05,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--model", help="a local model, such as ragassay/judge")
    parser.add_argument("--nice", type=int, default=0, help="of the server; 0 leaves it")
    parser.add_argument("--readings", help="file for the memory readings: s and bytes, one a line")
    given = parser.parse_args()
    found = asyncio.run(measure(given.clients, given.seconds, given.model, given.nice))
    print(json.dumps(summary(found, given.seconds), indent=2))
    if given.readings:
        with open(given.readings, "w", encoding="utf-8") as file:
            file.writelines(f"{t:.1f} {rss}\n" for t, rss in found.readings)


if __name__ == "__main__":
    main()
