"""What LiteLLM's proxy is told, and what it must not hear of."""

from __future__ import annotations

from pathlib import Path

import yaml

from ragassay.models.serving.settings import enter_environment, proxy_config, write_config


def test_models_keep_their_names_and_endpoints(tmp_path: Path) -> None:
    models = ["ragassay/judge", "hosted_vllm/big@http://gpu:8000/v1"]
    path = write_config(proxy_config(models, 30.0), tmp_path)
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["model_list"] == [
        {"model_name": "ragassay/judge", "litellm_params": {"model": "ragassay/judge"}},
        {
            "model_name": "hosted_vllm/big",
            "litellm_params": {"model": "hosted_vllm/big", "api_base": "http://gpu:8000/v1"},
        },
    ]
    assert written["litellm_settings"]["request_timeout"] == 30.0
    assert written["litellm_settings"]["telemetry"] is False
    assert "key" not in path.read_text(encoding="utf-8")


def test_what_was_meant_for_another_proxy_is_taken_away(tmp_path: Path) -> None:
    environment = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "theirs",
        "LITELLM_PROXY_API_KEY": "theirs",
        "DATABASE_URL": "postgres://else",
        "REDIS_HOST": "else",
        "CONFIG_FILE_PATH": "else",
        "LITELLM_LICENSE": "else",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
        "STORE_MODEL_IN_DB": "True",
    }
    enter_environment(tmp_path / "proxy.yaml", "the key", environment)
    assert "else" not in " ".join(environment.values())
    assert not {"DATABASE_URL", "STORE_MODEL_IN_DB"} & environment.keys()
    assert not any("DANGEROUSLY" in name for name in environment)
    assert environment["LITELLM_MASTER_KEY"] == "the key"
    assert environment["WORKER_CONFIG"] == str(tmp_path / "proxy.yaml")
    assert environment["OPENAI_API_KEY"] == environment["LITELLM_PROXY_API_KEY"] == "theirs"
