"""The claims of the study, one module each."""
