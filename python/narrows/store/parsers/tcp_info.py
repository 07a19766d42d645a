"""`<sampler>.csv` and `<bulk>.info.csv`: TCP_INFO by kernel field names, one row per socket and instant.

Also maps the field names that NDT7's JSON uses to the kernel's. Units are the kernel's own; nothing is
converted.
"""

import re
from collections.abc import Callable

import polars as pl

from narrows.store import sockets
from narrows.store.parsers.common import Parsed, read_csv
from narrows.store.whose import Whose

Owner = Callable[[str, int, str, int, int, int], Whose]
"""Whose a socket is, by address and port of both ends and the first and last time that it was seen."""

KEYS = {
    "t_ns": pl.Int64(),
    "src": pl.String(),
    "sport": pl.Int64(),
    "dst": pl.String(),
    "dport": pl.Int64(),
    "cca": pl.String(),
    "state": pl.String(),
}
_US = {
    "rtt", "rttvar", "min_rtt", "rcv_rtt", "rto", "ato", "busy_time", "rwnd_limited", "sndbuf_limited",
    "elapsed_time",
}  # fmt: skip
_MS = {"last_data_sent", "last_ack_sent", "last_data_recv", "last_ack_recv", "total_rto_time"}
_BYTES = {
    "snd_mss",
    "rcv_mss",
    "advmss",
    "pmtu",
    "snd_wnd",
    "rcv_wnd",
    "rcv_space",
    "rcv_ssthresh",
    "notsent_bytes",
}
_BYTES_PER_S = {"pacing_rate", "max_pacing_rate", "delivery_rate"}
_PACKETS = {
    "unacked", "sacked", "lost", "retrans", "fackets", "snd_ssthresh", "snd_cwnd", "total_retrans",
    "segs_out", "segs_in", "data_segs_in", "data_segs_out", "delivered", "delivered_ce", "dsack_dups",
    "reord_seen", "rcv_ooopack", "reordering",
}  # fmt: skip

NONE_YET: dict[str, frozenset[float]] = {
    "min_rtt": frozenset({2.0**32 - 1}),  # ~0U of the windowed minimum (include/linux/win_minmax.h)
    "snd_ssthresh": frozenset({float(0x7FFFFFFF)}),  # TCP_INFINITE_SSTHRESH
    "pacing_rate": frozenset({2.0**64, -1.0}),  # ~0UL as a float, or as a signed integer of Go's: not paced
    "max_pacing_rate": frozenset({2.0**64, -1.0}),  # no limit
    "rtt": frozenset({0.0}),
    "rcv_rtt": frozenset({0.0}),
}
"""What the kernel says of a field that has no value yet, or no limit. Such an instant has no row: a number
that is none would be averaged."""

# TCPInfo of NDT7 (github.com/m-lab/tcp-info) → kernel. Names not here are turned by `kernel_name`.
_NDT7_NAMES = {
    "CAState": "ca_state", "WScale": "wscale", "AppLimited": "delivery_rate_app_limited", "RTO": "rto",
    "ATO": "ato", "SndMSS": "snd_mss", "RcvMSS": "rcv_mss", "PMTU": "pmtu", "RcvSsThresh": "rcv_ssthresh",
    "RTT": "rtt", "RTTVar": "rttvar", "SndSsThresh": "snd_ssthresh", "AdvMSS": "advmss", "RcvRTT": "rcv_rtt",
    "MinRTT": "min_rtt", "RWndLimited": "rwnd_limited", "SndBufLimited": "sndbuf_limited",
    "DeliveredCE": "delivered_ce", "DSackDups": "dsack_dups", "RcvOooPack": "rcv_ooopack",
}  # fmt: skip


def unit(field: str) -> str:
    """Unit of a TCP_INFO field (kernel name)."""
    if field in _US:
        return "us"
    if field in _MS:
        return "ms"
    if field in _BYTES or field.startswith("bytes_"):
        return "bytes"
    if field in _BYTES_PER_S:
        return "bytes/s"
    return "packets" if field in _PACKETS else "1"


def kernel_name(ndt7_field: str) -> str:
    """`SndCwnd` → `snd_cwnd`."""
    if ndt7_field in _NDT7_NAMES:
        return _NDT7_NAMES[ndt7_field]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ndt7_field).lower()


def has_value(field: str, value: float) -> bool:
    """Whether a field (kernel name) holds a value and not the kernel's sign for none."""
    return float(value) not in NONE_YET.get(field.removeprefix("bbr_"), ())


def parse(
    text: str,
    *,
    direction: str | None = None,
    owner: Owner | None = None,
    where: str = "tcp_info",
    lines_before: int = 0,
) -> Parsed:
    """One series per field, in rows of (flow, time). Fields that this kernel lacks are empty and make no
    rows. `owner` says whose a socket is; `lines_before`: lines of the file between its header and this part.
    """
    frame = read_csv(text, KEYS, where=where, others=pl.Float64(), lines_before=lines_before)
    parsed = Parsed()
    if not frame.height:
        return parsed
    seen = sockets.of_samples(frame)
    parsed.sockets.append(seen)

    def end(address: str, port: str) -> pl.Expr:
        host = pl.when(pl.col(address).str.contains(":", literal=True))
        return pl.concat_str(
            host.then(pl.concat_str(pl.lit("["), pl.col(address), pl.lit("]"))).otherwise(pl.col(address)),
            pl.lit(":"),
            pl.col(port),
        )

    label = pl.concat_str(pl.lit("tcp "), end("src", "sport"), pl.lit(">"), end("dst", "dport"))
    units = {field: unit(field) for field in frame.columns if field not in KEYS}
    none_yet = {
        field: sorted(known) for field in units if (known := NONE_YET.get(field.removeprefix("bbr_")))
    }
    values = [pl.when(~pl.col(field).is_in(known)).then(pl.col(field)) for field, known in none_yet.items()]
    frame = frame.lazy().with_columns(*values, flow=label).sort("flow", "t_ns").collect()
    if owner is not None:
        named = seen.with_columns(flow=label).unique("flow", keep="last", maintain_order=True)
        ends = named.select(*sockets.ENDS, "first_ns", "last_ns").iter_rows()
        owners = dict(zip(named["flow"], (owner(*each) for each in ends), strict=True))
        for column in ("item", "part"):
            of = {flow: getattr(whose, column) for flow, whose in owners.items()}
            whose = pl.col("flow").replace_strict(of, default=None, return_dtype=pl.String)
            frame = frame.with_columns(whose.alias(column))
    parsed.add_columns(frame, units, direction=direction, prefix="tcp_info.")
    return parsed
