"""Files and folders that have their name only when they are whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from ._launch import is_alone


def _sync(path: str) -> None:
    """Has a file or a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _publish(temporary: str, path: str) -> None:
    os.replace(temporary, path)
    _sync(os.path.dirname(path) or ".")


def named_by_content(path: str) -> str:
    """Renames a file, or a folder of files, to NAME.content-DIGEST, so that
    processes that have written the same give it the same name, and others do
    not: runtime/base/ContentName.h compares them. The only process leaves it as
    it is."""
    if is_alone():
        return path
    files = ([os.path.join(path, name) for name in sorted(os.listdir(path))]
             if os.path.isdir(path) else [path])
    digest = hashlib.blake2b(digest_size=8)
    for one in files:
        digest.update(f"{os.path.basename(one)} {os.path.getsize(one)} ".encode())
        with open(one, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    named = f"{path}.content-{digest.hexdigest()}"
    os.rename(path, named)
    return named


@contextlib.contextmanager
def whole_file(path: str | os.PathLike) -> Iterator[str]:
    """Gives the path of a temporary file in the same folder, which becomes
    `path` when the block ends, and goes when it fails."""
    path = os.fspath(path)
    descriptor, temporary = tempfile.mkstemp(
        prefix=os.path.basename(path) + ".", dir=os.path.dirname(path) or ".")
    os.close(descriptor)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's is for its owner alone
        _sync(temporary)
        _publish(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def whole_folder(path: str) -> Iterator[str]:
    """Does the same for a folder, which must not be there yet; those around it
    are made."""
    temporary = path + ".writing"
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
    os.makedirs(temporary)
    try:
        yield temporary
        for folder, _, files in os.walk(temporary):
            for name in files:
                _sync(os.path.join(folder, name))
            _sync(folder)
        _publish(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
