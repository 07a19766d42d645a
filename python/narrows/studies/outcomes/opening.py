"""What the page of the study of scores opens with (`narrows.studies.opening`)."""

SAID: tuple[str, ...] = ()
"""Nothing while no runs are kept: a sentence here is filled by the kept evidence."""
