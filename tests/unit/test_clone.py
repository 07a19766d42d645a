"""The README's clone leaves the history's large files out and is a whole checkout."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SERVER = "git -c uploadpack.allowFilter=true -c uploadpack.allowAnySHA1InWant=true upload-pack"
"""What GitHub and the like allow."""


def git(*words: str, cwd: Path) -> str:
    return subprocess.run(("git", *words), cwd=cwd, check=True, capture_output=True, text=True).stdout


def test_the_readmes_clone_is_whole_without_the_historys_large_files(tmp_path: Path) -> None:
    (words,) = re.findall(r"git clone (--filter=\S+) URL", (ROOT / "README.md").read_text(encoding="utf-8"))
    git("clone", "-q", "-u", SERVER, words, f"file://{ROOT}", "copy", cwd=tmp_path)
    copy = tmp_path / "copy"
    assert git("status", "--porcelain", cwd=copy) == ""
    assert git("ls-files", cwd=copy) == git("ls-tree", "-r", "--name-only", "HEAD", cwd=ROOT)
    packs = sum(pack.stat().st_size for pack in (copy / ".git/objects/pack").glob("*.pack"))
    assert packs < 30e6  # the whole history has 257 MB
