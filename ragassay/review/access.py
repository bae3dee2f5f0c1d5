"""Access control of the review page: who may come in, and what the browser may do."""

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
"""Of every reply."""

OWN_SITE = ("same-origin", "none")
"""Where the browser says that a request comes from: the page itself, or the address bar."""


@dataclass(frozen=True)
class AccessControl:
    """Lets in who has the token, which is the secret of the address."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies are shared by all ports, so it has the port."""
        return f"ragassay-review-{self.port}"

    def set_cookie(self) -> str:
        """Return the header that lets the browser come back without the token."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def refusal(
        self,
        method: str,
        headers: Mapping[str, str],
        cookies: Mapping[str, str],
        token: str,
    ) -> str:
        """Return why a request is refused; empty for one that may come in.

        Args:
            method: "GET", "POST", ...
            headers: By lower-case name.
            cookies: By name.
            token: That of the address; may be empty.
        """
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        host = headers.get("host", "")
        if host not in hosts:
            return "the host is not this server's"
        origin = headers.get("origin")
        is_own = origin == f"http://{host}" or (origin is None and method in ("GET", "HEAD"))
        if not is_own:
            return "the request comes from another page"
        value = cookies.get(self.cookie, "")
        if not (self._is_token(token) or self._is_token(value)):
            return "open the address that `ragassay review` printed: it holds the token"
        site = headers.get("sec-fetch-site", "none")
        # The address with the token may be opened from anywhere, by its owner.
        if site not in OWN_SITE and not self._is_token(token):
            return "the request comes from another page"
        return ""

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode(), self.token.encode())


def page_policy(nonce: str) -> str:
    """Return the content security policy of a page whose style and script have a nonce."""
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
