"""Fixtures of the end-to-end tests."""

from three_hosts import lab as lab
