"""Bulk flows: our own sender and receiver, inside the agent.

In a Dumbbell one item of the experiment is spread evenly over the sender nodes of its pairs, in their order:
one item of the plan per node, called `<id>`, `<id>.2`, `<id>.3`, …; the first nodes have the flows that are
left over. Each node sends to one receiver, the n-th to the n-th, over and over.
"""

from itertools import cycle

from narrows.errors import did_you_mean
from narrows.plan.items import TcpBulk, TrafficItem
from narrows.plan.lowering import Lowering
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.traffic import Traffic

BULK_PORT = 5001


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """One item of any number of flows."""
    link = state.run.link
    if isinstance(link, Dumbbell):
        if item["direction"] != "down":
            item.fail("a Dumbbell's bottleneck is towards the receivers", 'leave direction out ("down")')
        senders = _senders(item, link)
        receivers = dict(zip(state.topology.named("server"), cycle(state.topology.named("client"))))
        share, more = divmod(item["flows"], len(senders))
        counts = [share + (n < more) for n in range(len(senders))]
        return [
            _item(item, item_id, n, sender, receivers[sender], count, state)
            for n, (sender, count) in enumerate(zip(senders, counts, strict=True))
            if count
        ]
    if item["pairs"] is not None:
        item.fail("pairs are those of a Dumbbell", "leave pairs out, or use Dumbbell(pairs=[…])")
    down = item["direction"] == "down"
    sender, receiver = (state.server, state.client) if down else (state.client, state.server)
    return [_item(item, item_id, 0, sender, receiver, item["flows"], state)]


def _senders(item: Traffic, link: Dumbbell) -> list[str]:
    """The nodes that the item's flows are spread over."""
    nodes: dict[str, list[str]] = {}
    first = 1
    for each in link.members():
        nodes[each.called()] = [f"sender{n}" for n in range(first, first + each["senders"])]
        first += each["senders"]
    wanted = item["pairs"] or tuple(nodes)
    for name in wanted:
        if name not in nodes:
            item.fail(f"there is no pair {name!r} in some runs", did_you_mean(name, nodes))
    return [node for name in wanted for node in nodes[name]]


def _item(
    item: Traffic, item_id: str, number: int, sender: str, receiver: str, flows: int, state: Lowering
) -> TcpBulk:
    plan_id = item_id if number == 0 else f"{item_id}.{number + 1}"
    timing = state.times.of(item_id)
    return TcpBulk(
        id=plan_id,
        item=item_id,
        sender=sender,
        receiver=receiver,
        receiver_address=state.topology.address(receiver),
        port=state.port(item, plan_id, receiver, BULK_PORT),
        flows=flows,
        cca=item["cca"],
        dscp=item["dscp"],
        ecn=item["ecn"],
        bytes=item["bytes"].bytes if item["bytes"] else None,
        start_spread_ns=item["start_spread"].ns,
        sample_interval_ns=item["sample"].ns if item["sample"] else None,
        io=item["io"],
        start=timing.start,
        stop=timing.stop,
    )
