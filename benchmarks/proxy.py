"""Load test `ragassay serve` with 50 clients: failed requests, latency and server memory.

    python benchmarks/proxy.py --clients 50 --seconds 600

The server runs in its own process with the embedded SmolLM2, or with another local model passed as
`--model`. Each client sends its next request as soon as it receives a reply. A request asks for a
rating under a JSON schema with log-probabilities. Most requests are about one of eight answers, so
prefixes are shared as in an evaluation. One in ten is about new text.

Memory is the server's resident set, read every two seconds. The first quarter is warm-up, while the
model loads and the bounded stores of keys, values and compiled schemas fill up. Memory counts as
flat if the median of the last quarter is less than 5 % above that of the second. The slope of a
linear fit after warm-up is also printed. Single readings fluctuate with batch size.
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
class Measurements:
    """Results of the load test.

    Attributes:
        seconds: Latency of each answered request.
        failures: Number of failures by status or error type.
        readings: Seconds since the start and resident set in bytes.
    """

    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    readings: list[tuple[float, int]] = field(default_factory=list)


@contextmanager
def server(model: str | None, nice: int) -> Iterator[tuple[str, str, psutil.Process]]:
    """Start the server in its own process, and yield its base URL, key and process."""
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


def question(rng: random.Random) -> dict[str, object]:
    is_new = rng.random() < 0.1
    seed = random.Random(rng.getrandbits(32) if is_new else rng.randrange(8))
    answer = " ".join(seed.choices(WORDS, k=80))
    rubric = rng.choice(RUBRICS)
    text = f"Answer: {answer}.\nRate its {rubric} from 1 to 5 (case {rng.randrange(10**6)})."
    return {
        "messages": [{"role": "user", "content": text}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}},
        "logprobs": True,
        "top_logprobs": 5,
        "max_tokens": 40,
    }


async def ask_on(
    http: httpx.AsyncClient, model: str, number: int, end: float, found: Measurements
) -> None:
    """Send requests as one client until the end time."""
    rng = random.Random(number)
    while time.monotonic() < end:
        start = time.monotonic()
        try:
            reply = await http.post("/chat/completions", json={"model": model, **question(rng)})
            if reply.status_code == 200 and reply.json()["choices"][0]["logprobs"]["content"]:
                found.seconds.append(time.monotonic() - start)
            else:
                found.failures[str(reply.status_code)] += 1
        except httpx.HTTPError as error:
            found.failures[type(error).__name__] += 1


async def watch(process: psutil.Process, start: float, end: float, found: Measurements) -> None:
    """Read the server's memory every two seconds."""
    while time.monotonic() < end:
        found.readings.append((time.monotonic() - start, process.memory_info().rss))
        await asyncio.sleep(2)


async def measure(n_clients: int, seconds: float, model: str | None, nice: int) -> Measurements:
    found = Measurements()
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


def summary(found: Measurements, seconds: float) -> dict[str, object]:
    """Return counts, latencies in seconds and memory in MiB."""
    readings = np.array([(t, rss / 2**20) for t, rss in found.readings])
    second_quarter = readings[(readings[:, 0] >= seconds / 4) & (readings[:, 0] < seconds / 2), 1]
    last_quarter = readings[readings[:, 0] >= 3 * seconds / 4, 1]
    warm = readings[readings[:, 0] >= seconds / 4]
    growth = float(np.median(last_quarter) / np.median(second_quarter) - 1)
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
            "start": round(readings[0, 1]),
            "second_quarter": round(float(np.median(second_quarter))),
            "last_quarter": round(float(np.median(last_quarter))),
            "most": round(readings[:, 1].max()),
        },
        "slope_mib_a_min": round(float(np.polyfit(warm[:, 0], warm[:, 1], 1)[0]) * 60, 2),
        "growth": round(growth, 4),
        "is_flat": growth < 0.05,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--model", help="local model, such as ragassay/judge")
    parser.add_argument(
        "--nice", type=int, default=0, help="nice value of the server (default: unchanged)"
    )
    parser.add_argument("--readings", help="output file of memory readings, in seconds and bytes")
    args = parser.parse_args()
    found = asyncio.run(measure(args.clients, args.seconds, args.model, args.nice))
    print(json.dumps(summary(found, args.seconds), indent=2))
    if args.readings:
        with open(args.readings, "w", encoding="utf-8") as file:
            file.writelines(f"{t:.1f} {rss}\n" for t, rss in found.readings)


if __name__ == "__main__":
    main()
