"""What LiteLLM's proxy is told: its configuration, and the environment that it reads."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ragassay.model_names import split_endpoint

_OF_OTHER_PROXIES = ("LITELLM_", "REDIS_", "DATABASE_", "DIRECT_URL", "PROMETHEUS_MULTIPROC_DIR")
_ALSO = ("CONFIG_FILE_PATH", "STORE_MODEL_IN_DB", "SERVER_ROOT_PATH", "DISABLE_SCHEMA_UPDATE")
_KEPT = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_PROXY_API_KEY", "LITELLM_PROXY_API_BASE")


def proxy_config(models: Sequence[str], timeout_s: float) -> dict[str, Any]:
    """The proxy's configuration: no database, no retries, no word home.

    Args:
        models: LiteLLM names, each perhaps with its endpoint: `NAME@http://HOST/v1`.
        timeout_s: Longest wait for a hosted model.
    """
    return {
        "model_list": [_entry(model) for model in models],
        "litellm_settings": {
            "drop_params": True,
            "num_retries": 0,
            "request_timeout": timeout_s,
            "telemetry": False,
        },
        # One failed call must not shut the model off for everybody else.
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {
            "disable_model_info_refresh": True,
            "disable_spend_logs": True,
            "disable_error_logs": True,
        },
    }


def _entry(model: str) -> dict[str, Any]:
    name, endpoint = split_endpoint(model)
    params: dict[str, Any] = {"model": name}
    if endpoint:
        params["api_base"] = endpoint
    return {"model_name": name, "litellm_params": params}


def write_config(config: dict[str, Any], folder: Path) -> Path:
    """Write the configuration for the proxy to read; it holds no key."""
    path = folder / "proxy.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def enter_environment(
    config: Path, key: str, environment: MutableMapping[str, str] | None = None
) -> None:
    """Point the proxy to its configuration, and take away what was meant for other proxies.

    A `DATABASE_URL` that another program left there would otherwise become this proxy's database.

    Args:
        config: Where `write_config` wrote.
        key: What clients must show.
        environment: This process's own where None.
    """
    variables = os.environ if environment is None else environment
    for name in list(variables):
        if name.startswith((*_OF_OTHER_PROXIES, *_ALSO)) and name not in _KEPT:
            del variables[name]
    variables.update(
        WORKER_CONFIG=str(config),
        LITELLM_MASTER_KEY=key,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        LITELLM_DONT_SHOW_FEEDBACK_BOX="true",
        LITELLM_MODE="PRODUCTION",
        NO_DOCS="True",
        NO_OPENAPI="True",
        DISABLE_ADMIN_UI="True",
    )
