"""What the figures of the UDP capacity test read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import ADDED, IP_OF_1250, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "udp_capacity_bps": Reading(THROUGHPUT, words="UDP capacity, best second", layer=IP_OF_1250),
    "udp_capacity_mean_bps": Reading(THROUGHPUT, words="UDP capacity, mean", layer=IP_OF_1250),
    "udp_capacity_delay_variation_mean_ms": Reading(ADDED, "mean", "UDP delay variation, best second"),
    "udp_capacity_delay_variation_max_ms": "of one datagram",
    "udp_capacity_loss_ratio": "loss",
    "udp_capacity_reordered": "a count",
}
LOAD = Load(("udp_capacity_bps",))
