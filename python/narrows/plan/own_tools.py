"""Calls each tool's `lower.py`, and states a person's own tool in the plan: its folder's files by digest.

What a folder's code returns is checked here, so that a wrong one is an error of the experiment.
"""

import importlib
from collections.abc import Sequence

from narrows.plan.items import Command, IcmpEcho, OwnTool, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.lowering import Lowering, said
from narrows.spec.traffic import Traffic
from narrows.tools import folder as folders
from narrows.tools import registry
from narrows.tools.folder import Folder
from narrows.tools.services.spec import Service

HERE = "@tool"
"""In the arguments of an own tool's programs: its folder, as the program sees it."""
IN_THE_RUN = "@out/../tools"
"""Where the engine puts the folders of own tools."""


def lowered(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The items of the plan that an item of the experiment becomes."""
    own = folders.of(type(item))
    if own is None:
        package = type(item).__module__.rpartition(".")[0]
        lower = importlib.import_module(f"{package}.{registry.LOWER}").lower
        traffic_items: list[TrafficItem] = lower(item, item_id, state)
        return traffic_items
    lower = getattr(own.part(registry.LOWER), "lower", None)
    if not callable(lower):
        raise own.fail(registry.LOWER, "it has no function lower", "def lower(item, item_id, state): …")
    traffic_items = [
        _placed(each, own) for each in _checked(own.guard(registry.LOWER, lower, item, item_id, state), own)
    ]
    _check_ids(traffic_items, item_id, own)
    traffic_items = _with_cca(item, item_id, state, traffic_items)
    for other in state.composites:
        if isinstance(other, OwnTool) and other.tool == own.name and other.files != own.files:
            item.fail(f"{other.id} is another tool called {own.name}", "give one of the folders another name")
    state.composites.append(
        OwnTool(
            id=item_id,
            tool=own.name,
            parts=tuple(each.id for each in traffic_items if not _is_background(each)),
            in_turn={},
            options={},
            path=str(own.path),
            files=own.files,
        )
    )
    return traffic_items


def _with_cca(
    item: Traffic, item_id: str, state: Lowering, traffic_items: list[TrafficItem]
) -> list[TrafficItem]:
    """A service's `cca` is that of its server's node, whatever its lower.py does; over QUIC it is its own."""
    cca = item["cca"] if isinstance(item, Service) else None
    if cca is None:
        return traffic_items
    if item.values.get("http") != "3":
        state.set_cca(item_id, state.server, cca)
    return [
        each.model_copy(update={"uses": said(cca)})
        if isinstance(each, Command) and each.background and each.node == state.server and each.uses is None
        else each
        for each in traffic_items
    ]


def _is_background(item: TrafficItem) -> bool:
    return isinstance(item, Command) and item.background


def _checked(made: object, own: Folder) -> Sequence[TrafficItem]:
    kinds = (Command, TcpBulk, UdpProbe, IcmpEcho)
    if not isinstance(made, (list, tuple)) or not all(isinstance(each, kinds) for each in made):
        raise own.fail(
            registry.LOWER,
            f"lower returns {type(made).__name__} {made!r:.80}, not a list of the plan's items",
            "return client_and_server(…)   (from narrows.plan.lowering)",
        )
    if all(_is_background(each) for each in made):
        raise own.fail(registry.LOWER, "lower returns no client: the run would have no end")
    return made


def _check_ids(traffic_items: Sequence[TrafficItem], item_id: str, own: Folder) -> None:
    """The tables find a tool's parts by these."""
    for each in traffic_items:
        if each.id != item_id and not each.id.startswith((f"{item_id}-", f"{item_id}.")):
            raise own.fail(
                registry.LOWER,
                f"lower returns an item {each.id!r}",
                "call it item_id, or f'{item_id}-server', or f'{item_id}.something'",
            )
        if each.item != item_id:
            raise own.fail(registry.LOWER, f"lower gives {each.id} to the item {each.item!r}", "item=item_id")


def _placed(item: TrafficItem, own: Folder) -> TrafficItem:
    """With the folder's place filled in."""
    if not isinstance(item, Command):
        return item

    def filled(text: str) -> str:
        return text.replace(HERE, f"{IN_THE_RUN}/{own.name}")

    argv = tuple(map(filled, item.argv))
    # A program of the folder is copied with it: nobody else has it.
    programs = tuple(program for program in item.programs if not program.startswith(HERE))
    env = {name: filled(value) for name, value in item.env.items()}
    return item.model_copy(update={"argv": argv, "programs": programs, "env": env})
