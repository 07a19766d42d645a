"""What if: one thing changed on the path of a capture. The path is fitted from packets, run as it was, then
changed."""
