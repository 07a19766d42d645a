"""The local bottleneck: a queue at home before the ISP's (Grazia, Klapez and Casoni, JCN 2025)."""
