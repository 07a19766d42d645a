"""Takes from this process, for good, the right to change files outside a few directories (Linux Landlock).

Reading and executing stay free. Uses system calls only (no library), so that it also runs in the small
launcher; it must not import anything of narrows. Where the kernel has no Landlock it says so and does
nothing.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all 64-bit architectures
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # REMOVE_DIR … MAKE_SYM
_REFER = 1 << 13  # ABI 2: link and rename across directories
_TRUNCATE = 1 << 14  # ABI 3


def _syscall(number: int, *args: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def abi() -> int | None:
    """Version of Landlock that this kernel speaks, None if none."""
    try:
        return _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION))
    except OSError:
        return None


def restrict(writable_dirs: Iterable[str], writable_files: Iterable[str]) -> int | None:
    """Allow changes below these directories and writing to these files (devices) alone, from now on.

    Returns the ABI, or None where there is no Landlock. Raises OSError if it is there and refuses.
    """
    version = abi()
    if version is None:
        return None
    on_files = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    handled = on_files | _REMOVE_AND_MAKE | (_REFER if version >= 2 else 0)
    attr = struct.pack("=Q", handled)
    ruleset = _syscall(_CREATE_RULESET, attr, ctypes.c_size_t(len(attr)), ctypes.c_uint32(0))
    try:
        for path, rights in [(p, handled) for p in writable_dirs] + [(p, on_files) for p in writable_files]:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                rule = struct.pack("=Qi", rights, fd)
                _syscall(
                    _ADD_RULE,
                    ctypes.c_int(ruleset),
                    ctypes.c_int(_RULE_PATH_BENEATH),
                    rule,
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
