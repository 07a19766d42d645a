"""The service video: a player in a browser, and a ladder of rungs behind nginx."""
