"""The study of services that meet on one link, after chapter 4 of Philip's thesis."""
