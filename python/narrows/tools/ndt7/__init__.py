"""The tool ndt7."""
