"""The same conditions on several versions of Linux."""
