"""The manual of experiments names every constructor and option, and its examples work."""

import re
from pathlib import Path

import narrows.spec as spec
from narrows.plan.build import plan_file
from narrows.spec.base import SpecObject

DOCS = Path(__file__).parents[2] / "docs"
MANUAL = (DOCS / "spec.md").read_text(encoding="utf-8")
#: What has a page of its own is in the manual by its name, with a link.
WHOLE = "".join(
    [MANUAL, *((DOCS / page).read_text(encoding="utf-8") for page in ("dumbbell.md", "links.md"))]
)


def test_the_manual_names_every_constructor_and_each_of_its_options() -> None:
    words = set(re.findall(r"[A-Za-z_0-9]+", WHOLE))
    missing = []
    for name in spec.__all__:
        if name not in words:
            missing.append(name)
        kind = getattr(spec, name)
        if isinstance(kind, type) and issubclass(kind, SpecObject):
            missing += [f"{name}.{option}" for option in kind.options if option not in words]
    known = {"repeat.n", "repeat.first", "after.item", "after.delay", "with_.item"}
    assert set(missing) <= known | {"command.argv", "capture.at", "tap.detail"}


def test_the_examples_of_the_manual_can_be_planned(tmp_path: Path) -> None:
    whole, sweep = re.findall(r"```python\n(.*?)```", MANUAL, re.DOTALL)
    file = tmp_path / "example.py"
    file.write_text(whole)
    assert len(plan_file(file).plans) == 20
    file.write_text('"""A sweep?"""\nfrom narrows.spec import *\n' + sweep)
    # (1 + 2) queues × 2 rates × 2 bursts × 2 cross × 10 seeds
    assert len(plan_file(file).plans) == 240
