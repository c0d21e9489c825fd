"""Who may talk to the page: whoever was given its URL, from that page; nobody else on the machine or the web.

The token is in the URL's fragment, which a browser sends to no one; the page sends it as a header. Another site can
neither read it nor set the header, a name that is made to point at 127.0.0.1 is not an address of this page.
"""

import hashlib
import hmac
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A report is a whole page of its own, from a file: it gets an origin of its own, runs nothing and reaches nothing.
REPORT_CSP = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def report_key(token: str, number: int) -> str:
    """What opens one report and nothing else: a link cannot send a header, and the token stays out of addresses."""
    return hmac.new(token.encode(), f"report {number}".encode(), hashlib.sha256).hexdigest()


def same(found: str, wanted: str) -> bool:
    return hmac.compare_digest(found.encode(), wanted.encode())


@dataclass(frozen=True)
class Guard:
    app: ASGIApp
    token: str
    port: int
    public: frozenset[str]  # paths that need no token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self.app if refusal is None else JSONResponse({"error": refusal}, 403)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        hosts = [f"127.0.0.1:{self.port}", f"localhost:{self.port}"]
        if [host for host in headers.getlist("host") if host in hosts] != headers.getlist("host")[:1]:
            return "this page is served at 127.0.0.1 only"
        if not set(headers.getlist("origin")) <= {f"http://{host}" for host in hosts}:
            return "requests from other pages are refused"
        public = scope["path"] in self.public or scope["path"].startswith("/report/")  # reports have keys of their own
        if not public and not same(headers.get("x-safegain-token", ""), self.token):
            return "the token is missing or out of date; open the URL that the command printed"
        return None
