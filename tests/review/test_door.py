"""Who may come in, and what a browser may do with what it gets."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from ragassay.review.access import AccessControl
from ragassay.review.app import build_app
from ragassay.review.server import open_source
from ragassay.review.session import ReviewSession

PATHS = ("/", "/queue", "/rows?n=0", "/items/0", "/news", "/nothing")


@pytest.fixture
def stranger(run) -> TestClient:
    """A client that has neither token nor cookie."""
    return TestClient(
        build_app(ReviewSession(open_source(run)), AccessControl(8123, "right-token")),
        base_url="http://127.0.0.1:8123",
    )


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_served(stranger, path):
    assert stranger.get(path).status_code == 403
    assert "Second sentence" not in stranger.get(path).text


@pytest.mark.parametrize("token", ["", "wrong", "right-toke", "right-token2", "ä"])
def test_a_wrong_token_is_refused(stranger, token):
    assert stranger.get("/", params={"token": token}).status_code == 403


def test_the_token_opens_the_page_and_then_its_cookie_does(stranger):
    opened = stranger.get("/?token=right-token")
    assert opened.status_code == 200
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert stranger.get("/queue").status_code == 200


def test_the_token_counts_in_the_address_of_the_page_alone(stranger):
    assert stranger.get("/queue?token=right-token").status_code == 403


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1", "127.0.0.1:9999", ""])
def test_a_name_that_points_here_is_refused(make_client, run, host):
    client = make_client(run)
    assert client.get("/queue", headers={"host": host}).status_code == 403
    assert client.get("/queue", headers={"host": "localhost:8123", "origin": ""}).status_code == 403


def test_localhost_is_this_machine(make_client, run):
    client = make_client(run)
    headers = {"host": "localhost:8123", "origin": "http://localhost:8123"}
    assert client.get("/queue", headers=headers).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999"])
def test_another_page_cannot_say_anything(make_client, run, origin):
    client = make_client(run)
    body = {"id": "12345678", "who": "eve", "n": 0, "value": 1}
    assert client.post("/reviews", json=body, headers={"origin": origin}).status_code == 403
    assert not client.session.source.journal.read()


def test_a_post_says_where_it_comes_from(stranger):
    stranger.get("/?token=right-token")
    reply = stranger.post("/reviews", json={"id": "12345678", "who": "eve", "n": 0, "value": 1})
    assert reply.status_code == 403


def test_what_another_site_embeds_is_refused_in_spite_of_the_cookie(make_client, run):
    client = make_client(run)
    headers = {"sec-fetch-site": "cross-site"}
    assert client.get("/items/0", headers=headers).status_code == 403
    assert client.get("/", headers=headers).status_code == 403


def test_a_form_cannot_post(make_client, run):
    client = make_client(run)
    reply = client.post("/reviews", content=b"{}", headers={"content-type": "text/plain"})
    assert reply.status_code == 415


def test_only_this_page_s_own_script_and_style_run(make_client, run):
    client = make_client(run)
    reply = client.get("/")
    policy = reply.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce and f"style-src 'nonce-{nonce[1]}'" in policy
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.text.count(f'nonce="{nonce[1]}"') == 2
    assert nonce[1] not in client.get("/").text
    assert " style=" not in reply.text and " onclick=" not in reply.text
    assert not re.search(r'(src|href)="https?://(?!pubmed|doi)', reply.text)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_kept_or_sniffed_or_framed(make_client, run, path):
    headers = make_client(run).get(path).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_the_token_is_new_each_time_and_not_in_its_repr():
    access, other = AccessControl(1), AccessControl(1)
    assert access.token != other.token and len(access.token) >= 40
    assert access.token not in repr(access)
