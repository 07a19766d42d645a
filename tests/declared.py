"""What the files of queues and shapers declare, for tests that go through all of it. A module of this name is
no test of its own."""

from __future__ import annotations

from typing import Any

from narrows import qdiscs
from narrows.spec import shapers
from narrows.tc.limit import Limit

OF: dict[str, Any] = {each.__name__: each for each in qdiscs.every()}
"""The constructor of every queue and shaper with options."""
OF |= {name: getattr(shapers, name) for name in ("htb", "tbf", "policer")}
LIMITS: dict[str, dict[str, Limit]] = {
    name: {option: each.limit for option, each in of.options.items() if getattr(each, "limit", None)}
    for name, of in OF.items()
    if not getattr(of, "tc_kind", "")
}
"""By the name that tc has for it, and by option."""
