"""The operator's capacity test under AQM and a dual queue (IETF 123, ICCRG)."""
