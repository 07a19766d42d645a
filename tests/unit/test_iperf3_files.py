"""A report of iperf3 that is cut, empty or another tool's gives one clear error and no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import StoreError
from narrows.tools.iperf3 import parse as iperf3

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
        ("[1]", "did not write a JSON object"),
        ('{"metadata": {}, "x_values": [], "results": {}, "version": 4}', "no 'start' or no 'end'"),
        ("[" * 100_000, "nested too deep"),
        ('{"start": NaN, "end": {}}', "NaN is no JSON"),
        ('{"start": {}, "intervals": [], "end": {}}', "no sums: no test took place"),
        ('{"start": {"test_start": [1]}, "end": {"sum_sent": {}}}', "this is not the JSON of iperf3"),
        ('{"start": {}, "end": {"sum_sent": [1]}}', "this is not the JSON of iperf3"),
        ('{"start": {}, "end": {"sum_sent": {"bits_per_second": 1e999}}}', "infinite"),
        ('{"start": {}, "end": {"sum_sent": {"bits_per_second": "fast"}}}', "this is not the JSON of iperf3"),
    ],
)
def test_a_file_that_is_not_iperf3s_is_an_error(text: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        iperf3.parse(text, "test", start_ns=0)
