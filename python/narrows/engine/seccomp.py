"""Takes from this process, for good, the system calls that change whose a file is and its mode.

Landlock does not look at these (landlock(7), limitations): a guest that replaces a directory of its own by a
symbolic link, while it holds it open, could else have the host change the mode or owner of any file of the
user. Uses system calls only and imports nothing of narrows, so that it also runs in the small launcher.
Refused calls fail with EPERM; a guest's own calls are not concerned, since User-Mode Linux traps them before
(SECCOMP_RET_TRAP goes before SECCOMP_RET_ERRNO).
"""

import ctypes
import os
import platform
import stat
import struct

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
_AUDIT_ARCH_X86_64 = 0xC000003E
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data
_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06  # BPF instructions on 32-bit words

# Numbers of x86-64, the only machine that User-Mode Linux runs on.
_NEVER = {
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452,
    "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
    "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "setxattrat": 463,
    "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "removexattrat": 466,
    "openat2": 437,
}  # fmt: skip
_TRUNCATE = 76
"""By name; Landlock looks at it from ABI 3 on."""

_NO_DEVICES = {"mknod": (133, 1), "mknodat": (259, 2)}
"""Number, and which argument is the mode."""

_NO_SET_ID = {"open": (2, 2), "openat": (257, 3), "creat": (85, 1), "mkdir": (83, 1), "mkdirat": (258, 2)}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(number: int) -> int:
    return _ARGS + 8 * number  # the lower half; modes have no more


def program(*, truncate: bool) -> bytes:
    """The filter; with `truncate`, truncating by name is refused too."""
    refuse, allow = _instruction(_RETURN, _REFUSE), _instruction(_RETURN, _ALLOW)
    made = _instruction(_LOAD, _ARCH) + _instruction(_EQUAL, _AUDIT_ARCH_X86_64, 1, 0) + allow
    made += _instruction(_LOAD, _NR)
    for call in [*_NEVER.values(), *([_TRUNCATE] if truncate else [])]:
        made += _instruction(_EQUAL, call, 0, 1) + refuse
    for call, mode in _NO_DEVICES.values():
        made += _instruction(_EQUAL, call, 0, 6)
        made += _instruction(_LOAD, _argument(mode)) + _instruction(_AND, stat.S_IFMT(0o170000))
        made += _instruction(_EQUAL, stat.S_IFBLK, 1, 0) + _instruction(_EQUAL, stat.S_IFCHR, 0, 1)
        made += refuse + allow
    for call, mode in _NO_SET_ID.values():
        made += _instruction(_EQUAL, call, 0, 4) + _instruction(_LOAD, _argument(mode))
        made += _instruction(_ANY_BIT, stat.S_ISUID | stat.S_ISGID, 0, 1) + refuse + allow
    return made + allow


def restrict(*, truncate: bool) -> bool:
    """Refuse them from now on. False where there is no such filter for this machine."""
    if platform.machine() != "x86_64":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    text = program(truncate=truncate)
    kept = ctypes.create_string_buffer(text, len(text))
    filter_ = struct.pack("@HP", len(text) // 8, ctypes.addressof(kept))
    for words in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, filter_, 0, 0)):
        if libc.prctl(*words):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True
