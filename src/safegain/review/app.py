"""The page's requests and answers. All run on one thread, so that the desk needs no locks."""

import json
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from safegain.review.decisions import Stale
from safegain.review.desk import Desk
from safegain.review.guard import REPORT_CSP, Guard, report_key, same
from safegain.review.proof_desk import ProofDesk
from safegain.review.rows import Query
from safegain.runs.added_only import StoreError
from safegain.runs.folder import REPORT

LARGEST_DECISION, LARGEST_REPORT, LARGEST_IMPORT = 10_000, 10 * 2**20, 50 * 2**20  # bytes
LONGEST_LIST = 200  # rows in one answer
# The same for everyone, with no data in them: the only answers that need no token or key.
SCRIPTS = ("page", "view", "filters", "finish", "keys", "status", "conflict", "server", "prove", "curve")
PAGES = {"/": "page.html", "/prove": "prove.html", "/page.css": "page.css"}
STATIC = PAGES | {f"/{name}.js": f"{name}.js" for name in SCRIPTS}
KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css"}


class TooLarge(ValueError):
    """More was sent than is read."""


def create_app(
    folder: Path,
    token: str,
    *,
    port: int,
    certified: Callable[[Path], Any] = lambda folder: None,
    proof: int | None = None,
) -> Starlette:
    """The page over the run in `folder` at 127.0.0.1:port, for whoever has the token.

    `certified` gets the folder whenever a certificate was written into it. `proof` is the number of the one that goes
    on; None: the latest.
    """
    desk = Desk(folder)
    proofs = ProofDesk(desk.run, certified, proof)
    api = Api(desk, proofs, token)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        proofs.close()
        desk.close()

    routes = [
        *(Route(path, static) for path in STATIC),
        Route("/report/{number:int}", api.report),
        Route("/api/about", api.about),
        Route("/api/rows", api.rows),
        Route("/api/rows/{row:int}", api.row),
        Route("/api/changes", api.changes),
        Route("/api/refits", api.refits),
        Route("/api/decide", api.decide, methods=["POST"]),
        Route("/api/import", api.import_export, methods=["POST"]),
        Route("/api/finish", api.finish, methods=["POST"]),
        Route("/api/refit", api.refit, methods=["POST"]),
        Route("/api/cancel", api.cancel, methods=["POST"]),
        Route("/api/proof", api.proof),
        Route("/api/proof/label", api.label, methods=["POST"]),
        Route("/api/proof/stop", api.stop, methods=["POST"]),
    ]
    failures = {TooLarge: failed(413), ValueError: failed(400), OSError: failed(500), Stale: api.stale}
    failures |= {StoreError: failed(503), RecursionError: failed(400, "the request is nested too deeply")}
    guard = Middleware(Guard, token=token, port=port, public=frozenset(STATIC))
    return Starlette(routes=routes, middleware=[guard], exception_handlers=failures, lifespan=lifespan)


@dataclass(frozen=True)
class Api:
    desk: Desk
    proofs: ProofDesk
    token: str

    async def about(self, _: Request) -> Response:
        return answer(self.desk.about())

    async def rows(self, request: Request) -> Response:
        asked = request.query_params
        limit = max(1, min(whole(asked, "limit") or 50, LONGEST_LIST))
        return answer(self.desk.page(query(asked), whole(asked, "after"), limit))

    async def row(self, request: Request) -> Response:
        return answer(self.desk.row(request.path_params["row"], request.query_params.get("order", "")))

    async def changes(self, request: Request) -> Response:
        asked = request.query_params
        return answer(self.desk.changes(query(asked), whole(asked, "since") or 0))

    async def decide(self, request: Request) -> Response:
        return answer(self.desk.decide(await sent_object(request)))

    async def stale(self, _: Request, error: Exception) -> Response:
        assert isinstance(error, Stale)
        return answer({"error": str(error), "state": self.desk.state(error.current)}, 409)

    async def import_export(self, request: Request) -> Response:
        from safegain.tables.label_studio import from_content

        export = from_content(await body(request, LARGEST_IMPORT), "the uploaded file")
        return answer({"imported": self.desk.add_all(export)})

    async def proof(self, _: Request) -> Response:
        return answer(self.proofs.state())

    async def label(self, request: Request) -> Response:
        taken = self.proofs.label(await sent_object(request))
        return answer(self.proofs.state(), 200 if taken else 409)

    async def stop(self, _: Request) -> Response:
        self.proofs.stop()
        return answer(self.proofs.state())

    async def finish(self, _: Request) -> Response:
        return answer(self.desk.finish())

    async def refits(self, _: Request) -> Response:
        links = [
            f"/report/{number}?key={report_key(self.token, number)}" if is_report(folder / REPORT) else None
            for number, folder in enumerate(self.desk.folders)
        ]
        told = [refit.told() | {"report": link} for refit, link in zip(self.desk.refits, links[1:], strict=True)]
        return answer({"report": links[0], "refits": told})

    async def refit(self, request: Request) -> Response:
        self.desk.refit()
        return await self.refits(request)

    async def cancel(self, request: Request) -> Response:
        self.desk.cancel()
        return await self.refits(request)

    async def report(self, request: Request) -> Response:
        """The report of this run, number 0, or of one that was started from the page; no path comes from outside."""
        number = request.path_params["number"]
        if not same(request.query_params.get("key", ""), report_key(self.token, number)):
            return answer({"error": "open the report from the page"}, 403)
        file = self.desk.folders[number] / REPORT if number < len(self.desk.folders) else None
        if file is None or not is_report(file):
            return answer({"error": f"there is no report, or it is larger than {LARGEST_REPORT:,} bytes"}, 404)
        headers = {"Content-Security-Policy": REPORT_CSP}
        return Response(file.read_bytes(), media_type="text/html", headers=headers)


def is_report(file: Path) -> bool:
    """A file, and not too large a one; a link in a folder that somebody sent could name any file of this machine."""
    try:
        found = file.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_REPORT


async def static(request: Request) -> Response:
    name = STATIC[request.url.path]
    text = (files("safegain.review") / name).read_text(encoding="utf-8")
    return Response(text, media_type=KINDS[name.rsplit(".")[-1]])


def answer(found: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(found, allow_nan=False), status, media_type="application/json")


def failed(status: int, sentence: str | None = None) -> Any:
    async def tell(_: Request, error: Exception) -> Response:
        return answer({"error": sentence or str(error)}, status)

    return tell


async def sent_object(request: Request) -> dict[str, Any]:
    sent = json.loads(await body(request, LARGEST_DECISION))
    if not isinstance(sent, dict):
        raise ValueError("what is sent must be a JSON object")
    return sent


async def body(request: Request, most: int) -> bytes:
    """What was sent, and no more of it read than is allowed."""
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLarge(f"the request is larger than {most:,} bytes")
    return b"".join(parts)


def query(asked: Mapping[str, str]) -> Query:
    least, most = (float(asked.get(name) or usual) for name, usual in (("least", 0), ("most", 1)))
    choices = {name: asked[name] for name in ("order", "state", "search") if asked.get(name)}
    return Query(given=whole(asked, "given"), suggested=whole(asked, "suggested"), least=least, most=most, **choices)


def whole(asked: Mapping[str, str], name: str) -> int | None:
    if not asked.get(name):
        return None
    if not -(2**63) <= (number := int(asked[name])) < 2**63:
        raise ValueError(f"{name}: the number is too large")
    return number
