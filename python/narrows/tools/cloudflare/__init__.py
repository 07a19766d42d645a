"""The tool cloudflare."""
