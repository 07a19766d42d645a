"""Realtime Response Under Load, with classes of service and best effort only."""

WORDS = ("rrul", "rrul_be")
