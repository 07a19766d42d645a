"""Who is tried: a kernel's CCA, a module that brings one (built of its source where that is named), or the
CCA of a QUIC stack. Bad names are refused before anything runs."""

from __future__ import annotations

import hashlib
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from narrows.errors import UsageError, did_you_mean
from narrows.kernel.image import cache_dir, find
from narrows.qdiscs.dualpi2 import dualpi2
from narrows.spec.parsers import CCAS, own_cca
from narrows.tc.qdisc import own_qdisc
from narrows.tools.bulk.spec import bulk
from narrows.tools.quic import stack as stacks
from narrows.tools.quic.spec import quic

_NAME = re.compile(r'\.(?:name|id)\s*=\s*"([A-Za-z0-9_]+)"')


@dataclass(frozen=True)
class Contestant:
    """One congestion control, as traffic that it carries; modules are a file and its parameters, as
    `machine(modules=…)` takes them. `queue`: a qdisc of one's own in place of DualPI2."""

    name: str
    cca: str
    stack: str = ""
    module: str = ""
    queue: str = ""
    queue_module: str = ""

    @property
    def folder(self) -> str:
        """Where its runs lie."""
        return self.name.replace(" ", "_")

    @property
    def kernel_cca(self) -> str:
        """Its name in the kernel under test; empty of a module or a stack."""
        return "" if self.stack or self.module else self.cca

    def item(self, **options: Any) -> Any:
        """A transfer. TCP's senders are sampled, QUIC's write qlog."""
        if self.stack:
            return quic(stack=self.stack, cca=self.cca, qlog=True, **options)
        return bulk(cca=own_cca(self.cca) if self.module else self.cca, sample="10 ms", **options)

    def bottleneck(self) -> Any:
        """The dual queue under test."""
        return own_qdisc(name=self.queue) if self.queue else dualpi2()


def named(cca: str, stack: str = "", stack_cca: str = "", queue: str = "") -> Contestant:
    """The contestant of a command's words."""
    if stack or stack_cca:
        if cca or not (stack and stack_cca):
            raise UsageError(
                "a stack is tried with its congestion control", remedy="--stack quinn --stack-cca bbr"
            )
        one = _of_stack(stack, stack_cca)
    elif not cca:
        raise UsageError(
            "nobody is tried", remedy="--cca bbr, --cca mine.ko, or --stack quinn --stack-cca bbr"
        )
    elif cca.partition(" ")[0].endswith((".ko", ".c")):
        name, module = _module(cca, "tcp_")
        one = Contestant(name, name, module=module)
    elif cca in CCAS:
        one = Contestant(cca, cca)
    else:
        remedy = f"{did_you_mean(cca, CCAS)}; a module: mine.ko, or mine.c to be built"
        raise UsageError(f"the kernel knows no congestion control {cca!r}", remedy=remedy)
    if not queue:
        return one
    kind, module = _module(queue, "sch_")
    return replace(one, name=f"{one.name} {kind}", queue=kind, queue_module=module)


def _of_stack(stack: str, cca: str) -> Contestant:
    place = str(Path(stack).resolve()) if Path(stack).is_dir() else stack
    known = stacks.find(place, Path.cwd(), "--stack").ccas
    if known and cca not in known:
        raise UsageError(f"{stack} has no {cca}", remedy=f"one of {', '.join(known)}")
    return Contestant(f"{Path(stack).name} {cca}", cca, stack=place)


def _module(words: str, prefix: str) -> tuple[str, str]:
    """What a module brings, by its source or by its file's name, and the module with its parameters."""
    text, _, parameters = words.partition(" ")
    file = Path(text).expanduser()
    if not file.is_file() or file.suffix not in (".ko", ".c"):
        raise UsageError(f"{text} is no module", remedy="mine.ko, or mine.c to be built (kernel/README.md)")
    source = file.with_suffix(".c")
    written = _NAME.search(source.read_text(errors="replace")) if source.is_file() else None
    built = file if file.suffix == ".ko" else build(file)
    return written[1] if written else file.stem.removeprefix(
        prefix
    ), f"{built.resolve()} {parameters}".strip()


def build(source: Path) -> Path:
    """The module of one source file, against the kernel under test, kept in the cache by its content."""
    image = find()
    digest = hashlib.sha256(f"{image.id}\0{source.stem}\0".encode() + source.read_bytes()).hexdigest()[:16]
    folder = cache_dir() / "modules" / digest
    made = folder / f"{source.stem}.ko"
    if made.is_file():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    (folder / source.name).write_bytes(source.read_bytes())
    (folder / "Makefile").write_text(f"obj-m := {source.stem}.o\n")
    words = ["make", "-C", str(image.tree), "ARCH=um", f"M={folder}", "modules"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"{source} cannot be built: {error}", remedy="make and a C compiler") from None
    if done.returncode or not made.is_file():
        said = (done.stderr + done.stdout).splitlines()
        first = next((line for line in said if "error:" in line), said[-1] if said else "make said nothing")
        why = first.strip().replace(f"{folder}/", "")
        raise UsageError(f"{source} cannot be built: {why}", remedy=" ".join(words))
    return made
