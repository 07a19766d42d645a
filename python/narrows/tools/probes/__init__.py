"""Isochronous probes: UDP and ICMP echo."""

WORDS = ("icmp_echo", "udp_probe")
