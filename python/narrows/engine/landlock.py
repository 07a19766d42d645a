"""Takes from this process, for good, the right to change files outside a few directories, and to read others
where that is asked for (Linux Landlock).

What stat says of a path stays to be seen. Uses system calls only (no library), so that it also runs in the
small launcher; it must not import anything of narrows. Where the kernel has no Landlock it says so and does
nothing.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all 64-bit architectures
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # REMOVE_DIR … MAKE_SYM
_REFER = 1 << 13  # ABI 2: link and rename across directories
_TRUNCATE = 1 << 14  # ABI 3


def _syscall(number: int, *args: object) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def abi() -> int | None:
    """Version of Landlock that this kernel speaks, None if none."""
    try:
        return _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION))
    except OSError:
        return None


def restrict(
    writable_dirs: Iterable[str],
    writable_files: Iterable[str],
    readable: Iterable[str | tuple[str, int, int]] | None = None,
) -> int | None:
    """Allow changes below these directories and writing to these files (devices) alone, from now on. With
    `readable` nothing else can be read or executed but what is below these: a path; or path, device and inode
    of one file, or of one directory that may be listed, which the path must still lead to.

    Returns the ABI, or None where there is no Landlock. Raises OSError if it is there and refuses.
    """
    version = abi()
    if version is None:
        return None
    on_files = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    handled = on_files | _REMOVE_AND_MAKE | (_REFER if version >= 2 else 0)
    looks = 0 if readable is None else _EXECUTE | _READ_FILE | _READ_DIR
    handled, on_files = handled | looks, on_files | looks & ~_READ_DIR
    rules: list[tuple[str, int, tuple[int, int] | None]] = [(path, handled, None) for path in writable_dirs]
    rules += [(path, on_files, None) for path in writable_files]
    for one in readable or ():
        rules.append((one, looks, None) if isinstance(one, str) else (one[0], looks, (one[1], one[2])))
    attr = struct.pack("=Q", handled)
    ruleset = _syscall(_CREATE_RULESET, attr, ctypes.c_size_t(len(attr)), ctypes.c_uint32(0))
    try:
        for path, rights, known in rules:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                found = os.fstat(fd)
                if known is not None and known != (found.st_dev, found.st_ino):
                    continue
                if not stat.S_ISDIR(found.st_mode):
                    rights &= on_files
                elif known is not None:
                    rights &= _READ_DIR
                _syscall(
                    _ADD_RULE,
                    ctypes.c_int(ruleset),
                    ctypes.c_int(_RULE_PATH_BENEATH),
                    struct.pack("=Qi", rights, fd),
                    ctypes.c_uint32(0),
                )
            finally:
                os.close(fd)
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs was refused")
        _syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version
