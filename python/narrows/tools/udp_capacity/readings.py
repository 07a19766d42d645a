"""What the figures of the UDP capacity test mean (`narrows.tools.reading`)."""

from narrows.tools.reading import ADDED, IP_OF_1250, LESS, THROUGHPUT, Figure, Figures, Reading, Series

FIGURES: Figures = {
    "udp_capacity_bps": Reading(THROUGHPUT, words="UDP capacity, best second", layer=IP_OF_1250),
    "udp_capacity_mean_bps": Reading(THROUGHPUT, words="UDP capacity, mean", layer=IP_OF_1250),
    "udp_capacity_delay_variation_mean_ms": Reading(ADDED, "mean", "UDP delay variation, best second"),
    "udp_capacity_delay_variation_max_ms": Figure("largest delay variation of one datagram", LESS),
    "udp_capacity_loss_ratio": Figure("loss", LESS),
    "udp_capacity_reordered": Figure("datagrams out of order", LESS),
}

SERIES = {
    "sending_rate": Series("rate that is sent"),
    "anomalies": Series("datagrams lost, late or double"),
    "delay_variation": Series("delay variation"),
}
