"""QUIC stacks behind queues, alone and beside others; public reports of them, tried."""
