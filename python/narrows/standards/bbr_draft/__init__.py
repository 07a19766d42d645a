"""draft-ietf-ccwg-bbr: its example test cases, from what the sender and the bottleneck show."""
