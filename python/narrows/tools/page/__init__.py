"""The service page: web pages that are loaded again and again, each time with a new profile."""
