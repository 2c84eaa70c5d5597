"""Runs in tests take turns on a device of their own: they neither wait for this machine's real runs nor delay them."""

import pytest


@pytest.fixture(autouse=True)
def own_locks(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("POCKET_LOCKS", str(tmp_path_factory.mktemp("locks")))
