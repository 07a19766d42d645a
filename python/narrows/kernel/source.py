"""Kernel and iproute2 sources: from `$LINUX_SRC`/`$IPROUTE2_SRC`, or the distribution's own source packages.

Debian 12's own suites hold a kernel that is too old, so other suites of the same mirror are asked, with lists
and sources files of our own: the machine's apt configuration gives the mirror's address and is not touched.
Works as an ordinary user. Nothing here unpacks or builds.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from narrows.errors import KernelError
from narrows.kernel.image import cache_dir

WANTED = "linux-source-7.2"
"""The package our patches were made against."""

PATCHED = (7, 2)
"""Its version: `patches/speed` are of it alone, `patches/lab` fit older ones too."""

OLDEST = (6, 18)
"""Seccomp mode needs 6.16, DualPI2 6.17."""

SUITES = ("trixie-backports", "forky", "sid", "bookworm-backports")
"""Asked in this order, smallest lists first, until one has what is wanted."""

VERSION_SUITES = ("bookworm", "trixie", "bookworm-backports", *SUITES)
"""Asked for the source of a version that somebody names."""

IPROUTE2_SUITES = ("forky", "sid")
"""Suites whose iproute2 knows every option of every qdisc in the kernel (DualPI2's came in 6.18)."""


BUILT = (".o", ".a", ".ko", ".mod", ".mod.c", ".order", ".symvers", ".gcda", ".gcno")
"""What compiling leaves in a tree."""


@dataclass(frozen=True)
class Source:
    """A tarball or tree, and a name for its version that can stand in a directory's name."""

    path: Path
    version: str


TREE = "tree:"
"""How a kernel's name begins that is of a source tree."""


def linux_source(name: str | None = None) -> Source:
    """The kernel's source: `$LINUX_SRC`, a source fetched earlier, or one fetched now. `name` is that of
    another kernel: a version ("6.12"), or `tree:DIR`."""
    if name is not None:
        return named_source(name)
    if chosen := os.environ.get("LINUX_SRC"):
        return given(chosen, "LINUX_SRC", "Makefile")
    fetched = [
        file
        for file in sources_dir().glob("linux-source-*.tar.*")
        if (version := _version(file.name)) is not None and version >= OLDEST  # others were asked for by name
    ]
    earlier = newest(file for file in fetched if file.name.startswith(f"{WANTED}.")) or newest(fetched)
    return fetch_linux() if earlier is None else _fetched(earlier)


def _version(name: str) -> tuple[int, int] | None:
    match = re.match(r"linux-source-(\d+)\.(\d+)", name)
    return None if match is None else (int(match[1]), int(match[2]))


def named_source(name: str) -> Source:
    """A source tree, or the distribution's source of a version, from whichever of its suites has it."""
    if name.startswith(TREE):
        return tree_source(Path(name.removeprefix(TREE)))
    if earlier := newest(sources_dir().glob(f"linux-source-{name}.*.tar.*")):
        return _fetched(earlier)
    for suite in VERSION_SUITES:
        apt = Apt(suite, "deb")
        if apt.update() and apt.run("apt-cache", "show", f"linux-source-{name}").returncode == 0:
            return _unpacked(apt, f"linux-source-{name}")
    raise KernelError(
        f"the mirror's suites {', '.join(VERSION_SUITES)} have no linux-source-{name}",
        remedy="narrows kernel build --tree DIR takes a source tree of any version",
    )


def tree_source(tree: Path) -> Source:
    """A source tree; KernelError for a directory that is none, or cannot become a program."""
    if not all((tree / name).is_file() for name in ("Makefile", "Kconfig", "kernel/Makefile")):
        raise KernelError(
            "no source tree of Linux", where=str(tree), remedy="--tree takes an unpacked source or a git tree"
        )
    if not (tree / "arch/um/Makefile").is_file():
        raise KernelError("this tree lacks arch/um, User-Mode Linux, which narrows needs", where=str(tree))
    return Source(tree, "tree-" + digest_of_tree(tree))


def version_of(tree: Path) -> tuple[int, int]:
    """Version and patch level, as the tree's Makefile says."""
    text = (tree / "Makefile").read_text(errors="replace")
    found = [re.search(rf"(?m)^{word} *= *(\d+)", text) for word in ("VERSION", "PATCHLEVEL")]
    if None in found:
        raise KernelError("its Makefile names no version", where=str(tree / "Makefile"))
    major, minor = (int(match[1]) for match in found if match is not None)
    return major, minor


def level(what: Source) -> tuple[int, int] | None:
    """Version and patch level of a source; None: a tarball that does not say."""
    return version_of(what.path) if what.path.is_dir() else _version(what.path.name)


def _fetched(tarball: Path) -> Source:
    return Source(tarball, tarball.name.split(".tar.")[0].removeprefix("linux-source-"))


def iproute2_source() -> Source | None:
    """iproute2's source, or None where the mirror has none new enough (then the machine's own is used)."""
    if chosen := os.environ.get("IPROUTE2_SRC"):
        return given(chosen, "IPROUTE2_SRC", "Makefile")
    if earlier := newest(sources_dir().glob("iproute2_*.orig.tar.*")):
        return Source(earlier, earlier.name.split("_")[1].split(".orig")[0])
    return fetch_iproute2()


def given(chosen: str, variable: str, witness: str) -> Source:
    """The tarball or tree that the person named in an environment variable."""
    path = Path(chosen).expanduser().absolute()
    if path.is_dir() and (path / witness).is_file():
        return Source(path, "tree-" + digest_of_tree(path))
    if path.is_file() and ".tar" in path.name:
        return Source(path, "tar-" + digest_of(path))
    raise KernelError(
        f"{variable}={chosen} is neither a source tree nor a tarball",
        remedy=f"name an unpacked tree or a .tar.xz/.tar.gz, or unset {variable} to take the distribution's",
    )


def digest_of(path: Path, more: bytes = b"") -> str:
    digest = hashlib.sha256(more)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:10]


def digest_of_tree(tree: Path) -> str:
    """Digests the names and contents of all its files, but for its history and what a build made of them."""
    whole = hashlib.sha256()
    for folder, below, files in os.walk(tree):
        below[:] = sorted(name for name in below if name != ".git")
        for name in sorted(files):
            path = Path(folder) / name
            if name.endswith(BUILT) or (name.startswith(".") and name.endswith((".cmd", ".d", ".git"))):
                continue  # .git is a file where the tree is a worktree
            whole.update(f"{path.relative_to(tree)}\0".encode(errors="surrogateescape"))
            if path.is_symlink():
                whole.update(os.fsencode(os.readlink(path)))
            elif path.is_file():
                with path.open("rb") as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:10]


def newest(paths: Iterable[Path]) -> Path | None:
    return max(paths, key=lambda p: p.stat().st_mtime, default=None)


def sources_dir() -> Path:
    return cache_dir() / "sources"


class Apt:
    """apt with lists, cache and sources of our own for one suite of the machine's mirror."""

    def __init__(self, suite: str, kind: str) -> None:
        self.suite = suite
        self.directory = cache_dir() / "apt" / f"{kind}-{suite}"
        for below in ("lists/partial", "cache/archives/partial"):
            (self.directory / below).mkdir(parents=True, exist_ok=True)
        keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
        signed = f"[signed-by={keyring}] " if keyring.is_file() else ""
        (self.directory / "sources.list").write_text(f"{kind} {signed}{mirror()} {suite} main\n")
        self.options = [
            f"-oDir::Etc::sourcelist={self.directory}/sources.list",
            "-oDir::Etc::sourceparts=/dev/null",
            f"-oDir::State::Lists={self.directory}/lists",
            f"-oDir::Cache={self.directory}/cache",
            "-oDebug::NoLocking=1",
            "-oAPT::Sandbox::User=root",
            "-oAcquire::Retries=3",
        ]

    def update(self) -> bool:
        """Fetch the suite's lists; False where the mirror does not have the suite."""
        return self.run("apt-get", "update").returncode == 0

    def run(self, tool: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run([tool, *self.options, *words], capture_output=True, text=True, cwd=cwd)

    def fetched(self, words: list[str], pattern: str) -> Path:
        """Run an apt-get command that leaves a file, and give that file."""
        where = self.directory / "download"
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
        done = self.run("apt-get", *words, cwd=where)
        found = newest(where.glob(pattern))
        if done.returncode or found is None:
            raise KernelError(f"apt-get {' '.join(words)} ({self.suite}) failed:\n{done.stderr.strip()}")
        return found


def mirror() -> str:
    """The address of the Debian archive that this machine's apt is set up for."""
    form = "$(ORIGIN) $(SITE)"
    try:
        shown = subprocess.run(
            ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
            capture_output=True,
            text=True,
        )
    except OSError as error:
        raise KernelError(
            "apt-get does not run", remedy="set LINUX_SRC to a kernel source tarball or tree"
        ) from error
    for line in shown.stdout.splitlines():
        origin, _, site = line.partition(" ")
        if origin == "Debian" and site and "security" not in site:
            return site
    raise KernelError(
        "this machine's apt knows no Debian archive",
        remedy="run apt-get update, or set LINUX_SRC to a kernel source tarball or tree (6.18 or newer)",
    )


def fetch_linux() -> Source:
    """The wanted source package from the first suite that has it, else the newest one that is new enough."""
    offers: list[tuple[tuple[int, ...], str, Apt]] = []
    for suite in SUITES:
        apt = Apt(suite, "deb")
        if not apt.update():
            continue
        names = re.findall(
            r"(?m)^(linux-source-(\d+)\.(\d+))\b", apt.run("apt-cache", "search", "linux-source").stdout
        )
        offers += [((int(major), int(minor)), name, apt) for name, major, minor in names]
        if any(name == WANTED for _, name, _ in offers):
            break
    wanted = [o for o in offers if o[1] == WANTED] or sorted(o for o in offers if o[0] >= OLDEST)[-1:]
    if not wanted:
        raise KernelError(
            f"the mirror's suites {', '.join(SUITES)} have neither {WANTED} nor another of 6.18 or newer",
            remedy="set LINUX_SRC to a kernel source tarball or tree",
        )
    _, name, apt = wanted[0]
    return _unpacked(apt, name)


def _unpacked(apt: Apt, name: str) -> Source:
    """The tarball in a source package, fetched and kept."""
    deb = apt.fetched(["download", name], "*.deb")
    version = deb.name.split("_")[1].replace("%3a", ":")
    unpacked = deb.parent / "x"
    subprocess.run(["dpkg-deb", "-x", str(deb), str(unpacked)], check=True)
    tarball = newest(unpacked.glob("usr/src/linux-source-*.tar.*"))
    if tarball is None:
        raise KernelError(f"{deb.name} holds no kernel tarball")
    kept = sources_dir() / f"linux-source-{version.replace('~', '_')}.tar{tarball.suffix}"
    return Source(keep(tarball, kept, deb.parent), version.replace("~", "_"))


def fetch_iproute2() -> Source | None:
    """iproute2's upstream tarball from the first suite that has one."""
    for suite in IPROUTE2_SUITES:
        apt = Apt(suite, "deb-src")
        if apt.update():
            tarball = apt.fetched(
                ["source", "--download-only", "--tar-only", "iproute2"], "iproute2_*.orig.tar.*"
            )
            version = tarball.name.split("_")[1].split(".orig")[0]
            return Source(keep(tarball, sources_dir() / tarball.name, tarball.parent), version)
    return None


def keep(file: Path, place: Path, leftovers: Path) -> Path:
    """Move a fetched file to its place in one step and drop what else was fetched with it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(file, place.with_suffix(".part"))
    place.with_suffix(".part").rename(place)
    shutil.rmtree(leftovers, ignore_errors=True)
    return place
