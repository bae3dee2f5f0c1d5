"""Run the scripted model as a process of its own: `python -m ragassay.testing`."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

from ragassay.errors import InputError
from ragassay.testing.faults import Fault, FaultKind
from ragassay.testing.manners import MANNER_NAMES
from ragassay.testing.scripted_model import ScriptedModel

_EPILOG = """\
Prints its address, http://127.0.0.1:PORT/v1 (with the path of its manner), as the one line of its
output and serves until it is killed. Replies are made up: valid under the JSON schema that a
request asks for, the same for the same messages in any process.

Each line of the log is a JSON object with n (place in the order of arrival), key (SHA-256 of the
messages and the response format), attempt (how often the key had come by then), status (the HTTP
status sent), fault (or null) and client_there (false where the client had gone before its answer).
A line is written and flushed just before its answer is sent; a request that is never answered has
no line.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted or killed.

    Args:
        arguments: The command line without the program's name; None takes the process's own.
    """
    parser = _build_parser()
    options = parser.parse_args(arguments)
    try:
        faults = [_parse_fault(text, options.seed) for text in options.fault]
        model = ScriptedModel(
            latency_s=options.latency,
            faults=faults,
            port=options.port,
            log=options.log,
            keep_requests=False,
            manner=options.manner,
            refuses=options.refuse,
        )
    except InputError as error:
        parser.error(str(error))
    with suppress(KeyboardInterrupt), model:
        print(model.base_url, flush=True)
        threading.Event().wait()


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ragassay.testing",
        description="A scripted language model that speaks the OpenAI chat-completions protocol.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="SECONDS", help="how long each answer waits"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append a line for each finished request"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[=PROBABILITY]",
        help=f"may be repeated; kinds: {', '.join(get_args(FaultKind))}",
    )
    parser.add_argument(
        "--manner", default="scripted", metavar="NAME", help=f"one of {', '.join(MANNER_NAMES)}"
    )
    parser.add_argument(
        "--refuse",
        action="append",
        default=[],
        metavar="PARAMETER",
        help="refuse requests with this parameter (temperature, logprobs, ...); may be repeated",
    )
    parser.add_argument("--seed", type=int, default=0, help="for the faults' probabilities")
    return parser


def _parse_fault(text: str, seed: int) -> Fault:
    kind, _, probability = text.partition("=")
    try:
        chance = float(probability) if probability else None
    except ValueError as error:
        raise InputError(f"--fault {text}: {probability!r} is not a number") from error
    return Fault(cast(FaultKind, kind), probability=chance, seed=seed)


if __name__ == "__main__":
    main()
