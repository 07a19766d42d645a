"""The tool udp_capacity."""
