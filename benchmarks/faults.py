"""Measure common faults of a first run: seconds until the command ends, output lines and exit code.

python benchmarks/faults.py [--wait 150] [--only NAME]

The same run also times `ragassay --help` for comparison. The endpoint is a local server that
answers every request with the status in its path.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SAMPLE = Path(__file__).resolve().parent.parent / "examples" / "sample"
ANSWERS = ["evaluate", str(SAMPLE / "answers.jsonl"), "--corpus", str(SAMPLE / "abstracts.jsonl")]
MODEL = ["--model", "openai/some-model"]
BODIES = {
    401: {"error": {"message": "Incorrect API key provided: sk-x.", "code": "invalid_api_key"}},
    404: {"error": {"message": "The model `some-model` does not exist", "code": "model_not_found"}},
}


class Refusing(BaseHTTPRequestHandler):
    """Handler that answers `/STATUS/...` with that status and other paths with 404."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status = int(self.path.split("/")[1]) if self.path[1:4].isdigit() else 0
        body = json.dumps(BODIES[status]) if status in BODIES else "not found"
        self.send_response(status or 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args: object) -> None:
        """Suppress logging."""


def faults(port: int, folder: Path) -> dict[str, Sequence[str]]:
    (folder / "file").touch()
    at = f"http://127.0.0.1:{port}"
    return {
        "key missing": [*ANSWERS, *MODEL],
        "key refused (401)": [*ANSWERS, *MODEL, "--api-base", f"{at}/401/v1"],
        "model unknown (404)": [*ANSWERS, *MODEL, "--api-base", f"{at}/404/v1"],
        "path unknown (404)": [*ANSWERS, *MODEL, "--api-base", f"{at}/elsewhere"],
        "connection refused": [*ANSWERS, *MODEL, "--api-base", "http://127.0.0.1:9/v1"],
        "host unknown": [*ANSWERS, *MODEL, "--api-base", "http://nowhere.invalid/v1"],
        "second judge refused": [
            *(*ANSWERS, "--escalate", "openai/some-model@http://127.0.0.1:9/v1"),
        ],
        "model of ours unknown": [*ANSWERS, "--model", "ragassay/nonexist"],
        "folder unwritable": [*ANSWERS, "--out", "/sys/x"],
        "folder is a file": [*ANSWERS, "--out", str(folder / "file")],
        "folder of another run": [*ANSWERS, "--only", "sentences", "--out", str(folder / "run")],
    }


def measured(
    arguments: Sequence[str], environment: dict[str, str], wait_s: float
) -> dict[str, object]:
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "ragassay", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=tempfile.mkdtemp(),
    )
    try:
        output, _ = process.communicate(timeout=wait_s)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    lines = [line for line in output.splitlines() if line.strip()]
    return {
        "s": round(time.perf_counter() - start, 2),
        "cpu_s": round(cpu, 2),
        "lines": len(lines),
        "exit": process.returncode,
        "last": lines[-1][:240] if lines else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wait", type=float, default=150, help="timeout in seconds")
    parser.add_argument("--only", help="name of the only fault to run")
    args = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "OPENAI_API_KEY": "sk-x", "COLUMNS": "200"}
        first_run = [*ANSWERS[:2], "--only", "citations", "--out", str(folder / "run"), "--quiet"]
        print(json.dumps({"fault": "none: --help", **measured(["--help"], environment, 60)}))
        measured(first_run, environment, 300)
        for fault, arguments in faults(server.server_port, folder).items():
            if args.only in (None, fault):
                env = dict(environment)
                if fault == "key missing":
                    del env["OPENAI_API_KEY"]
                found = measured(arguments, env, args.wait)
                print(json.dumps({"fault": fault, **found}), flush=True)


if __name__ == "__main__":
    main()
