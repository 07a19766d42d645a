"""Schedules of transmit opportunities: what links below IP do, drawn before a run. Pure: numbers in, numbers
out.

What a schedule means is in `schedule`; each medium is a file of `narrows.spec.media`.
"""
