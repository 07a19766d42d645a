"""A report of iperf3 that is cut, empty or another tool's gives one clear error and no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import StoreError
from narrows.store.parsers import iperf3

WHOLE = (Path(__file__).parent / "captured/iperf3_down_2.json").read_text()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_report_cut_anywhere_is_an_error(share: float) -> None:
    text = WHOLE.rstrip()[: int(len(WHOLE.rstrip()) * share)]
    with pytest.raises(StoreError, match="iperf3 did not write JSON"):
        iperf3.parse(text, "test", start_ns=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it wrote: nothing"),
        ("[1]", "no 'start' or no 'end'"),
        ('{"metadata": {}, "x_values": [], "results": {}, "version": 4}', "no 'start' or no 'end'"),
    ],
)
def test_a_file_that_is_not_iperf3s_is_an_error(text: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        iperf3.parse(text, "test", start_ns=0)
