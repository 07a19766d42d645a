"""The module with BBR's parts: it is Linux' own BBR until a parameter changes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import lab

KEPT = Path(__file__).parents[2] / "kernel/modules"
EXPERIMENT = '''"""Is the module's BBR the kernel's?"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, machine, pair, own_cca, sample, tap

MODULE = "tcp_bbr_parts.ko"
link = Dumbbell(rate="20 Mbit/s", queue=bfifo(limit="50 KB"), pairs=[pair("40 ms")])
machine(modules=axis("bbr", {"kernel": [MODULE], "module": [MODULE], "one": [f"{MODULE} segs=1"]}))
flows = bulk(
    cca=axis("bbr", {"kernel": "bbr", "module": own_cca("bbr_parts"), "one": own_cca("bbr_parts")}),
    flows=4, duration="10 s",
)
tap("drops", interval="100 ms")
flow_tap(interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
'''


@pytest.mark.kernel
def test_without_parameters_it_is_the_kernel_s_own_bbr(tmp_path: Path) -> None:
    shutil.copy(lab.built_module("bbr_parts", tmp_path / "build", KEPT), tmp_path)
    (tmp_path / "same.py").write_text(EXPERIMENT)
    lab.narrows("run", tmp_path / "same.py", "--out", tmp_path / "results", cwd=tmp_path).ok()
    found = {}
    for directory in lab.run_dirs(tmp_path / "results"):
        flows = pl.read_parquet(directory / "tcp_flows.parquet")
        used = set(flows["cca"].cast(pl.String))
        numbers = flows.drop("run_id", "cca", "sport", "label").sort("flow")
        found[lab.manifest(directory)["key"]["bbr"]] = (used, numbers)
    assert found["kernel"][0] == {"bbr"}
    assert found["module"][0] == found["one"][0] == {"bbr_parts"}
    assert found["kernel"][1]["lost_packets"].sum() > 0
    assert found["kernel"][1].equals(found["module"][1])
    assert not found["module"][1].equals(found["one"][1])
