# SPDX-License-Identifier: Apache-2.0
import hashlib

from leowarp.guest.building.initramfs import initramfs


def entries(archive: bytes) -> dict[str, tuple[int, bytes, int, int]]:
    """Read an archive in the newc format of cpio(5). Return a dict from the name of an entry to its mode, content,
    device major and device minor."""
    files: dict[str, tuple[int, bytes, int, int]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size_bytes, major, minor, name_bytes = fields[1], fields[6], fields[9], fields[10], fields[11]
        name = archive[at + 110 : at + 110 + name_bytes - 1].decode()
        content_at = (at + 110 + name_bytes + 3) // 4 * 4
        if name == "TRAILER!!!":
            return files
        files[name] = (mode, archive[content_at : content_at + size_bytes], major, minor)
        at = (content_at + size_bytes + 3) // 4 * 4


def test_the_archive_holds_init_and_the_console(tmp_path):
    init = tmp_path / "agent"
    init.write_bytes(b"\x7fELF odd length")
    files = entries(initramfs(init))
    assert files["init"] == (0o100755, b"\x7fELF odd length", 0, 0)
    assert files["dev/console"] == (0o020600, b"", 5, 1)
    assert files["dev/null"] == (0o020600, b"", 1, 3)
    assert next(iter(files)) == "dev"


def test_the_archive_is_the_same_everywhere(tmp_path):
    init = tmp_path / "agent"
    init.write_bytes(b"program")
    archive = initramfs(init)
    # The hash is a recorded value. If the archive's bytes change, the guest's initial memory changes in every run.
    assert hashlib.sha256(archive).hexdigest() == GOLDEN_SHA256
    assert len(archive) % 512 == 0


GOLDEN_SHA256 = "6f4ab8eeda8caedd19ba8af4a17c33668ea39715d34e4691bad1d9b22c35cb65"
