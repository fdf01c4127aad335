"""Versions of data sets on the Hub, by a local server that answers as the Hub does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from huggingface_hub import constants

from speechiq.core.checkpoints.hub import notice_offline
from speechiq.siq_tasks.loaders.rows import RowSource

FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture
def hub(monkeypatch):
    """Serve the pages of data sets; the dictionary has the commit of each revision."""
    commits = {"main": FIRST}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            revision = self.path.partition("/revision/")[2].partition("?")[0] or "main"
            found = self.path.startswith("/api/datasets/org/set") and revision in commits
            body = json.dumps({"_id": "0", "id": "org/set", "sha": commits.get(revision)}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    notice_offline.cache_clear()
    yield commits
    server.shutdown()
    server.server_close()
    notice_offline.cache_clear()


def test_the_commit_of_a_revision_is_found(hub, tmp_path):
    hub["v2"] = SECOND
    assert RowSource("org/set").find_commit() == FIRST
    assert RowSource("org/set", dataset_revision="v2").find_commit() == SECOND
    assert RowSource("org/other").find_commit() is None
    assert RowSource(str(tmp_path)).find_commit() is None


def test_a_new_upload_is_named_with_both_versions(hub):
    source = RowSource("org/set")
    assert source.describe_new_version("calls", FIRST) is None
    hub["main"] = SECOND
    line = source.describe_new_version("calls", FIRST)
    assert line.startswith("calls: org/set has a new version on the hub, 222222222222; this run uses 111111111111")
    assert line.endswith(f"--metadata dataset_revision={SECOND}")
    assert RowSource("org/set", dataset_revision="v1").describe_new_version("calls", FIRST) is None
    assert source.describe_new_version("calls", None) is None


def test_a_hub_that_does_not_answer_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    notice_offline.cache_clear()
    assert RowSource("org/set").find_commit() is None
    notice_offline.cache_clear()
