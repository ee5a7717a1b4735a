# SPDX-License-Identifier: Apache-2.0
"""The guest's complete userland: a newc cpio archive with one program.

The format is described in Documentation/driver-api/early-userspace/buffer-format.rst of Linux. Dates, owners and inode
numbers are constant, because the guest must not see anything of the host.
"""

from pathlib import Path

_DIRECTORY = 0o040755
_PROGRAM = 0o100755
_CHARACTER_DEVICE = 0o020600


def initramfs(init: Path) -> bytes:
    """Return an archive with `/init`, `/dev/console`, `/dev/null` and empty directories, on which the agent mounts file
    systems.

    init: A static program, because the archive contains no libraries.
    """
    entries = [("dev", _DIRECTORY, b"", 0, 0), ("dev/console", _CHARACTER_DEVICE, b"", 5, 1)]
    # Device numbers are those of Documentation/admin-guide/devices.txt. The kernel opens /dev/console for `/init`.
    entries += [("dev/null", _CHARACTER_DEVICE, b"", 1, 3)]
    entries += [(name, _DIRECTORY, b"", 0, 0) for name in ("proc", "sys", "host", "run", "tmp")]
    entries += [("init", _PROGRAM, init.read_bytes(), 0, 0)]
    archive = b"".join(_entry(number, *entry) for number, entry in enumerate(entries, start=1))
    archive += _entry(0, "TRAILER!!!", 0, b"", 0, 0)
    return archive + b"\0" * (-len(archive) % 512)


def _entry(inode: int, name: str, mode: int, content: bytes, major: int, minor: int) -> bytes:
    encoded = name.encode() + b"\0"
    # uid, gid and date are 0 and the number of links is 1, so the header is the same for every user and at every time.
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    head = header + encoded
    # The header with the name, and the content, are each padded to 4 bytes.
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
