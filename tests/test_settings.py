"""Settings: groups, flat names, environment variables, and their effect on results."""

from __future__ import annotations

import os
import pickle

import pytest
from pydantic import ValidationError

from ragassay.errors import SettingsError
from ragassay.settings import (
    FIELDS,
    GROUP_OF,
    GROUPS,
    RESULT_FIELDS,
    AffectsResult,
    Settings,
    collect_result_values,
    format_settings,
    load_settings,
)

MOST_FIELDS = 10
AFFECTS_NO_RESULT = {
    *("api_base", "model_options", "timeout_s", "max_attempts"),  # options are recorded unchanged
    *("prompts", "evaluators"),  # the content of these is hashed
    *("chroma_url", "cache_dir", "computed_mb", "ncbi_api_key", "ncbi_email"),
    *("batch", "concurrency", "max_rpm", "max_usd", "engine", "address", "workers"),
    *("max_line_bytes", "tracing", "tracing_content", "server_key"),
}


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RAGASSAY_")]:
        monkeypatch.delenv(name)


def test_each_setting_is_in_one_group_and_no_group_is_wide():
    assert len(Settings.model_fields) <= MOST_FIELDS
    assert list(Settings.model_fields) == list(GROUPS)
    assert sum(len(kind.model_fields) for kind in GROUPS.values()) == len(FIELDS)
    for name, kind in GROUPS.items():
        assert len(kind.model_fields) <= MOST_FIELDS, name
        assert Settings.model_fields[name].annotation is kind
        assert name not in FIELDS, "a name is of a group or of a setting"


def test_each_setting_says_whether_it_affects_a_result():
    settings = load_settings()
    for name, field in FIELDS.items():
        marks = [mark for mark in field.metadata if isinstance(mark, AffectsResult)]
        assert len(marks) == (name not in AFFECTS_NO_RESULT), name
        stored = [mark.stored_as or name for mark in marks]
        assert [RESULT_FIELDS.get(one) for one in stored] == [name] * len(stored)
    assert {*format_settings(settings)} == {*collect_result_values(settings)} == {*RESULT_FIELDS}
    assert format_settings(settings)["chosen_verifier"] == settings.chosen_verifier
    assert format_settings(settings)["source_chars"] == settings.source_chars


def test_settings_are_given_by_their_names_or_in_groups():
    flat = Settings(model="openai/a", timeout_s=3, only="rubrics")
    judge = {"model": "openai/a", "timeout_s": 3}
    grouped = Settings(judge=judge, evaluation={"only": ("rubrics",)})
    assert flat == grouped == pickle.loads(pickle.dumps(flat))
    assert flat.judge.timeout_s == 3 and flat.evaluation.only == ("rubrics",)
    assert Settings(**flat.collect_values()) == flat
    with pytest.raises(ValidationError, match="modle"):
        Settings(modle="openai/a")
    with pytest.raises(SettingsError, match=r"^modle: there is no such field"):
        load_settings(modle="openai/a")


def test_a_copy_changes_settings_in_several_groups_and_keeps_the_rest():
    settings = Settings(model="openai/a", timeout_s=3)
    copy = settings.model_copy(update={"panel": ("openai/b",), "signals": False})
    assert copy.judge.judges == ("openai/a", "openai/b")
    assert copy.judge.timeout_s == 3 and not copy.evaluation.signals
    assert settings.judge.panel == () and settings.evaluation.signals


@pytest.mark.parametrize("name", FIELDS)
def test_each_setting_can_be_set_in_the_environment(name, monkeypatch):
    values = {
        "judge_form": "plain",
        "when": "undecided",
        "model_options": '["top_p=1"]',
        "grades": '["fagb"]',
        "max_reply_tokens": "20",
        "nugget_threshold": "0.5",
        "evidence_threshold": "0.5",
        "evidence_rounds": "3",
    }
    default = Settings().collect_values()[name]
    value = values.get(name, '["rating"]' if isinstance(default, tuple) else "2")
    choices = getattr(FIELDS[name].annotation, "__args__", ())
    if choices and all(isinstance(one, str) for one in choices):
        value = values.get(name, choices[-1])
    if isinstance(default, bool):
        value = str(not default)
    variable = f"RAGASSAY_{GROUP_OF[name]}__{name}".upper()
    more = {"model": "openai/a"} if name in ("panel", "judge_form", "batch") else {}
    monkeypatch.setenv(variable, value)
    set_there = load_settings(**more).collect_values()[name]
    monkeypatch.delenv(variable)
    assert set_there != load_settings(**more).collect_values()[name]


@pytest.mark.parametrize("name", FIELDS)
def test_the_old_name_of_a_variable_is_refused_with_the_new_one(name, monkeypatch):
    monkeypatch.setenv(f"RAGASSAY_{name}".upper(), "1")
    new = f"RAGASSAY_{GROUP_OF[name]}__{name}".upper()
    with pytest.raises(SettingsError, match=f"unknown setting; did you mean {new}"):
        load_settings()


def test_a_wrong_variable_is_named_and_a_strangers_is_left_alone(monkeypatch):
    monkeypatch.setenv("RAGASSAY_SERVICE_HOST", "10.0.0.1")
    load_settings()
    monkeypatch.setenv("RAGASSAY_LIMITS__TIMEOUT_S", "3")
    with pytest.raises(SettingsError, match="did you mean RAGASSAY_JUDGE__TIMEOUT_S"):
        load_settings()
    monkeypatch.delenv("RAGASSAY_LIMITS__TIMEOUT_S")
    monkeypatch.setenv("RAGASSAY_JUDGE__TIMEOUT_S", "soon")
    with pytest.raises(SettingsError, match=r"^RAGASSAY_JUDGE__TIMEOUT_S: it must be a number"):
        load_settings()
    load_settings(timeout_s=3)
    monkeypatch.delenv("RAGASSAY_JUDGE__TIMEOUT_S")
    for variable, value in (("RAGASSAY_JUDGE__FOO", "1"), ("RAGASSAY_JUDGE", "notjson")):
        monkeypatch.setenv(variable, value)
        with pytest.raises(SettingsError, match=f"^{variable}: "):
            load_settings()
        monkeypatch.delenv(variable)
    monkeypatch.setenv("RAGASSAY_GRADING__GRADES", "rating")
    with pytest.raises(SettingsError, match=r"GRADING__GRADES: must be a JSON list"):
        load_settings()
    with pytest.raises(SettingsError, match=r"^the judges in a panel must be unique"):
        load_settings(grades=("rating",), model="openai/a", panel=("openai/a",))


def test_a_password_in_an_address_is_not_shown():
    settings = Settings(api_base="http://ann:secret-1@host/v1", chroma_url="http://bob:secret-2@c")
    assert "host/v1" in str(settings.judge) and "***@c" in repr(settings.literature)
    for shown in (repr(settings), str(settings.judge), repr(settings.literature)):
        assert "secret" not in shown


def test_blanks_around_a_model_are_no_part_of_its_name():
    for given, read in {
        ("model", " openai/a\n"): "openai/a",
        ("escalate", "openai/b "): "openai/b",
        ("panel", (" openai/c",)): ("openai/c",),
    }.items():
        name, value = given
        assert load_settings(**{"model": "openai/x", name: value}).collect_values()[name] == read
