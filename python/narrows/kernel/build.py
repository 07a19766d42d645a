"""Building the kernel under test and the iproute2 that goes with it, into the cache.

The kernel is compiled once. With a profile it is compiled twice: so that it counts its branches while
somebody exercises it, and again, laid out by those counts. That changes no byte of a run: it is the same
kernel by its id, and lies beside the other. A build is made in a directory of its own and renamed when whole,
so an interrupted one is never taken for a kernel. It yields its progress and prints nothing.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows.errors import EngineError, KernelError
from narrows.kernel import image, initcalls, source, trees

KERNEL_OBJECTS = 900
"""About how many files a build compiles; for the progress only."""

PROFILED_OBJECTS = 460
"""Those of them that the profile changes (patch lab/0014)."""

IPROUTE2_OBJECTS = 190

COUNT = "-fprofile-generate -fprofile-update=single"
USE = "-fprofile-use -fprofile-correction -Wno-missing-profile -Wno-coverage-mismatch"

AS_ONE = "-flto -ffat-lto-objects"
"""Fat, because modpost reads the objects before they are linked."""

COUNTED_SYMBOLS = ("malloc", "calloc", "free", "mangle_path")
"""What libgcov shares with the kernel by name; its own come from `gcov_host.c`, or are its own business."""

REPRODUCIBLE = {
    # The version string goes into the random pool: who built it, and when, must not decide what is drawn.
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    # Else it counts how often the kernel was linked: twice by its profile, once without.
    "KBUILD_BUILD_VERSION": "2",
    "KBUILD_BUILD_USER": "narrows",
    "KBUILD_BUILD_HOST": "narrows",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class Progress:
    """What the build does: `done` of about `total` steps of `stage`; total 0 where it cannot be known."""

    stage: str
    done: int = 0
    total: int = 0


Training = Callable[[image.KernelImage, Path], Iterator[tuple[int, int]]]
"""Exercises a kernel that counts, and leaves the counts in a directory; yields runs done, and of how many."""

Trial = Callable[[image.KernelImage], None]
"""Boots a kernel once; KernelError where it does not run, EngineError where it cannot be tried."""


def build(
    jobs: int,
    trial: Trial,
    training: Training | None = None,
    own: str = "",
    speed: bool = True,
    name: str | None = None,
) -> Iterator[Progress]:
    """Make the kernel unless it is there already; with `training` one that is laid out by its profile.
    `image.find()` gives it afterwards. One that fails its `trial` is not kept.

    One with `own` lines of configuration, or without `speed` (what only makes it faster), is another kernel:
    the newest of `image.built(image.recipe(own, speed))`. So is one of another version or tree, which `name`
    says (`source.named_source`): `named(name)` finds it. It is made without `speed` unless it is of the
    version that those patches were made against."""
    if name is not None:
        yield from _build_named(jobs, trial, name)
        return
    recipe = image.recipe(own, speed)

    def is_there() -> bool:
        known = [one for one in image.built(recipe) if training is None or one.is_profiled]
        return bool(known) and not os.environ.get("LINUX_SRC")

    if is_there():
        return
    check_tools()
    with _locked(recipe):
        if is_there():
            return
        yield Progress("fetching the kernel's source: 150 MB")
        yield from _make(recipe, source.linux_source(), jobs, trial, training, own, speed)


def _build_named(jobs: int, trial: Trial, name: str) -> Iterator[Progress]:
    """A version or a tree that somebody names, unless it is there."""
    check_tools()
    yield Progress(f"fetching the source of {name}, or looking through it")
    linux = source.linux_source(name)
    level = source.level(linux)
    speed = level == source.PATCHED
    recipe = image.recipe(speed=speed, level=level)
    with _locked(f"{recipe}-{linux.version}"):
        yield from _make(recipe, linux, jobs, trial, None, "", speed, name)


@contextlib.contextmanager
def _locked(what: str) -> Iterator[None]:
    """One build of a kind at a time, in a cache that can be written."""
    root = image.cache_dir() / "kernel"
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / f".lock-{what}").touch()
    except OSError as error:
        raise KernelError(
            f"the kernel cannot be built into the cache: {error.strerror}",
            where=str(root),
            remedy=f"whoever owns it runs narrows kernel build; or {image.ANOTHER}",
        ) from error
    with lock(root / f".lock-{what}"):
        yield


def _make(
    recipe: str,
    linux: source.Source,
    jobs: int,
    trial: Trial,
    training: Training | None,
    own: str,
    speed: bool,
    name: str | None = None,
) -> Iterator[Progress]:
    """Build it into its place, under a lock that is held."""
    root = image.cache_dir() / "kernel"
    place = root / f"{recipe}-{linux.version}{'-profiled' if training is not None else ''}"
    if (place / "info.json").is_file() and image.load(place).starts_in_order:
        return
    yield Progress("fetching iproute2's source")
    iproute2 = source.iproute2_source()
    begin = f".build-{recipe}-" if name is None else f".build-{recipe}-{linux.version}-"
    for left in root.glob(f"{begin}????????"):  # by one that was killed; the lock says it is not alive
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=begin, dir=root))
    try:
        if iproute2 is not None:
            yield from build_iproute2(iproute2, work, jobs)
        without = yield from build_kernel(linux, work, jobs, training, own, speed, name)
        yield Progress("installing")
        write_info(work, recipe, linux, iproute2, own, speed, training is not None, name, without)
        yield Progress("booting it once")
        try:
            trial(image.load(work))
        except EngineError as error:  # another host, or this one later
            yield Progress(f"not booted: {error.message}")
        shutil.rmtree(place, ignore_errors=True)
        work.chmod(0o755)  # a cache may be shared by the users of a machine
        work.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_tools() -> None:
    """All that the build needs, named at once when it is missing."""
    packages = {
        "gcc": "gcc libc6-dev", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc",
        "patch": "patch", "xz": "xz-utils", "perl": "perl", "pkg-config": "pkg-config", "objcopy": "binutils",
    }  # fmt: skip
    missing = [package for tool, package in packages.items() if shutil.which(tool) is None]
    if not missing and subprocess.run(["pkg-config", "--exists", "libmnl"]).returncode:
        missing = ["libmnl-dev"]
    if missing:
        raise KernelError(
            "the kernel's build needs tools that this machine lacks",
            remedy=f"apt-get install {' '.join(missing)}   (make setup does it)",
        )


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """One build at a time; a second one waits and then finds the first one's result."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build_kernel(
    linux: source.Source,
    work: Path,
    jobs: int,
    training: Training | None,
    own: str,
    speed: bool,
    name: str | None,
) -> Generator[Progress, None, tuple[str, ...]]:
    """Unpack, lay in our files, patch, configure and compile; leaves `linux`, `config` and `build/` (for
    modules) in `work`. Of a source tree what was compiled before is kept. Returns what `unknown_options` of
    a named version are."""
    level = None if name is None else source.level(linux)
    if not linux.path.is_dir() or name is None:
        tree = work / "tree"
        yield from lay_out(linux, tree, speed, level)
        without = yield from compiled(tree, work, jobs, training, own, level)
        yield Progress("keeping what modules need")
        trees.for_modules(tree, work / "build")
        shutil.rmtree(tree)
        return without
    kept = trees.place(work.parent, linux.path)
    with lock(kept.with_name(f".lock{kept.name}")):
        yield from lay_out(linux, work / "fresh", speed, level)
        yield Progress("looking for what changed")
        trees.renew(work / "fresh", kept, linux.path)
        without = yield from compiled(kept / "build", work, jobs, training, own, level)
        yield Progress("keeping what modules need")
        trees.for_modules(kept / "build", work / "build")
    return without


def lay_out(linux: source.Source, tree: Path, speed: bool, level: image.Level | None) -> Iterator[Progress]:
    """The kernel's source with our files and patches."""
    yield Progress("unpacking the kernel")
    unpack(linux, tree)
    lay_in(tree, linux.version)
    patches = image.patches(speed, level)
    for number, (patch, file) in enumerate(patches.items()):
        yield Progress("patching", number, len(patches))
        run(
            ["patch", "-p1", "--forward", "-i", str(file)], tree, f"{patch} does not apply to {linux.version}"
        )


def compiled(
    tree: Path, work: Path, jobs: int, training: Training | None, own: str, level: image.Level | None
) -> Generator[Progress, None, tuple[str, ...]]:
    """Configure and compile in the tree; leaves `linux` and `config` in `work`, and returns the options that
    the tree does not have."""
    log = work / "build.log"
    make = ["make", "ARCH=um", f"-j{jobs}"]
    yield Progress("configuring")
    run([*make, "tinyconfig"], tree, "tinyconfig failed")
    asked = "".join(file.read_text() for file in image.fragments(level).values()) + own
    with (tree / ".config").open("a") as config:
        config.write(asked)
    run([*make, "olddefconfig"], tree, "olddefconfig failed")
    without = () if level is None else unknown_options(tree)
    check_config(tree / ".config", asked, without)
    # Without a profile each file is compiled once: optimising several as one compiles those again.
    stage, total, flags = (
        "compiling the kernel: five to nine minutes on two cores",
        KERNEL_OBJECTS,
        list[str](),
    )
    order: list[str] | None = None
    if training is not None:
        order = yield from profile(tree, work, make, training)
        stage, total = (
            "compiling the kernel by its profile: three to six minutes on two cores",
            PROFILED_OBJECTS,
        )
        flags = [f"UM_PROFILE={USE}", f"UM_LTO={AS_ONE}", f"UM_PROFILE_LINK=-flto={jobs}"]
    yield from counted([*make, *flags, "linux", "modules"], tree, stage, total, log)
    shutil.copy2(tree / "linux", work / "linux")
    if order is not None:
        initcalls.put(work / "linux", order)
    elif level is None:
        yield from relinked(tree, work, make)
    shutil.copy2(tree / ".config", work / "config")
    return without


def relinked(tree: Path, work: Path, make: list[str]) -> Iterator[Progress]:
    """Link the same objects in the opposite order; leaves `relinked` in `work`.

    What a profile changes is where code and data lie: a run that hangs on that differs with this kernel too
    (tests/determinism/test_shortcuts.py), which costs seconds and not a second compilation."""
    yield Progress("linking it again, in another order")
    objects = run(["ar", "t", "vmlinux.a"], tree, "vmlinux.a cannot be read").split()
    (tree / "vmlinux.a").unlink()
    (tree / "objects").write_text("\n".join(reversed(objects)))
    run(["ar", "cDPrST", "vmlinux.a", "@objects"], tree, "vmlinux.a cannot be written")
    run([*make, "linux"], tree, "linking it in another order failed")
    shutil.copy2(tree / "linux", work / "relinked")
    initcalls.put(work / "relinked", initcalls.order(work / "linux"))
    run(["strip", str(work / "relinked")], work, "strip failed")


def lay_in(tree: Path, version: str) -> None:
    """Put our C files into the kernel's tree; a file that Linux has too is not replaced by ours."""
    for name, file in image.sources().items():
        if (tree / name).exists():
            raise KernelError(f"{version} has a file of its own at {name}", where=str(file))
        shutil.copyfile(file, tree / name)


def profile(
    tree: Path, work: Path, make: list[str], training: Training
) -> Generator[Progress, None, list[str]]:
    """Compile a kernel that counts, exercise it, and leave its counts beside its objects in the tree; returns
    the order of its initcalls."""
    counting, counts = work / "counting", work / "counts"
    counting.mkdir()
    counts.mkdir()
    libgcov(counting)
    link = f"-fprofile-generate -L{counting} {counting / 'gcov_host.o'}"
    yield from counted(
        [*make, f"UM_PROFILE={COUNT}", f"UM_PROFILE_LINK={link}", "linux"],
        tree,
        "compiling a kernel that counts: five to nine minutes on two cores",
        KERNEL_OBJECTS,
        work / "build.log",
    )
    shutil.copy2(tree / "linux", counting / "linux")
    tools = work / "tools"
    kernel = image.KernelImage(counting / "linux", "counting", tools if tools.is_dir() else None, {})
    for done, total in training(kernel, counts):
        yield Progress("profiling the kernel: half a minute", done, total)
    found = counts.joinpath(*tree.resolve().parts[1:])
    if not any(found.rglob("*.gcda")):
        raise KernelError(
            f"the kernel that was profiled left no counts in {found}", remedy="narrows kernel build"
        )
    shutil.copytree(found, tree, dirs_exist_ok=True)
    order = initcalls.order(counting / "linux")
    shutil.rmtree(counting)
    shutil.rmtree(counts)
    return order


def libgcov(directory: Path) -> None:
    """The compiler's library of counters, made to live with a kernel, and what it needs around it."""
    run(
        ["gcc", "-O2", "-c", str(image.TRAINING / "gcov_host.c"), "-o", str(directory / "gcov_host.o")],
        directory,
        "gcov_host.c does not compile",
    )
    shown = subprocess.run(["gcc", "-print-file-name=libgcov.a"], capture_output=True, text=True, check=True)
    renamed = [word for name in COUNTED_SYMBOLS for word in ("--redefine-sym", f"{name}=gcov_{name}")]
    run(
        ["objcopy", *renamed, shown.stdout.strip(), str(directory / "libgcov.a")],
        directory,
        "gcc's libgcov.a cannot be copied (it belongs to gcc's own package)",
    )


def unknown_options(tree: Path) -> tuple[str, ...]:
    """Options of the fragment that this version of Linux does not have at all, in alphabetical order."""
    known: set[str] = set()
    for file in tree.rglob("Kconfig*"):
        if file.is_file():
            known |= set(re.findall(r"(?m)^\s*(?:menu)?config (\w+)\s*$", file.read_text(errors="replace")))
    return tuple(
        sorted(o for o in options(image.FRAGMENT.read_text()) if o.removeprefix("CONFIG_") not in known)
    )


def check_config(path: Path, asked: str, without: Sequence[str] = ()) -> None:
    """Every option that is asked for must have survived: a lost one would silently be another kernel. Of two
    lines of one name the last counts; an older version may be `without` some."""
    have = set(path.read_text().splitlines())
    lost = [
        line
        for option, line in options(asked).items()
        if line.startswith("CONFIG_") and line not in have and option not in without
    ]
    if lost:
        raise KernelError(
            f"this kernel's configuration does not take: {', '.join(lost)}", where=str(image.FRAGMENT)
        )


def options(fragment: str) -> dict[str, str]:
    """The lines of a fragment that set an option or leave it out, by its name."""
    found = {}
    for line in fragment.splitlines():
        if match := re.fullmatch(r"(?:# )?(CONFIG_\w+)(?:=.*| is not set)", line):
            found[match[1]] = line
    return found


def build_iproute2(iproute2: source.Source, work: Path, jobs: int) -> Iterator[Progress]:
    """`ip` and `tc` that know every option of this kernel's qdiscs, into `work/tools`."""
    tree = work / "iproute2"
    unpack(iproute2, tree)
    run(["./configure"], tree, "iproute2's configure failed")
    words = ["make", f"-j{jobs}", "SUBDIRS=lib ip tc"]
    yield from counted(words, tree, "compiling iproute2: some seconds", IPROUTE2_OBJECTS, work / "build.log")
    (work / "tools").mkdir()
    for name in ("ip", "tc"):
        run(
            ["strip", "-o", str(work / "tools" / name), str(tree / name / name)], tree, f"no {name} was built"
        )
    shutil.rmtree(tree)


def unpack(what: source.Source, tree: Path) -> None:
    """A tarball unpacked, or a tree copied, to `tree`."""
    if what.path.is_dir():
        try:
            shutil.copytree(what.path, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        except (OSError, shutil.Error) as error:
            raise KernelError(f"copying the source failed: {error}", where=str(what.path)) from error
        if (tree / ".config").exists() or (tree / "include/config").exists():
            run(["make", "mrproper"], tree, "make mrproper failed")
        return
    tree.mkdir()
    run(["tar", "-xf", str(what.path), "--strip-components=1"], tree, f"{what.path} does not unpack")


def run(words: list[str], cwd: Path, trouble: str) -> str:
    """One step, and what it says; its own words on failure."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, env=os.environ | REPRODUCIBLE)
    if done.returncode:
        raise KernelError(f"{trouble}:\n{(done.stdout + done.stderr).strip()[-3000:]}")
    return done.stdout


def counted(words: list[str], cwd: Path, stage: str, total: int, log: Path) -> Iterator[Progress]:
    """A make run, its progress by the files it names; the log's end on failure."""
    yield Progress(stage, 0, total)
    with log.open("a") as file:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | REPRODUCIBLE,
        )
        assert process.stdout is not None
        done = 0
        try:
            for line in process.stdout:
                file.write(line)
                if line.lstrip().startswith(("CC ", "AS ", "HOSTCC ")):
                    done += 1
                    yield Progress(stage, min(done, total), total)
        except BaseException:  # Ctrl-C, or nobody wants to hear more: the compilers must not stay behind
            process.terminate()
            process.wait()
            raise
        if process.wait():
            raise KernelError(f"{stage.partition(':')[0]} failed:\n{trouble_in(log.read_text())}")


def trouble_in(text: str) -> str:
    """What a compiler's output says is wrong: its errors, else its end."""
    lines = text.splitlines()
    errors = [line for line in lines if ": error: " in line or "undefined reference" in line]
    return "\n".join(errors[:20] or lines[-40:])


def write_info(
    work: Path,
    recipe: str,
    linux: source.Source,
    iproute2: source.Source | None,
    own: str,
    speed: bool,
    profiled: bool,
    name: str | None,
    without: Sequence[str],
) -> None:
    """`info.json`, last: its presence says that the build is whole."""
    release = subprocess.run(
        [str(work / "linux"), "--version"], capture_output=True, text=True
    ).stdout.strip()
    info: dict[str, object] = {
        "id": f"{recipe}-{linux.version}-{iproute2.version if iproute2 else 'host'}",
        "release": release,
        "source": linux.version,
        "iproute2": iproute2.version if iproute2 else None,
        "compiler": image.compiler(),
        "patches": list(image.patches(speed, None if name is None else source.level(linux))),
        "recipe": recipe,
        "profiled": profiled,
        "in_order": True,
        "own_config": list(options(own).values()),
    }
    if name is not None:
        info |= {"named": name, "without": without}
    (work / "info.json").write_text(json.dumps(info, indent=2) + "\n")
