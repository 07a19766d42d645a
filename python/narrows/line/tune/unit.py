"""A systemd unit that sets the same again at boot, and takes it away when it is stopped."""

import shutil
from pathlib import Path

from narrows.errors import EngineError
from narrows.line.tune import setting, system
from narrows.line.tune.tuning import Tuned

DIRECTORY = Path("/etc/systemd/system")


def name(wan: str) -> str:
    return f"narrows-tune-{wan}.service"


def text(tuned: Tuned) -> str:
    """The unit: the lines that were typed, with whole paths."""
    wish = tuned.wish.setting
    back = setting.undo_lines(wish.wan, wish.ifb, None)
    made = [
        "[Unit]",
        f"Description=CAKE on {wish.wan}, as narrows tune set it",
        f"BindsTo=sys-subsystem-net-devices-{wish.wan}.device",
        f"After=sys-subsystem-net-devices-{wish.wan}.device network.target",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        *(f"ExecStartPre=-{_whole(words)}" for words in back),
        "ExecStartPre=-/sbin/modprobe ifb numifbs=0",
        *(f"ExecStart={_whole(words)}" for words in tuned.lines),
        *(f"ExecStop=-{_whole(words)}" for words in back),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(made)


def install(tuned: Tuned, directory: Path) -> Path:
    """Write it and have it started at boot. It is not started now: what it would set is set."""
    path = directory / name(tuned.wish.setting.wan)
    if not directory.is_dir():
        raise EngineError(
            f"{directory} is no directory: no systemd here", remedy="--dry-run prints the lines for rc.local"
        )
    try:
        path.write_text(text(tuned))
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}", remedy="--units DIR") from None
    _told(directory, "enable", path.name)
    return path


def uninstall(wan: str, directory: Path) -> bool:
    """Take it away; False: it was not there."""
    path = directory / name(wan)
    if not path.exists():
        return False
    _told(directory, "disable", path.name)
    path.unlink()
    _told(directory, None, path.name)
    return True


def _told(directory: Path, verb: str | None, unit: str) -> None:
    """Tell systemd, if it is systemd's own directory and it runs."""
    if directory != DIRECTORY or not Path("/run/systemd/system").is_dir():
        return
    system.call("systemctl", "daemon-reload")
    if verb is not None:
        system.do(("systemctl", verb, unit))


def _whole(words: tuple[str, ...]) -> str:
    return " ".join((shutil.which(words[0]) or f"/sbin/{words[0]}", *words[1:]))
