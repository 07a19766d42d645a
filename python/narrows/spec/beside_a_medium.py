"""What a Link may have beside a medium, which takes the place of rate and shaper."""

from typing import Any


def check(link: Any) -> None:
    """Refuse what a Link cannot have beside a medium: its rate is the medium's mean, its shaper none."""
    media = link.media()
    for way, suffix, medium in zip(("down", "up"), ("", "_up"), media, strict=True):
        if medium is None:
            continue
        what = f"medium{suffix if link['medium_up'] is not None else ''}"
        if way not in medium.ways:
            link.fail(
                f"{what}: {medium.described()} has no way {way}",
                f"it goes {' and '.join(medium.ways)}: give the other way a rate, or a medium of its own",
            )
        if f"shaper{suffix}" in link.given:
            link.fail(f"{what} and shaper{suffix} both say when packets leave", "leave one of them out")
        if f"rate{suffix}" in link.given:
            link.fail(f"{what} and rate{suffix} both say what the link carries", "leave one of them out")
        queue = link.up("queue") if suffix else link["queue"]
        if queue.can_shape and queue.values.get("bandwidth") is not None:
            link.fail(f"{what} and {queue.label()} both say when packets leave", "leave the bandwidth out")
        for change in link.changes:
            if change.given & {"rate", "rate_up"}:
                change.fail("what a medium carries is in its schedule", "leave rate out of link.at()")
        for name in ("tso", "gso", "tx-udp-segmentation"):
            if link["offloads"].get(name):
                link.fail(f"offloads: {name} makes packets of 64 KB, which no turn of a medium carries")
        medium.check_packets(link["mtu"])
        link.values[f"rate{suffix}"] = medium.mean(way, link["mtu"])
    if media[0] is not None and media[1] is None and link["rate_up"] is None:
        link.fail("the way up has neither medium nor rate", 'rate_up="10 Mbit/s"')
