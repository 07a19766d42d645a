"""One tool's text at a time becomes rows and figures, value by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from narrows.errors import StoreError
from narrows.store.parsers import counters, tcp_info
from narrows.store.parsers.common import Parsed
from narrows.tools.bulk import parse as bulk
from narrows.tools.iperf3 import parse as iperf3
from narrows.tools.ndt7 import parse as ndt7
from narrows.tools.probes import parse as probe

CAPTURED = Path(__file__).parent / "captured"
EPOCH_NS = 3_000_000_000


def figures(parsed: Parsed) -> dict[tuple[str, str | None], float]:
    return {(m.name, m.direction): m.value for m in parsed.metrics}


def series(parsed: Parsed, name: str, **equals: str | None) -> list[tuple[int, float | None]]:
    frame = pl.concat(parsed.samples).filter(pl.col("quantity") == name)
    for column, value in equals.items():
        text = pl.col(column).cast(pl.String)
        frame = frame.filter(text.is_null() if value is None else text == value)
    return frame.select("t_ns", "value").rows()


PROBE = (
    "seq,sent_ns,server_ns,received_ns\n0,0,5000000,10000000\n1,10000000,,\n2,20000000,27000000,33000000\n"
)


def test_a_lost_probe_is_null_and_never_zero() -> None:
    parsed = probe.parse(PROBE, "probe")
    assert series(parsed, "rtt") == [(0, 10e6), (10_000_000, None), (20_000_000, 13e6)]
    assert figures(parsed) == {
        ("probe_sent", None): 3, ("probe_received", None): 2, ("probe_loss_ratio", None): pytest.approx(1 / 3)
    }  # fmt: skip


def test_one_way_delays_have_a_direction_each() -> None:
    parsed = probe.parse(PROBE, "probe")
    assert series(parsed, "owd", direction="up") == [(0, 5e6), (20_000_000, 7e6)]
    assert series(parsed, "owd", direction="down") == [(0, 5e6), (20_000_000, 6e6)]


def test_a_stamp_without_an_answer_tells_which_way_was_lost() -> None:
    text = "seq,sent_ns,server_ns,received_ns\n0,0,5,10\n1,10,15,\n2,20,,\n3,30,35,40\n"
    found = figures(probe.parse(text, "probe"))
    assert found["probe_loss_ratio", "up"] == pytest.approx(1 / 4)
    assert found["probe_loss_ratio", "down"] == pytest.approx(1 / 3)


def test_an_echo_has_no_one_way_delays() -> None:
    parsed = probe.parse("seq,sent_ns,server_ns,received_ns\n0,0,,100\n", "ping")
    assert series(parsed, "owd") == []
    assert series(parsed, "rtt") == [(0, 100.0)]


def test_a_probe_on_its_way_at_the_end_is_unanswered_and_no_loss_is_known() -> None:
    text = "seq,sent_ns,server_ns,received_ns\n0,0,50,100\n1,10,60,\n2,20,,\n"
    parsed = probe.parse(text, "probe", settled=False)
    assert figures(parsed) == {
        ("probe_sent", None): 3, ("probe_received", None): 1, ("probe_unanswered", None): 2,
    }  # fmt: skip
    assert "2 of 3 probes were unanswered" in parsed.warnings[0]
    # All were answered: nothing else on its way matters.
    whole = probe.parse("seq,sent_ns,server_ns,received_ns\n0,0,50,100\n", "probe", settled=False)
    assert figures(whole)["probe_loss_ratio", None] == 0


def test_no_probe_has_no_loss_and_a_warning() -> None:
    parsed = probe.parse("seq,sent_ns,server_ns,received_ns\n", "probe")
    assert figures(parsed) == {("probe_sent", None): 0, ("probe_received", None): 0}
    assert parsed.warnings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("seq,sent_ns,server_ns\n", "no column received_ns"),
        ("seq,sent_ns,server_ns,received_ns,extra\n", "unknown column extra"),
        ("seq,sent_ns,server_ns,received_ns\n0,1,2,3\n1,x,2,3\n", "line 3: sent_ns is 'x'"),
        ("seq,sent_ns,server_ns,received_ns\n0,1,2\n1,1,1,1,1\n", "line"),
    ],
)
def test_a_csv_that_does_not_fit_is_an_error_with_its_line(text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        probe.parse(text, "probe", where="raw/probe.csv")


INFO = (
    "t_ns,src,sport,dst,dport,cca,state,rtt,min_rtt,snd_cwnd,bytes_acked,delivery_rate,new_field\n"
    "0,10.0.2.1,80,10.0.0.1,40000,bbr,ESTABLISHED,10100,10000,10,1448,100000,\n"
    "10000000,10.0.2.1,80,10.0.0.1,40000,bbr,ESTABLISHED,12000,10000,20,28960,200000,\n"
)


def test_tcp_info_keeps_the_kernels_names_and_units() -> None:
    parsed = tcp_info.parse(INFO)
    frame = pl.concat(parsed.samples)
    assert series(parsed, "tcp_info.rtt") == [(0, 10100.0), (10_000_000, 12000.0)]
    units = dict(
        frame.select(pl.col("quantity").cast(pl.String), pl.col("unit").cast(pl.String)).unique().rows()
    )
    assert units == {
        "tcp_info.rtt": "us", "tcp_info.min_rtt": "us", "tcp_info.snd_cwnd": "packets",
        "tcp_info.bytes_acked": "bytes", "tcp_info.delivery_rate": "bytes/s",
    }  # fmt: skip
    assert frame["flow"].unique().to_list() == ["tcp 10.0.2.1:80>10.0.0.1:40000"]


def test_what_the_kernel_has_no_value_for_yet_is_no_sample() -> None:
    head = "t_ns,src,sport,dst,dport,cca,state"
    fields = "rtt,min_rtt,snd_ssthresh,pacing_rate,max_pacing_rate,rcv_rtt,snd_cwnd,bbr_min_rtt"
    keys = "10.0.2.1,80,10.0.0.1,40000,bbr,ESTABLISHED"
    none = "0,4294967295,2147483647,18446744073709551615,18446744073709551615,0,10,4294967295"
    some = "10100,9000,7,1250000,18446744073709551615,8000,12,9000"
    parsed = tcp_info.parse(f"{head},{fields}\n0,{keys},{none}\n10,{keys},{some}\n")
    assert series(parsed, "tcp_info.snd_cwnd") == [(0, 10.0), (10, 12.0)]
    for field, value in (("rtt", 10100.0), ("min_rtt", 9000.0), ("snd_ssthresh", 7.0), ("rcv_rtt", 8000.0),
                         ("pacing_rate", 1.25e6), ("bbr_min_rtt", 9000.0)):  # fmt: skip
        assert series(parsed, f"tcp_info.{field}") == [(10, value)], field
    assert series(parsed, "tcp_info.max_pacing_rate") == []


@pytest.mark.parametrize(
    ("ndt7_field", "kernel_field"),
    [("RTT", "rtt"), ("SndCwnd", "snd_cwnd"), ("BytesRetrans", "bytes_retrans"), ("MinRTT", "min_rtt"),
     ("RWndLimited", "rwnd_limited"), ("LastAckRecv", "last_ack_recv"), ("TotalRetrans", "total_retrans")],
)  # fmt: skip
def test_ndt7_fields_get_the_kernels_names(ndt7_field: str, kernel_field: str) -> None:
    assert tcp_info.kernel_name(ndt7_field) == kernel_field


def test_each_qdisc_is_a_source_of_its_own() -> None:
    text = (
        "t_ns,kind,handle,parent,bytes,packets,drops,overlimits,requeues,backlog_bytes,backlog_packets,"
        "marks,probability,delay_us,packets_c,packets_l,step_marks,delay_l_us\n"
        "0,htb,1:,root,100,1,0,2,0,0,0,,,,,,,\n0,pfifo,11:,1:11,100,1,3,0,0,1514,1,,,,,,,\n"
        "0,pie,12:,1:12,100,1,3,0,0,1514,1,7,0.25,15000,,,,\n"
        "0,dualpi2,13:,1:13,100,1,3,0,0,1514,1,7,0.25,15000,40,60,5,300\n"
    )
    parsed = counters.parse_qdisc(text, direction="down")
    assert series(parsed, "drops", part="pfifo 11:") == [(0, 3.0)]
    assert series(parsed, "overlimits", part="htb 1:") == [(0, 2.0)]
    assert series(parsed, "probability", part="pie 12:") == [(0, 0.25)]
    assert series(parsed, "marks", part="pfifo 11:") == []
    assert series(parsed, "packets_l", part="dualpi2 13:") == [(0, 60.0)]
    assert series(parsed, "packets_l", part="pie 12:") == []


def test_link_counters_become_series() -> None:
    text = "t_ns,rx_packets,tx_packets,rx_bytes,tx_bytes,rx_dropped,tx_dropped\n5,1,2,3,4,0,6\n"
    parsed = counters.parse_link(text)
    assert series(parsed, "tx_dropped") == [(5, 6.0)]
    assert series(parsed, "rx_dropped") == [(5, 0.0)]


BULK_HEADER = (
    "flow,src,sport,dst,dport,cca,start_ns,end_ns,bytes_sent,bytes_received,bytes_acked,bytes_retrans,segs_out,"
    "segs_retrans,min_rtt_us,ended_by\n"
)


def test_goodput_of_a_stopped_flow_counts_what_had_arrived_at_its_end() -> None:
    # 5 s; 6.25 MB were received in the end, of which 1.25 MB were still in the queue at the stop
    text = (
        BULK_HEADER
        + "0,10.0.2.1,1,10.0.0.1,5201,cubic,0,5000000000,6300000,6250000,5000000,63000,9,1,10000,stop\n"
    )
    found = figures(bulk.parse(text, "cross", direction="down"))
    assert found["bulk_goodput_bps", "down"] == 8e6
    assert found["bulk_bytes_received", "down"] == 6_250_000
    assert found["bulk_retransmission_ratio", "down"] == 0.01


def test_goodput_of_all_flows_is_over_the_span_of_all() -> None:
    row = "{},10.0.2.1,1,10.0.0.1,5201,cubic,{},{},1000000,1000000,1000000,0,9,0,10000,bytes\n"
    text = BULK_HEADER + row.format(0, 0, 10**9) + row.format(1, 10**9, 2 * 10**9)
    parsed = bulk.parse(text, "cross", direction="up")
    whole = [m for m in parsed.metrics if m.name == "bulk_goodput_bps" and m.flow is None]
    assert [m.value for m in whole] == [8e6]  # 2 MB in 2 s
    each = [m.value for m in parsed.metrics if m.name == "bulk_goodput_bps" and m.flow is not None]
    assert each == [8e6, 8e6]


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    row = "{},10.0.2.1,1,10.0.0.1,5201,cubic,0,1000000000,1,{},1,0,9,0,10000,bytes\n"
    text = BULK_HEADER + row.format(0, 1000) + row.format(1, "")
    parsed = bulk.parse(text, "cross", direction="up")
    assert not [m for m in parsed.metrics if m.name == "bulk_goodput_bps" and m.flow is None]


def test_iperf3_upload_gives_rates_intervals_and_rtt() -> None:
    text = (CAPTURED / "iperf3_up.json").read_text()
    parsed = iperf3.parse(text, "speed", start_ns=1_000_000_000)
    found = figures(parsed)
    # end.sum_received and end.sum_sent of the file
    assert found["iperf3_goodput_bps", "up"] == pytest.approx(20968018.34)
    assert found["iperf3_sent_bps", "up"] == pytest.approx(20969066.62)
    assert found["iperf3_retransmits", "up"] == 0
    points = series(parsed, "throughput", flow=None)
    assert [round(t / 1e9, 1) for t, _ in points] == [1.5, 2.0]
    assert series(parsed, "tcp_info.rtt")[0] == (1_500_085_000, 61.0)


def test_iperf3_in_reverse_is_a_download_of_all_streams() -> None:
    parsed = iperf3.parse((CAPTURED / "iperf3_down_2.json").read_text(), "speed", start_ns=0)
    assert ("iperf3_goodput_bps", "down") in figures(parsed)
    flows = pl.concat(parsed.samples).filter(pl.col("quantity") == "throughput")["flow"]
    assert flows.drop_nulls().n_unique() == 2


def test_iperf3_over_udp_has_loss_and_jitter() -> None:
    found = figures(iperf3.parse((CAPTURED / "iperf3_udp.json").read_text(), "speed", start_ns=0))
    assert found["iperf3_loss_ratio", "up"] == 0
    assert found["iperf3_jitter_ms", "up"] == pytest.approx(0.00398, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "did not write JSON"),
        ("iperf Done.\n", "did not write JSON.*iperf Done"),
        ('{"error": "unable to connect to server"}', "unable to connect"),
        ("{}", "no 'start'"),
    ],
)
def test_iperf3_that_prints_garbage_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        iperf3.parse(text, "speed", start_ns=0)


def message(test: str, origin: str, *, us: int, bytes_: int | None = None, **tcp: int) -> dict[str, Any]:
    value: dict[str, Any] = {"Origin": origin, "Test": test}
    if bytes_ is not None:
        value["AppInfo"] = {"NumBytes": bytes_, "ElapsedTime": us}
    if tcp:
        value["TCPInfo"] = tcp | {"ElapsedTime": us}
    return value


def lines(*values: dict[str, Any], **extra: Any) -> str:
    wrapped = [{"Key": "measurement", "Value": value} | extra for value in values]
    return "\n".join(json.dumps(v) for v in [{"Key": "starting", "Value": {"Test": "download"}}, *wrapped])


NDT7 = lines(
    message("download", "client", us=250_000, bytes_=1_000_000),
    message("download", "server", us=300_000, RTT=20_000, MinRTT=10_500, BytesSent=1_200_000, BytesRetrans=0),
    message("download", "client", us=1_000_000, bytes_=5_000_000),
    message(
        "download", "server", us=950_000, RTT=40_000, MinRTT=10_000, BytesSent=6_000_000, BytesRetrans=60_000
    ),
    message("upload", "client", us=500_000, bytes_=3_000_000),
    message("upload", "server", us=800_000, RTT=15_000, MinRTT=10_100, BytesReceived=2_000_000),
)


def parse_ndt7(text: str, **starts: int | None) -> Parsed:
    return ndt7.parse(text, starts_ns={"down": None, "up": None} | starts, epoch_ns=EPOCH_NS)


def test_ndt7_download_is_what_the_client_received_over_its_elapsed_time() -> None:
    found = figures(parse_ndt7(NDT7))
    assert found["ndt7_throughput_bps", "down"] == 40e6  # 5 MB in 1 s
    assert found["ndt7_min_rtt_ms", "down"] == 10.0
    assert found["ndt7_rtt_mean_ms", "down"] == 30.0
    assert found["ndt7_retransmission_ratio", "down"] == 0.01


def test_ndt7_upload_is_what_the_server_received() -> None:
    assert figures(parse_ndt7(NDT7))["ndt7_throughput_bps", "up"] == 20e6  # 2 MB in 0.8 s


def test_ndt7_throughput_series_is_the_difference_between_messages() -> None:
    parsed = parse_ndt7(NDT7, down=2_000_000_000)
    points = series(parsed, "throughput", part="client", direction="down")
    # 1 MB in 0.25 s = 32 Mbit/s; 4 MB in 0.75 s = 42.67 Mbit/s
    assert points == [(2_250_000_000, 32e6), (3_000_000_000, pytest.approx(42.667e6, rel=1e-4))]
    assert series(parsed, "tcp_info.rtt", part="server") == [(2_300_000_000, 20e3), (2_950_000_000, 40e3)]


def test_ndt7_messages_without_a_time_are_left_out_and_said_so() -> None:
    parsed = parse_ndt7(NDT7, down=0)
    assert any("upload" in w or "left out" in w for w in parsed.warnings)
    assert parsed.samples
    assert not [frame for frame in parsed.samples if frame["direction"].to_list()[0] == "up"]


def test_a_clients_own_stamps_tell_when_its_test_began() -> None:
    value = message("download", "client", us=250_000, bytes_=1_000_000)
    parsed = parse_ndt7(lines(value, monotonic_ns=EPOCH_NS + 750_000_000))
    # stamped at 0.75 s, 0.25 s into the test: the test began at 0.5 s, and the message is of 0.75 s
    assert series(parsed, "app_info.num_bytes") == [(750_000_000, 1e6)]


def test_the_go_clients_lines_are_read_the_same() -> None:
    text = json.dumps({"Key": "measurement", "Value": message("download", "client", us=10, bytes_=1)})
    summary = json.dumps({"ServerFQDN": "x", "Download": {"Throughput": {"Value": 1, "Unit": "Mbit/s"}}})
    assert len(ndt7.messages(f"{text}\n{summary}\n")) == 1


@pytest.mark.parametrize(
    ("text", "message_"),
    [
        ("", "printed no measurement"),
        ("segmentation fault\n", "ndt7:1: not JSON"),
        ('{"Value": {"AppInfo": {"NumBytes": NaN}}}', "ndt7:1: not JSON (NaN is no JSON"),
        ("[" * 100_000, "nested too deep"),
        (
            '{"Value": {"AppInfo": [1], "Test": "download", "Origin": "client"}}',
            "not what an NDT7 client prints",
        ),
        ('{"Key":"error","Value":{"Failure":"no route"}}', "no route"),
        ('{"Key":"measurement","Value":{"TCPInfo":{},"Origin":"nobody","Test":"upload"}}', "nobody"),
        ('{"Key":"measurement","Value":{"TCPInfo":{},"Origin":"client","Test":"sideways"}}', "sideways"),
    ],
)
def test_an_ndt7_client_that_prints_garbage_is_one_clear_error(text: str, message_: str) -> None:
    with pytest.raises(StoreError) as raised:
        parse_ndt7(text)
    assert message_ in str(raised.value)
