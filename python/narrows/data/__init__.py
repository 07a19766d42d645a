"""What the package carries beside its code: the kernel's configuration and patches, the agent, and the
evidence of the studies.

In a checkout these are links to the folders at its top; a wheel has the files themselves. Either way they lie
beside this module, so nothing asks where the checkout is.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent


def at(name: str) -> Path:
    """Where something that is carried lies; it need not be there (a checkout without a built agent)."""
    return HERE / name
