"""CoreScale: chapter 3 of Philip's thesis, thousands of flows at 10 Gbit/s."""
