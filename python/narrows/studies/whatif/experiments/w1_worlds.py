"""What does one change do on paths that the fit of `narrows whatif` knows nothing of?"""

from narrows.spec import axis, capture, repeat, tap
from narrows.studies.whatif.testbed import ARMS, MOST_FLOWS, MOST_OTHERS, NAMES, SNAP, drawn

cases = {f"{name}-{arm}": (drawn(n), arm) for n, name in enumerate(NAMES) for arm in ARMS}


def _each(of):
    return axis("case", {label: of(world, arm) for label, (world, arm) in cases.items()})


def _flow(n):
    return _each(lambda world, arm: world.flow(n, arm))


def _other(n):
    return _each(lambda world, _: world.others[n] if n < len(world.others) else None)


link = _each(lambda world, arm: world.link(arm))
flow_0, flow_1, flow_2, flow_3 = map(_flow, range(MOST_FLOWS))
other_0, other_1, other_2, other_3, other_4, other_5 = map(_other, range(MOST_OTHERS))
server, client = (capture(end, snap=SNAP) for end in ("server", "client"))
tap("off")
repeat(1)
