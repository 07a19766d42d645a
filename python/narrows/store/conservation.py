"""The check that no packet was lost from sight: sent = delivered + dropped + queued, per hop, per run.

Each check compares two independent counts of the same thing and keeps both sides. A check that has nothing to
compare fails, except where the plan leaves the tap out: then it says so. It does not judge whether the
numbers are plausible for the link; that is calibration's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrows import qdiscs
from narrows.plan.items import Command
from narrows.plan.model import Hop, Plan
from narrows.plan.super_packets import has_super_packets
from narrows.store import tap as tap_file
from narrows.store import tap_intervals
from narrows.store.agent_result import AgentResult, HopResult, TapTotals

SUPER_PACKETS = "offloads are on: a super-packet is one to the tap and the links, and its segments to tc"
"""Then packets are not compared with tc's."""
COUNTS = ("arrived", "departed", "dropped", "queued")
UNITS = ("packets", "bytes")
BY_TC = {
    "departed_packets": "packets", "departed_bytes": "bytes", "dropped_packets": "drops",
    "queued_packets": "qlen", "queued_bytes": "backlog",
}  # fmt: skip
"""Totals of the tap, and what tc calls them."""
LINKS = "links: received on ingress = sent + dropped + queued at the root qdisc"
FOREIGN = "real interfaces count packets of others too, and some cards count late"
MISCOUNTED_ABOVE = tuple(each.__name__ for each in qdiscs.every() if each.miscounts_above)
"""Qdiscs whose parent's backlog in bytes may be wrong. Their own is right."""


@dataclass(frozen=True)
class Check:
    """One comparison. `ok` None: not checked, `note` says why."""

    name: str
    ok: bool | None
    left: dict[str, int] | None = None
    right: dict[str, int] | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The checks as the manifest has them."""
        return {
            "check": self.name,
            "verdict": {True: "ok", False: "failed", None: "not checked"}[self.ok],
            "left": self.left,
            "right": self.right,
            "note": self.note,
        }


@dataclass(frozen=True)
class HopChecks:
    """All checks of one hop."""

    hop: Hop
    checks: tuple[Check, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "hop": self.hop.hop,
            "direction": self.hop.direction,
            "node": self.hop.node,
            "iface": self.hop.iface,
            "tap": self.hop.tap,
            "ok": all(check.ok is not False for check in self.checks),
            "checks": [check.to_dict() for check in self.checks],
        }


def failures(hops: list[HopChecks]) -> list[str]:
    """One line per failed check."""
    lines = []
    for one in hops:
        for check in one.checks:
            if check.ok is False:
                sides = ""
                if check.left is not None and check.right is not None:
                    sides = ": " + ", ".join(
                        f"{key} {check.left[key]} ≠ {check.right[key]}"
                        for key in check.left
                        if check.left[key] != check.right.get(key)
                    )
                note = f" ({check.note})" if check.note else ""
                lines.append(f"hop {one.hop.hop} {one.hop.direction}: {check.name}{sides}{note}")
    return lines


def check(
    plan: Plan,
    result: AgentResult,
    data: tap_file.Tap | None,
    *,
    has_tap: bool = True,
    has_own_links: bool = True,
) -> list[HopChecks]:
    """All checks of all hops of a run. Only an engine that promises no tap (`has_tap`) may leave it out."""
    done = []
    whole = has_super_packets(plan)
    for number, hop in enumerate(plan.hops):
        said = next((h for h in result.hops if (h.hop, h.direction) == (hop.hop, hop.direction)), None)
        totals = said.tap if said is not None else None
        checks = [
            *_tap_checks(number, hop, totals, data, None if has_tap else why_no_tap(said), whole),
            _tc_check(hop, totals, result, None if has_tap else why_no_tap(said), whole),
            _link_check(hop, plan, result, whole) if has_own_links else Check(LINKS, None, note=FOREIGN),
        ]
        done.append(HopChecks(hop, tuple(checks)))
    return done


def why_no_tap(said: HopResult | None) -> str:
    """What the agent says of a hop that has no tap."""
    return (said.tap_note if said is not None else None) or "this engine has no tap"


def _equal(name: str, left: dict[str, int], right: dict[str, int], note: str | None = None) -> Check:
    return Check(name, left == right, left, right, note)


def _tap_checks(
    number: int,
    hop: Hop,
    totals: TapTotals | None,
    data: tap_file.Tap | None,
    excuse: str | None,
    super_packets: bool = False,
) -> list[Check]:
    names = ("tap: arrived = departed + dropped + queued", "tap: records = totals")
    if hop.tap == "off":
        return [Check(name, None, note="tap off in the plan") for name in names]
    if totals is None and excuse is not None:
        return [Check(name, None, note=excuse) for name in names]
    if totals is None or data is None:
        note = "no tap totals in the agent's result" if totals is None else "no tap.bin"
        return [Check(name, False, note=note) for name in names]
    if totals.arrived_packets == 0:
        return [
            Check(name, False, note="nothing to check: no packet arrived at this queue") for name in names
        ]
    balance = _equal(
        names[0],
        {unit: int(getattr(totals, f"arrived_{unit}")) for unit in UNITS},
        {unit: sum(int(getattr(totals, f"{what}_{unit}")) for what in COUNTS[1:]) for unit in UNITS},
    )
    expected = {f"{what}_{unit}": int(getattr(totals, f"{what}_{unit}")) for what in COUNTS for unit in UNITS}
    if totals.marked_packets is not None:
        expected["marked_packets"] = totals.marked_packets
    # a record's size of a packet ends at 65535; an interval's sum does not
    recorded = {key: n for key, n in expected.items() if not super_packets or key.endswith("_packets")}
    if hop.tap == "drops":
        return [balance, *_lean_checks(number, data, names[1], expected, recorded)]
    tap_checks = count(data.of_hop(number))
    return [balance, _equal(names[1], {key: tap_checks[key] for key in recorded}, recorded)]


def _lean_checks(
    number: int, data: tap_file.Tap, name: str, expected: dict[str, int], recorded: dict[str, int]
) -> list[Check]:
    """Intervals hold every packet; one by one are only those dropped, marked or still queued."""
    lean_checks = count(data.of_hop(number))
    intervals = tap_intervals.totals(data.intervals[data.intervals["hop"] == number])
    alone = ("dropped_packets", "dropped_bytes", "marked_packets", "queued_packets", "queued_bytes")
    return [
        _equal(
            name,
            {key: value for key, value in intervals.items() if key in expected},
            {key: expected[key] for key in intervals if key in expected},
        ),
        _equal(
            "tap: records of drops and marks = totals",
            {key: lean_checks[key] for key in alone if key in recorded},
            {key: recorded[key] for key in alone if key in recorded},
        ),
    ]


def uncounted(plan: Plan, result: AgentResult, data: tap_file.Tap | None) -> list[str]:
    """Warnings where records hold fewer bytes than departed: a record's size of a packet ends at 65535."""
    remarks = []
    for number, hop in enumerate(plan.hops if data is not None else ()):
        said = next((h for h in result.hops if (h.hop, h.direction) == (hop.hop, hop.direction)), None)
        if data is None or said is None or said.tap is None or hop.tap == "drops":
            continue
        whole, found = said.tap.departed_bytes, count(data.of_hop(number))["departed_bytes"]
        if found < whole:
            remarks.append(
                f"hop {hop.hop} {hop.direction}: {100 * (1 - found / whole):.2g} % of the departed bytes are "
                "in no record: a super-packet with its segments' headers is counted as at most 65535 bytes"
            )
    return remarks


def count(packets: NDArray[Any]) -> dict[str, int]:
    """Totals of a hop's records, under the names of the agent's totals."""
    outcome = packets["outcome"]
    found: dict[str, int] = {}
    masks = {
        "arrived": np.ones(packets.size, dtype=bool),
        "departed": outcome == tap_file.DEPARTED,
        "dropped": outcome == tap_file.DROPPED,
        "queued": outcome == tap_file.QUEUED,
    }
    for what, mask in masks.items():
        found[f"{what}_packets"] = int(np.count_nonzero(mask))
        found[f"{what}_bytes"] = int(packets["bytes"][mask].sum(dtype=np.int64))
    found["marked_packets"] = int(np.count_nonzero(tap_file.marked(packets)))
    return found


def root_qdisc(tc: dict[str, Any], node: str, iface: str) -> dict[str, Any] | None:
    """The root qdisc of an interface in `tc_before`/`tc_after`, None if it has none."""
    for qdisc in ((tc.get(node) or {}).get(iface) or {}).get("qdisc") or []:
        if qdisc.get("root"):
            return dict(qdisc)
    return None


def _backlog(result: AgentResult, hop: Hop, root: dict[str, Any]) -> tuple[int, str | None]:
    """Bytes queued at the root, by tc, and the root's kind, with what is to be said of it."""
    said, kind = int(root["backlog"]), root.get("kind")
    shown = ((result.tc_after.get(hop.node) or {}).get(hop.iface) or {}).get("qdisc") or []
    for leaf in shown:
        if leaf.get("kind") in MISCOUNTED_ABOVE and not leaf.get("root") and leaf.get("backlog") != said:
            leaf_kind = leaf["kind"]
            return int(
                leaf["backlog"]
            ), f"{kind}; its backlog of {said} B is a miscount, {leaf_kind}'s counts"
    return said, kind


def _tc_check(
    hop: Hop, totals: TapTotals | None, result: AgentResult, excuse: str | None, super_packets: bool
) -> Check:
    name = "tap = tc -s of the root qdisc"
    if hop.tap == "off":
        return Check(name, None, note="tap off in the plan")
    if totals is None and excuse is not None:
        return Check(name, None, note=excuse)
    if totals is None:
        return Check(name, False, note="no tap totals in the agent's result")
    root = root_qdisc(result.tc_after, hop.node, hop.iface)
    if root is None:
        return Check(name, False, note=f"no root qdisc of {hop.iface} at {hop.node} in tc_after")
    if missing := [key for key in BY_TC.values() if key not in root]:
        return Check(name, False, note=f"tc says nothing of {', '.join(missing)}")
    backlog, note = _backlog(result, hop, root)
    ours: dict[str, int] = {key: getattr(totals, key) for key in BY_TC}
    theirs: dict[str, int] = {key: root[name] for key, name in BY_TC.items()} | {"queued_bytes": backlog}
    if super_packets:
        both = [key for key in ours if key not in ("departed_packets", "queued_bytes")]
        ours, theirs = ({key: side[key] for key in both} for side in (ours, theirs))
        note = f"{note}; {SUPER_PACKETS}"

    return _equal(name, ours, theirs, note)


def _link_check(hop: Hop, plan: Plan, result: AgentResult, super_packets: bool) -> Check:
    """Packets only: a link counts frames, a qdisc may count a declared overhead too.

    Of the time between the two readings (from just before t = 0 to the end), so that what the set-up sent
    stays out.
    """
    name = LINKS
    if not hop.ingress:
        return Check(name, None, note="the plan names no ingress interface")
    if super_packets:
        return Check(name, None, note=SUPER_PACKETS)
    sides = _sides(hop, result)
    if isinstance(sides, str):
        return Check(name, False, note=sides)
    received, left = sides
    if received == left == 0:
        # A person's program may only look at the machine.
        may_be_silent = all(isinstance(item, Command) and item.tool == "command" for item in plan.traffic)
        return Check(name, None if may_be_silent else False, note="nothing to check: no packet came in")
    stayed = received - left
    kept, own = _of_the_node(hop.node, plan, result)
    if stayed and -own <= stayed <= kept:
        what = "received and not forwarded" if stayed > 0 else "more left than came in: sent by the node"
        note = f"{abs(stayed)} {what}, by the node's own counts (multicast, answers, probes and the like)"
        return _equal(name, {"packets": received}, {"packets": left + stayed}, note)
    return _equal(name, {"packets": received}, {"packets": left})


def _sides(hop: Hop, result: AgentResult) -> tuple[int, int] | str:
    """Packets received on the hop's ingress, and what its root qdisc made of them; words where a count is
    missing."""
    before, after = (root_qdisc(tc, hop.node, hop.iface) for tc in (result.tc_before, result.tc_after))
    if before is None or after is None:
        return f"no root qdisc of {hop.iface} at {hop.node} in tc_before or tc_after"
    received = 0
    for iface in hop.ingress:
        first, last = (
            (links.get(hop.node) or {}).get(iface) for links in (result.links_before, result.links_after)
        )
        if first is None or last is None:
            return f"no counters of {iface} at {hop.node}"
        received += int(last["rx_packets"]) - int(first["rx_packets"])
    try:
        left = sum(int(after[key]) - int(before[key]) for key in ("packets", "drops", "qlen"))
    except KeyError as missing:
        return f"tc says nothing of {missing}"
    return received, left


def _of_the_node(node: str, plan: Plan, result: AgentResult) -> tuple[int, int]:
    """Packets that a node received and did not forward, such as a browser's multicast or answers to its own
    pings, and those that it sent itself; none where its IPv4 counters do not agree with its links.

    Two counts of the same: InReceives less ForwDatagrams less OutRequests of its IPv4 counters, and what all
    its queues together lack of what its links received. Linux counts both of a namespace, not of an
    interface. Packets pass an IFB before they come to IPv4: there InReceives is what links received and the
    IFB let pass.
    """
    first, last = result.ip_before.get(node), result.ip_after.get(node)
    if first is None or last is None:
        return 0, 0
    ifb = plan.link.home.ifb if plan.link.home is not None else None
    stayed = 0
    for each in (hop for hop in plan.hops if hop.node == node):
        sides = _sides(each, result)
        if isinstance(sides, str):
            return 0, 0
        stayed += sides[0] - sides[1]

    def grown(counter: str) -> int:
        return int(last.get(counter, 0)) - int(first.get(counter, 0))

    kept, own = grown("InReceives") - grown("ForwDatagrams"), grown("OutRequests")
    if any((hop.node, hop.iface) == (node, ifb) for hop in plan.hops):
        links = (result.links_before.get(node) or {}, result.links_after.get(node) or {})
        received = [
            sum(int(counts["rx_packets"]) for name, counts in ifaces.items() if name != ifb)
            for ifaces in links
        ]
        roots = (root_qdisc(tc, node, str(ifb)) or {} for tc in (result.tc_before, result.tc_after))
        held = [int(root.get("drops", 0)) + int(root.get("qlen", 0)) for root in roots]
        passed = received[1] - received[0] - (held[1] - held[0])
        return (kept, own) if grown("InReceives") == passed else (0, 0)
    return (kept, own) if kept - own == stayed else (0, 0)
