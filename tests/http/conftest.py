"""One server for the tests of a file; each test plays runs of its own on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving import Client, serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("data")) as client:
        yield client
