"""The tool web_speed."""
