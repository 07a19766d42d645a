"""narrows: an Internet-performance laboratory on the real Linux network stack, in virtual time."""

__version__ = "0.1.0"
