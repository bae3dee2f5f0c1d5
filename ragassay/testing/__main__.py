"""Command line of the scripted model: `python -m ragassay.testing`."""

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
Prints its address, http://127.0.0.1:PORT/v1 (or the path of its provider), as a single line and
serves until it is stopped. Replies are generated. They are valid for the JSON schema in a request,
and the same for equal messages in all processes.

Each line of the log is a JSON object with n (position in order of arrival), key (SHA-256 of the
messages and the response format), attempt (number of requests with this key so far), status (HTTP
status), fault (or null) and client_there (false if the client disconnected before the answer).
The line is written just before the answer is sent. Requests that are never answered have no line.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted. `arguments` default to `sys.argv`."""
    options = _build_parser().parse_args(arguments)
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
        _build_parser().error(str(error))
    with suppress(KeyboardInterrupt), model:
        print(model.base_url, flush=True)
        threading.Event().wait()


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ragassay.testing",
        description="A scripted language model with the OpenAI chat completions API.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="port; 0 (default) selects a free one")
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="SECONDS", help="delay of each answer"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="append a line for each finished request"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[=PROBABILITY]",
        help=f"kind of fault, repeatable: {', '.join(get_args(FaultKind))}",
    )
    parser.add_argument(
        "--manner",
        default="scripted",
        metavar="NAME",
        help=f"provider to imitate: {', '.join(MANNER_NAMES)}",
    )
    parser.add_argument(
        "--refuse",
        action="append",
        default=[],
        metavar="PARAMETER",
        help="parameter to refuse, such as temperature or logprobs; repeatable",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of the faults")
    return parser


def _parse_fault(text: str, seed: int) -> Fault:
    kind, _, probability = text.partition("=")
    try:
        number = float(probability) if probability else None
    except ValueError as error:
        raise InputError(f"--fault {text}: {probability!r} is not a number") from error
    return Fault(cast(FaultKind, kind), probability=number, seed=seed)


if __name__ == "__main__":
    main()
