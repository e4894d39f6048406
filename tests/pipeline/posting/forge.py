"""A server on this machine that keeps comments as GitHub and GitLab do: pages, rights, and who wrote what."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT, READER, PERSON, STRANGER = "bot-token", "fork-token", "person-token", "no-token"
LOGINS = {PERSON: "ann"}  # who may ask for their name; the token of a job may not
GITHUB = re.compile(r"/repos/shop/models/issues/(?:7/comments|comments/(\d+))")
GITLAB = re.compile(r"/projects/42/merge_requests/7/notes(?:/(\d+))?")


@dataclass
class Forge:
    """What is there: `comments` in the order in which they were made."""

    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    elsewhere: str | None = None  # where it redirects to, if it does
    answer: Any = None  # to everything, if it is none of such a server

    def add(self, text: str, login: str = "github-actions[bot]") -> dict[str, Any]:
        number = 100 + len(self.comments)
        kind = "Bot" if login.endswith("[bot]") else "User"
        made = {
            "id": number,
            "body": text,
            "user": {"login": login, "type": kind},
            "author": {"id": _number(login)},
            "html_url": f"{self.address}/shop/models/pull/7#issuecomment-{number}",
        }
        self.comments.append(made)
        return made

    @property
    def texts(self) -> list[str]:
        return [each["body"] for each in self.comments]


def _number(login: str) -> int:
    return sum(map(ord, login))


@contextmanager
def forge() -> Iterator[Forge]:
    kept = Forge()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _answer(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", str(kept.elsewhere))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _token(self) -> str:
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return bearer or self.headers.get("PRIVATE-TOKEN", "") or self.headers.get("JOB-TOKEN", "")  # fmt: skip

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            url = urlsplit(self.path)
            kept.asked.append((self.command, self._token()))
            token = self._token()
            if kept.elsewhere:
                return self._answer(302, {})
            if kept.answer is not None:
                return self._answer(200, kept.answer)
            if token not in {BOT, READER, PERSON}:
                return self._answer(401, {"message": "Bad credentials"})
            if url.path == "/user":
                return self._user(token)
            if found := GITHUB.fullmatch(url.path) or GITLAB.fullmatch(url.path):
                return self._comments(found[1], body, token, parse_qs(url.query))
            return self._answer(404, {"message": "Not Found"})

        def _user(self, token: str) -> None:
            if token not in LOGINS:
                return self._answer(403, {"message": "Resource not accessible by integration"})
            return self._answer(200, {"login": LOGINS[token], "id": _number(LOGINS[token])})

        def _comments(
            self, number: str | None, body: dict[str, str], token: str, query: Any
        ) -> None:
            if self.command == "GET":
                size, page = (int(query[name][0]) for name in ("per_page", "page"))
                return self._answer(200, kept.comments[(page - 1) * size : page * size])
            if token == READER:
                return self._answer(403, {"message": "Resource not accessible by integration"})
            if len(body["body"]) > 65_536:
                return self._answer(422, {"message": "body is too long (maximum is 65536)"})
            if number is None:
                login = LOGINS.get(token, "github-actions[bot]")
                return self._answer(201, kept.add(body["body"], login))
            (found,) = (each for each in kept.comments if each["id"] == int(number))
            found["body"] = body["body"]
            return self._answer(200, found)

        do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815 - as the base class looks for them

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
