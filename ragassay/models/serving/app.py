"""The server's application: a few of OpenAI's routes over LiteLLM, for clients with the key."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragassay.model_names import provider_of
from ragassay.models.serving.completions import Completions
from ragassay.models.serving.requests import Gate, Refusal

HEALTH = ("liveliness", "liveness", "readiness")

_SERVED = "/v1/chat/completions, /v1/models, /health/liveliness, /health/readiness and /metrics are"


def build_app(gate: Gate, completions: Completions) -> Starlette:
    """Build the application.

    Args:
        gate: Checks the key and the models' names.
        completions: Answers chats, and counts.
    """
    metrics = completions.metrics

    async def list_models(request: Request) -> Response:
        gate.check_key(request)
        cards = {
            name: {"id": name, "object": "model", "created": 0, "owned_by": provider_of(name)}
            for name in gate.models
        }
        if asked := request.path_params.get("name"):
            return JSONResponse(cards[gate.served(asked)])
        return JSONResponse({"object": "list", "data": list(cards.values())})

    async def tell_health(request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def tell_metrics(request: Request) -> Response:
        return Response(metrics.page(), media_type="text/plain; version=0.0.4")

    async def refuse(request: Request, error: Exception) -> Response:
        if not isinstance(error, Refusal):
            what = f"{request.method} {request.url.path}"
            error = Refusal(404, f"{what}: not served; {_SERVED}", "not_found")
        metrics.count("", error.status)
        return error.response()

    routes = [*(Route(f"/health/{word}", tell_health) for word in HEALTH)]
    routes.append(Route("/metrics", tell_metrics))
    for root in ("/v1", ""):
        routes.append(Route(f"{root}/chat/completions", completions, methods=["POST"]))
        routes.append(Route(f"{root}/models", list_models))
        routes.append(Route(f"{root}/models/{{name:path}}", list_models))
    return Starlette(routes=routes, exception_handlers={Refusal: refuse, HTTPException: refuse})
