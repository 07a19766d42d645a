"""The claims of this study, one per file."""
