"""Our C files and patches on the source of each Linux that narrows supports, as a build lays them out."""

import subprocess
from pathlib import Path

import pytest

from narrows.kernel import image, source
from narrows.kernel.build import lay_in, unpack

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_every_patch_applies(tmp_path: Path, version: str) -> None:
    linux = source.linux_source(version)
    level = source.level(linux)
    patches = image.patches(level == source.PATCHED, level)
    _unpack_what_is_named(linux, tmp_path / "linux", patches)
    lay_in(tmp_path / "linux", linux.version)
    for name, file in patches.items():
        done = subprocess.run(
            ["patch", "-p1", "--forward", "-i", str(file)],
            cwd=tmp_path / "linux",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{name} on {linux.version}: {done.stdout}"


def _unpack_what_is_named(linux: source.Source, tree: Path, patches: dict[str, Path]) -> None:
    """The few files of a tarball that patches edit, which takes a tenth of unpacking it; a tree whole."""
    if linux.path.is_dir():
        unpack(linux, tree)
        return
    named = {
        line[6:].split("\t")[0].strip()
        for file in patches.values()
        for line in file.read_text().splitlines()
        if line.startswith(("--- a/", "+++ b/"))
    } - set(image.sources())
    tree.mkdir()
    for place in image.sources():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
    words = ["tar", "-xf", str(linux.path), "--strip-components=1", "--wildcards"]
    subprocess.run([*words, *(f"*/{name}" for name in sorted(named))], cwd=tree, check=True)
