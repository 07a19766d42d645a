"""The site of `narrows serve`, on the runs that come with narrows: pages, refusals, nothing elsewhere."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import lab
from narrows import data
from narrows.cli.serve import _listen
from narrows.errors import UsageError
from narrows.serve.app import site
from narrows.serve.catalog import Catalog

KEPT = max((data.at("evidence") / "operator").glob("*.runs.parquet"))
SHARD = f"operator~{KEPT.name}"
HOSTS = ["localhost"]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(site(data.at("evidence"), HOSTS), base_url="http://localhost") as made:
        yield made


def test_the_first_page_leads_to_every_shard_and_a_shard_to_its_runs(client: TestClient) -> None:
    first = client.get("/")
    assert first.status_code == 200
    assert f"/r/{SHARD}" in first.text
    page = client.get(f"/r/{SHARD}").text
    run = re.search(r"/run/([0-9a-f]{16})", page)
    assert run
    one = client.get(f"/r/{SHARD}/run/{run[1]}")
    assert one.status_code == 200
    assert "none of its files" in one.text


def test_the_table_of_a_directory_is_there_for_other_programs(client: TestClient) -> None:
    found = client.get(f"/r/{SHARD}/table.csv")
    assert found.headers["content-type"].startswith("text/csv")
    assert "median" in found.text.splitlines()[0]


@pytest.mark.parametrize(
    "path",
    [
        "/r/nothing",
        "/r/..%2f..%2fetc",
        "/r/%2fetc",
        f"/r/{SHARD}/run/..%2f..%2f..%2fetc%2fpasswd",
        f"/r/{SHARD}/run/0123456789abcdef",
        f"/r/{SHARD}/run/0123456789abcdef/file/manifest.json",
        f"/r/{SHARD}/heat?quantity=nothing&down=rate&across=queue",
        f"/r/{SHARD}/cell?nothing=1",
        "/docs",
        "/openapi.json",
    ],
)
def test_what_was_not_found_below_the_root_is_not_there(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_nothing_can_be_changed_and_another_sites_page_cannot_ask(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/").status_code == 405
    assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_no_page_needs_a_script_or_anything_from_elsewhere(client: TestClient) -> None:
    for path in ("/", f"/r/{SHARD}", "/r/nothing"):
        answer = client.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "<script" not in answer.text
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)


def test_a_link_out_of_the_root_is_no_directory_of_results(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out.runs.parquet").symlink_to(KEPT)
    assert Catalog(root).entries() == {}


def test_a_directory_that_is_not_there_and_a_port_that_is_taken_are_one_line_each(tmp_path: Path) -> None:
    called = lab.narrows("serve", "nothing", cwd=tmp_path).failed(2)
    assert "no such directory of results" in called.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot listen"):
            _listen("127.0.0.1", taken.getsockname()[1])
