"""Schedules of transmit opportunities: what links below IP do, drawn before a run. Pure: numbers in, numbers
out.

One medium a file. What a schedule means is in `schedule`; the words of an experiment are in
`narrows.spec.media`.
"""
