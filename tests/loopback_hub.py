"""A hub of data sets and models on this machine, which answers as the Hugging Face Hub does."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import huggingface_hub
import pytest
import yaml
from huggingface_hub import HfFileSystem, constants

from speechiq.core.checkpoints.names import notice_offline

TOKEN, STRANGER = "hf_member", "hf_stranger"
CARD = "README.md"
#: What the Hub says of a token that is not valid.
INVALID = "Invalid credentials in Authorization header"
RESOLVE = re.compile(r"/(?:datasets/)?(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
API = re.compile(r"/api/(?:datasets|models)/(?P<name>[^/]+/[^/]+)(?:/(?P<page>[a-z-]+)(?:/(?P<rest>.+))?)?")


@dataclass
class Repository:
    """Hold the files of a repository at its only commit.

    Attributes:
        files: Path -> content.
        revisions: Branch or tag -> commit.
        gated: `auto` or `manual` if only `TOKEN` may read its files.
        moved_to: Its new name; the old one redirects.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=lambda: {"main": "1" * 40})
    gated: str | bool = False
    moved_to: str | None = None

    def commit(self, revision: str) -> str | None:
        """Return the commit of a branch, a tag or a commit."""
        return revision if revision in self.revisions.values() else self.revisions.get(revision)

    @property
    def card(self) -> dict:
        """Return the YAML of its card."""
        _, mark, text = self.files.get(CARD, b"").decode().partition("---\n")
        return yaml.safe_load(text.partition("---\n")[0]) if mark else {}


@dataclass
class LoopbackHub:
    """Hold the repositories of a hub.

    Attributes:
        address: Its address.
        repositories: Name -> repository.
        requests: The requests so far, as `METHOD PATH`.
        sent: Bytes of all answers so far.
        failure: Status with which it answers every request, if it fails.
    """

    address: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    failure: int | None = None

    def add(self, name: str, files: Mapping[str, bytes] | Path, **settings) -> Repository:
        """Add a repository with these files, or with those of a folder."""
        if isinstance(files, Path):
            files = {
                str(file.relative_to(files)): file.read_bytes() for file in sorted(files.rglob("*")) if file.is_file()
            }
        self.repositories[name] = Repository(dict(files), **settings)
        return self.repositories[name]


class Handler(BaseHTTPRequestHandler):
    """Answer a request to the API or for a file."""

    protocol_version = "HTTP/1.1"

    def __init__(self, hub: LoopbackHub, *args) -> None:
        self.hub = hub
        super().__init__(*args)

    def do_GET(self) -> None:
        self.answer()

    do_HEAD = do_POST = do_GET

    def answer(self) -> None:
        url = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.hub.requests.append(f"{self.command} {unquote(url.path)}")
        if self.hub.failure:
            self.send({"error": "failure"}, self.hub.failure, {"X-Error-Message": INVALID})
        elif match := RESOLVE.fullmatch(url.path):
            self.answer_file(*map(unquote, match.group("name", "revision", "path")))
        elif match := API.fullmatch(url.path):
            self.answer_api(match["name"], match["page"], match["rest"] or "", parse_qs(sent or url.query))
        elif url.path == "/api/datasets":
            author = parse_qs(url.query)["author"][0]
            self.send([{"id": name} for name in self.hub.repositories if name.startswith(f"{author}/")])
        else:
            self.send({}, 200 if url.path == "/" else 404)

    def answer_api(self, name: str, page: str | None, rest: str, query: dict[str, list[str]]) -> None:
        repository = self.find(name)
        if repository is None:
            return
        revision, _, folder = rest.partition("/")
        commit = repository.commit(unquote(revision or "main"))
        if page == "auth-check":
            if self.may_read(repository):
                self.send({})
        elif page == "refs":
            branches = [{"name": key, "ref": key, "targetCommit": sha} for key, sha in repository.revisions.items()]
            self.send({"branches": branches, "tags": [], "converts": []})
        elif commit is None:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif page == "paths-info":
            self.send([about for path in query["paths"] if (about := self.describe(repository, path))])
        elif page == "tree":
            self.send(list(self.list_tree(repository, unquote(folder), query.get("recursive") == ["True"])))
        else:
            siblings = [{"rfilename": path} for path in repository.files]
            about = {"sha": commit, "gated": repository.gated, "cardData": repository.card, "siblings": siblings}
            self.send({"_id": "0", "id": name, "private": False, "tags": []} | about)

    def answer_file(self, name: str, revision: str, path: str) -> None:
        repository = self.find(name)
        if repository is None or not self.may_read(repository):
            return
        commit, content = repository.commit(revision), repository.files.get(path)
        if commit is None:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if content is None:
            return self.refuse(404, "EntryNotFound", "Entry not found", commit)
        headers = {
            "X-Repo-Commit": commit,
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "Accept-Ranges": "bytes",
        }
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            return self.send_bytes(content, 200, headers)
        first, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self.send_bytes(content[first : last + 1], 206, headers)

    def find(self, name: str) -> Repository | None:
        """Return a repository; of one that is missing, renamed or secret, answer the request."""
        repository = self.hub.repositories.get(name)
        if repository is None:
            known = self.token == TOKEN
            self.refuse(404 if known else 401, "RepoNotFound", "Repository not found")
        elif repository.moved_to:
            self.send({}, 307, {"Location": self.path.replace(name, repository.moved_to, 1)})
            return None
        return repository

    def may_read(self, repository: Repository) -> bool:
        """Return whether the files may be read; answer the request if they may not."""
        if not repository.gated or self.token == TOKEN:
            return True
        self.refuse(403 if self.token else 401, "GatedRepo", "Access to this dataset is restricted.")
        return False

    @property
    def token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    @staticmethod
    def describe(repository: Repository, path: str) -> dict | None:
        if path in repository.files:
            content = repository.files[path]
            return {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
        if any(file.startswith(f"{path}/") for file in repository.files):
            return {"type": "directory", "path": path, "oid": hashlib.sha1(path.encode()).hexdigest()}
        return None

    def list_tree(self, repository: Repository, folder: str, recursive: bool) -> Iterator[dict]:
        start = f"{folder}/" if folder else ""
        seen = set()
        for file in (file for file in sorted(repository.files) if file.startswith(start)):
            parts = file.removeprefix(start).split("/")
            for depth in range(1, len(parts) + 1 if recursive else 2):
                path = start + "/".join(parts[:depth])
                if path not in seen and (about := self.describe(repository, path)):
                    seen.add(path)
                    yield about

    def refuse(self, status: int, code: str, message: str, commit: str = "") -> None:
        self.send(
            {"error": message}, status, {"X-Error-Code": code, "X-Error-Message": message, "X-Repo-Commit": commit}
        )

    def send(self, content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_bytes(json.dumps(content).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def send_bytes(self, content: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
            self.hub.sent += len(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serve() -> Iterator[LoopbackHub]:
    """Yield a hub without repositories, up while the block runs."""
    hub = LoopbackHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, hub))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    yield hub
    server.shutdown()
    server.server_close()


def reach(address: str, patch: pytest.MonkeyPatch) -> None:
    """Set the address of the hub in this process as `HF_ENDPOINT` does for one that starts."""
    import datasets

    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    patch.setattr(constants, "ENDPOINT", address)
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(huggingface_hub.hf_api.api, "endpoint", address)
    patch.setattr(datasets.config, "HF_ENDPOINT", address)
    patch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    HfFileSystem.clear_instance_cache()
    notice_offline.cache_clear()
