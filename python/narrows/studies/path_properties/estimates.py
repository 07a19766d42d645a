"""How far each estimator is from the truth, of one capture: for the claims that judge it and the figures that
draw it alike."""

from narrows.judging.parts import Read as Estimate
from narrows.judging.parts import figure
from narrows.studies.path_properties.seen import Seen, ratio, relative
from narrows.units import NS_PER_MS

base_rtt = relative("base_rtt_ns", "true_base_rtt_ns")
base_rtt_p01 = relative("base_rtt_p01_ns", "true_base_rtt_ns")
capacity = relative("capacity_bps", "true_capacity_bps")
burst_bytes = relative("burst_bytes", "true_burst_bytes")
policed_rate = relative("policed_rate_bps", "true_capacity_bps")


def true_peak_ms(one: Seen) -> float | None:
    """What packets and acknowledgements waited: 99th percentiles of the sojourn times down and up, added."""
    down, up = one.value("true_peak_sojourn_ns"), one.value("true_peak_sojourn_back_ns")
    return None if down is None or up is None else float(down + up) / NS_PER_MS


def peak_ms(one: Seen) -> float | None:
    """Error of the peak queueing delay, in ms."""
    value, true = one.value("peak_queueing_delay_ns"), true_peak_ms(one)
    return None if value is None or true is None else value / NS_PER_MS - true


def true_aggregation(one: Seen) -> float | None:
    """Acknowledged segments over packets that came back, all of them counted."""
    back = one.value("packets") - one.value("data_segments")
    mss, acked = one.value("mss_bytes"), one.value("acked_bytes")
    return None if not back or not mss else float(acked / mss / back)


def aggregation(one: Seen) -> float | None:
    """Relative error of ACK aggregation against the plain count."""
    return ratio(one.value("ack_aggregation"), true_aggregation(one))


RECEIVED = figure("flow", "bulk_goodput_bps", "iperf3_goodput_bps")


def throughput(one: Seen) -> float | None:
    """Relative error against what the receiving program read."""
    return ratio(one.value("throughput_bps"), RECEIVED(one.run))


def variation(one: Seen) -> float | None:
    """Error of the capacity's variation, which is relative itself."""
    value, true = one.value("capacity_variation"), one.value("true_capacity_variation")
    return None if value is None or true is None else float(value - true)


def jitter_ms(one: Seen) -> float | None:
    """RTT jitter less the one-way jitter of segments that arrive one after another, in ms."""
    value, true = one.value("jitter_ns"), one.value("true_jitter_ns")
    return None if value is None or true is None else (value - true) / NS_PER_MS


def _share(segments: str) -> Estimate:
    def of(one: Seen) -> float | None:
        value, sent = one.value(segments), one.value("data_segments")
        return None if value is None or not sent else float(value / sent)

    return of


true_reordered = _share("true_reordered")
_behind, _before, _low = (
    _share("reordered_behind"),
    _share("reordered_before"),
    _share("lost_segments_low_rtt"),
)


def reordered(one: Seen) -> float | None:
    """Share of segments that are said to be reordered, before the capture or behind it, less the true one."""
    told, true = ((_before(one) or 0.0) + (_behind(one) or 0.0)), true_reordered(one)
    return None if true is None else told - true


def true_random_loss(one: Seen) -> float | None:
    """Share of segments that were lost, but not by the bottleneck's queue."""
    lost, drops, sent = one.value("true_lost"), one.value("true_drops"), one.value("data_segments")
    return None if lost is None or drops is None or not sent else max(float(lost - drops) / sent, 0.0)


def random_loss(one: Seen) -> float | None:
    """Losses that no queue explains, as a share of segments, less the true share."""
    told, true = _low(one), true_random_loss(one)
    return None if told is None or true is None else told - true
