"""Access control and security headers of the review page."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""HTTP headers that every response has."""

OWN_SITE = ("same-origin", "none")
"""Values of the Sec-Fetch-Site header that are accepted: those that browsers send for requests from
the page itself and from the address bar."""


@dataclass(frozen=True)
class AccessControl:
    """Allows only requests with a secret token, which is part of the URL of the page."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def url(self) -> str:
        """URL of the review page, including the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie with the token; it contains the port, because ports share cookies."""
        return f"ragassay-review-{self.port}"

    def set_cookie(self) -> str:
        """Return a Set-Cookie header value that stores the token in the browser."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def explain_refusal(
        self,
        method: str,
        headers: Mapping[str, str],
        cookies: Mapping[str, str],
        token: str,
    ) -> str:
        """Return why a request is refused, or "" if it is allowed.

        Args:
            headers: Request headers, keyed by name in lower case.
            token: Token in the URL, which may be empty if the cookie contains the token.
        """
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        host = headers.get("host", "")
        if host not in hosts:
            return "the Host header does not match this server"
        origin = headers.get("origin")
        is_own = origin == f"http://{host}" or (origin is None and method in ("GET", "HEAD"))
        if not is_own:
            return "the request comes from another page"
        value = cookies.get(self.cookie, "")
        if not (self._is_token(token) or self._is_token(value)):
            return "open the URL that `ragassay review` printed, which includes the access token"
        site = headers.get("sec-fetch-site", "none")
        # The URL with the token may be opened from anywhere.
        if site not in OWN_SITE and not self._is_token(token):
            return "the request comes from another page"
        return ""

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self.token.encode())


def build_page_policy(nonce: str) -> str:
    """Return a Content Security Policy that allows only styles and scripts with the nonce."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'nonce-{nonce}'",
            f"script-src 'nonce-{nonce}'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
