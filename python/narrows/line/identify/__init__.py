"""`narrows identify`: the probes from this host, and the page with the evidence. The judgement is the
tool's own (`narrows.tools.identify`), which an experiment uses too."""
