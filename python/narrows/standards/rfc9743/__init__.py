"""RFC 9743: what whoever proposes a congestion control is asked to evaluate."""
