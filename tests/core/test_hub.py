"""What is concluded about the way to the model hub."""

import socket

import pytest
from huggingface_hub import constants

from speechiq.core import hub


@pytest.fixture
def online(monkeypatch):
    """A machine that has not concluded anything yet."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "WAITS", (0, 0))
    monkeypatch.setattr(hub, "getproxies", dict)
    hub.notice_offline.cache_clear()
    yield monkeypatch
    hub.notice_offline.cache_clear()


def test_a_name_that_cannot_be_resolved_means_offline(online, caplog):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    assert hub.notice_offline() and constants.HF_HUB_OFFLINE
    assert "hub.invalid cannot be resolved" in caplog.text


def test_one_failure_is_not_believed(online):
    answers = iter([socket.gaierror("try again"), [("an address",)]])

    def resolve(*asked):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    online.setattr(socket, "getaddrinfo", resolve)
    assert not hub.notice_offline() and not constants.HF_HUB_OFFLINE


def test_behind_a_proxy_nothing_is_concluded(online):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    online.setattr(hub, "getproxies", lambda: {"https": "http://proxy:3128"})
    assert not hub.notice_offline()
