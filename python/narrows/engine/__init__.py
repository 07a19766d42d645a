"""Engines: how to carry one plan to a kernel and bring raw files back.

`uml` boots a guest in virtual time, `netns` uses this host in real time, `runner` takes many plans through
one of them. Nothing here reads what the raw files mean: that is the store's.
"""
