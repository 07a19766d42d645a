"""Sizes of headers and packets in bytes, each once."""

ETHERNET_HEADER_BYTES = 14
"""As a qdisc counts it: without preamble, frame check sequence and gap."""
ETHERNET_MTU = 1500
FULL_FRAME_BYTES = ETHERNET_MTU + ETHERNET_HEADER_BYTES
IPV4_HEADER_BYTES = 20
TCP_HEADER_BYTES = 20
TCP_TIMESTAMPS_BYTES = 12
UDP_HEADER_BYTES = 8
QUIC_HEADERS_BYTES = 20
"""The least of a packet with a stream's bytes: flags, packet number, type and stream of the frame, a byte
each, and the tag of the encryption (RFC 9000, 17.3.1 and 19.8; RFC 9001, 5.3)."""
TCP_IPV4_HEADERS_BYTES = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + TCP_TIMESTAMPS_BYTES
UDP_IPV4_HEADERS_BYTES = IPV4_HEADER_BYTES + UDP_HEADER_BYTES
