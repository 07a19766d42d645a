"""The site of `narrows serve`, on the runs that come with narrows: pages, refusals, nothing elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from store_fakes import make_plan
from test_store_ingest import ingested

import lab
from narrows import data
from narrows.cli.serve import _listen
from narrows.engine import layout
from narrows.engine.outdir import locked
from narrows.errors import UsageError
from narrows.serve.app import site
from narrows.serve.catalog import Catalog
from narrows.serve.listing import told
from narrows.store import damaged

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


def test_scripts_are_the_sites_own_files_and_nothing_comes_from_elsewhere(client: TestClient) -> None:
    for path in ("/", f"/r/{SHARD}", "/r/nothing"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; connect-src 'self'" in policy
        assert set(re.findall(r"<script[^>]*>", answer.text)) == {'<script src="/static/site.js" defer>'}
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)


def test_headers_are_those_of_the_page_and_without_its_body(client: TestClient) -> None:
    for path in ("/", f"/r/{SHARD}", "/static/site.js", "/events", "/r/nothing"):
        answer = client.head(path)
        assert answer.status_code == (404 if path == "/r/nothing" else 200)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.content == b""


def test_what_runs_and_what_has_only_failed_is_listed_however_deep_it_lies(tmp_path: Path) -> None:
    busy, sad = tmp_path / "watch/mine/1/runs", tmp_path / "sad"
    (busy / f"{layout.TMP_PREFIX}0123456789abcdef-1").mkdir(parents=True)
    failed = sad / layout.FAILED / "0123456789abcdef"
    failed.mkdir(parents=True)
    said = {"run_id": failed.name, "status": "failed", "written_at": "2026-01-01T00:00:00", "engine": "uml"}
    said |= {"plan_hash": "a", "key": {"queue": "<i>odd</i>"}, "error": {"line": "it broke"}}
    (failed / layout.MANIFEST).write_text(json.dumps(said))
    (failed / layout.PLAN).write_text("{}")
    catalog = Catalog(tmp_path)
    entries = catalog.entries()
    assert set(entries) == {"watch~mine~1~runs", "sad"}
    with locked(busy):
        assert told(catalog, entries["watch~mine~1~runs"]).states == (("running", "running: 1 at work"),)
    assert told(catalog, entries["sad"]).states == (("failed", "1 failed"),)
    with TestClient(site(tmp_path, HOSTS), base_url="http://localhost") as client:
        page = client.get("/r/sad?queue=<i>odd</i>").text
        assert "it broke" in page
        assert "<i>odd" not in page
        assert client.get("/r/sad?queue=fq_codel").status_code == 404


def test_pages_of_calibrations_and_captures_are_listed_and_shown_and_other_files_are_not(
    tmp_path: Path,
) -> None:
    made = "<h1>What limited {}?</h1><footer>Written by <code>narrows {}</code>. End.</footer>"
    files = {
        "cal/calibration/calibration.html": made.format("a &amp; b", "calibrate"),
        "deep/cap/report.html": made.format("whom", "paths"),
        "other/report.html": made.format("c", "report"),
        "strange/report.html": "<h1>d</h1>",
    }
    for name, text in files.items():
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    client = TestClient(site(tmp_path / "results", ["testserver"]))
    shown = re.findall(r'href="(/page/[^"]+)">([^<]+)<', client.get("/").text)
    assert shown == [
        ("/page/cal~calibration~calibration.html", "What limited a &amp; b?"),
        ("/page/deep~cap~report.html", "What limited whom?"),
    ]
    assert "Written by" in client.get(shown[-1][0]).text
    for away in ("other~report.html", "strange~report.html", "..~results~deep~cap~report.html"):
        assert client.get(f"/page/{away}").status_code == 404


def test_a_link_out_of_the_root_is_no_directory_of_results(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out.runs.parquet").symlink_to(KEPT)
    assert Catalog(root).entries() == {}


@pytest.mark.parametrize(
    "what",
    [
        "run",
        "failed",
        ".failed",
        "manifest.json",
        "plan.json",
        "samples.parquet",
        "raw",
        "raw/client.pcapng",
        "late",
    ],
)
def test_nothing_of_a_run_is_read_by_a_link_out_of_the_root(tmp_path: Path, what: str) -> None:
    """Each is a link to a file or directory like it beside the root; the run beside it is shown."""
    root, outside = tmp_path / "root" / "mine", tmp_path / "outside"
    runs = [ingested(root, make_plan(seed=seed, queue="pfifo"))[0] for seed in (1, 2)]
    one = runs[0]
    (one / "raw" / "client.pcapng").write_bytes(b"packets")
    with TestClient(site(root.parent, HOSTS), base_url="http://localhost") as site_:
        page = f"/r/mine/run/{one.name}"
        assert site_.get(f"{page}/file/client.pcapng").content == b"packets"
        assert site_.get(page).status_code == 200
        if what in ("failed", ".failed"):
            (root / ".failed").mkdir()
            shutil.move(one, root / ".failed" / one.name)
        linked = {
            "run": one, "failed": root / ".failed" / one.name, ".failed": root / ".failed",
            "late": one / "raw/client.pcapng",
        }.get(what, one / what)  # fmt: skip
        shutil.move(linked, outside)
        linked.symlink_to(outside)
        if what != "late":  # else the list of runs is still the one that was read before
            os.utime(runs[1] / "manifest.json")
            damaged.forget(Path("/"))
        for file in ("client.pcapng", "samples.parquet", "manifest.json", "plan.json"):
            assert site_.get(f"{page}/file/{file}").status_code == 404 or what == "late", file
        assert site_.get(f"{page}/file/client.pcapng").status_code == 404
        assert site_.get(page).status_code == 404
        for path in ("/", "/r/mine", "/r/mine/table.csv", f"/r/mine/run/{runs[1].name}"):
            assert site_.get(path).status_code == 200, path
        assert "1 run that counts" in site_.get("/r/mine").text or what == "late"


def test_a_directory_that_is_not_there_and_a_port_that_is_taken_are_one_line_each(tmp_path: Path) -> None:
    called = lab.narrows("serve", "nothing", cwd=tmp_path).failed(2)
    assert "no such directory of results" in called.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot listen"):
            _listen("127.0.0.1", taken.getsockname()[1])
