"""The tool iperf3."""
