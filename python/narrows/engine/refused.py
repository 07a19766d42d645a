"""Which plans a machine cannot carry out, and why: what one of them lacks is no other's affair.

Where it can carry out none, the error that names all that is lacking is raised.
"""

from collections.abc import Callable, Sequence

from narrows.errors import EngineError
from narrows.plan.model import Plan


def refused(check: Callable[[list[Plan]], None], plans: Sequence[Plan]) -> dict[int, EngineError]:
    """By place in the list; `check` is an engine's, and says what is wrong with all plans together."""
    try:
        check(list(plans))
        return {}
    except EngineError as error:
        together = error
    found: dict[int, EngineError] = {}
    for number, plan in enumerate(plans):
        try:
            check([plan])
        except EngineError as error:
            found[number] = error
    if len(found) in (0, len(plans)):
        raise together
    return found
