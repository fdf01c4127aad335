"""What is concluded about the way to the model hub."""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import datasets
import pytest
from huggingface_hub import close_session, constants

from speechiq.core.checkpoints import names as hub


@pytest.fixture
def online(monkeypatch):
    """A machine that has not concluded anything yet."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "WAITS", (0, 0))
    hub.notice_offline.cache_clear()
    close_session()
    yield monkeypatch
    hub.notice_offline.cache_clear()
    close_session()


@pytest.fixture
def server():
    """The address of a server that refuses every request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_name_that_cannot_be_resolved_means_offline(online, caplog):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    assert hub.notice_offline() and constants.HF_HUB_OFFLINE
    assert "the hub (https://hub.invalid) gives no connection" in caplog.text


def test_one_failure_is_not_believed(online, server):
    online.setattr(constants, "ENDPOINT", server)
    resolve, failures = socket.getaddrinfo, [socket.gaierror("try again")]

    def fail_once(*args, **kwargs):
        if failures:
            raise failures.pop()
        return resolve(*args, **kwargs)

    online.setattr(socket, "getaddrinfo", fail_once)
    assert not hub.notice_offline() and not constants.HF_HUB_OFFLINE and not failures


def test_a_hub_that_never_answers_is_announced_and_then_taken_as_offline(online, silent_server, caplog, capfd):
    online.setattr(constants, "ENDPOINT", silent_server)
    online.setattr(hub, "NOTICE_S", 0.1)
    online.setattr(hub, "LIMIT_S", 0.5)
    assert hub.notice_offline() and constants.HF_HUB_OFFLINE and datasets.config.HF_HUB_OFFLINE
    assert f"siq: waiting for the hub ({silent_server}), 0.4 s more; check the network, or set HF_HUB_OFFLINE=1" in (
        capfd.readouterr().err
    )
    assert f"the hub ({silent_server}) does not answer within 0.5 s: only models and data sets" in caplog.text


def test_any_answer_of_the_hub_counts(online, server, capfd):
    online.setattr(constants, "ENDPOINT", server)
    assert not hub.notice_offline() and not constants.HF_HUB_OFFLINE and "waiting" not in capfd.readouterr().err


def test_a_proxy_resolves_the_name(online, server):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    online.setenv("https_proxy", server)
    assert not hub.notice_offline()


def test_a_closed_port_is_no_hub(online, server):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        online.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert hub.notice_offline()
