# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The images a board can load, and the checks an image passes before a slot is touched.

What is checked is what is loaded: the file is read once, its hash compared, and the very bytes that were hashed are
put into a private folder in memory, from where PYNQ takes them. A file that changes on disk between check and load
changes nothing. The same copies are what `prefetch` makes.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from eddy.board.images.image_files import image_of, payload_bytes, read_manifest, refuse_boot_image
from eddy.board.images.signing import Trust
from eddy.core.errors import ConfigurationFailed, EddyError, ImageRefused, InvalidRequest
from eddy.core.slots import Image, SlotDescription
from eddy.core.units import format_bytes
from eddy.host.memory_folder import MemoryFolder

Read = Callable[[str, bool], bool]
"""Reads an image (its sha256) into memory; with True, only where none leaves for it. Answers whether it is there."""


class ImagePrefetcher:
    """The images that are to be read while nobody waits for them.

    The thread begins with the first image and ends with the last one, so a board that reads nothing ahead has none.

    Args:
        read: Reads an image; a method, called from the thread, whose object is not kept alive by it.
    """

    def __init__(self, read: Read) -> None:
        self._read = weakref.WeakMethod(read)
        self._lock = threading.Lock()
        self._wanted: deque[tuple[str, bool]] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def next(self, image: str) -> None:
        """Read an image next; others leave for it."""
        self._put([(image, False)])

    def prefetch(self, images: Iterable[str]) -> None:
        """Read images in this order, before those asked for earlier in this way, as far as there is room."""
        self._put([(image, True) for image in images])

    def wait_until_read(self, timeout_s: float = 60.0) -> bool:
        """Wait until everything was read; answers whether that came to be within so many wall seconds."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Read nothing more; what is being read is read to its end."""
        with self._lock:
            self._closed = True
            self._wanted.clear()
        self.wait_until_read()

    def _put(self, wanted: list[tuple[str, bool]]) -> None:
        with self._lock:
            if self._closed or not wanted:
                return
            names = {image for image, _ in wanted}
            self._wanted = deque(wanted + [each for each in self._wanted if each[0] not in names])
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="eddy-read-ahead", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                read = self._read()
                if not self._wanted or read is None:
                    self._thread = None
                    return
                image, modestly = self._wanted.popleft()
            read(image, modestly)


_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class StoredImage:
    """An image and the file it is in."""

    image: Image
    file: Path


class ImageStore:
    """Reads `folder/*.json` and the `.bit` files beside them.

    Args:
        folder: Where the images are; may gain and lose files at any time.
        cache_bytes: How much memory the private copies may take; the oldest go first.
    """

    def __init__(self, folder: Path, cache_bytes: int = 64 << 20) -> None:
        self._folder = folder
        self._cache_bytes = cache_bytes
        self._parsed: dict[Path, tuple[_Stamp, StoredImage | None]] = {}
        self._copies: OrderedDict[str, tuple[_Stamp, Path, int]] = OrderedDict()
        self._private: MemoryFolder | None = None
        self._lock = threading.RLock()
        """Over what is known of files and copies; not over reading one."""
        self._pinned = ""
        """The image handed out last: the port may be reading its copy."""
        self._ahead = ImagePrefetcher(self._read_ahead)

    def images(self) -> tuple[Image, ...]:
        """Every image, by module and slot."""
        found = (entry.image for entry in self._scan().values())
        return tuple(sorted(found, key=lambda image: (image.module, image.slot, image.sha256)))

    def knows(self, sha256: str) -> bool:
        """Whether an image is among those of the folder."""
        return sha256 in self._scan()

    def admit(self, sha256: str, slot: SlotDescription, shell: str, trust: Trust) -> tuple[Image, Path]:
        """Check an image for a slot; answer it with the private copy of its file.

        Args:
            sha256: The image.
            slot: Where it is to go.
            shell: Identity of the shell, as read from the hardware.
            trust: Whose signatures count.

        Raises:
            ImageRefused: Says which check failed and what to do.
        """
        entry = self._scan().get(sha256)
        if entry is None:
            raise ImageRefused(
                f"no image {sha256[:12]} in {self._folder}; build it, or ask for the list again", reason="unknown"
            )
        check_place(entry.image, slot, shell)
        trust.check(entry.image)
        file = self._copy(entry, pin=True)
        check_size(entry.image, slot, file.read_bytes())
        return entry.image, file

    def prefetch(self, sha256: str) -> None:
        """Copy an image into memory ahead of its load, beside everything else; says nothing if that cannot be done."""
        self._ahead.next(sha256)

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Copy images in this order while nothing else is to be read, as far as there is room."""
        self._ahead.prefetch(images)

    def wait_until_read(self) -> bool:
        """Wait until everything was read ahead that was asked for; answers whether that came to be."""
        return self._ahead.wait_until_read()

    def _read_ahead(self, sha256: str, modestly: bool) -> bool:
        try:
            entry = self._scan().get(sha256)
            with self._lock:
                if entry is None or (modestly and self._taken() + entry.image.bytes > self._cache_bytes):
                    return False
            self._copy(entry)
        except (EddyError, OSError):
            return False
        return True

    def close(self) -> None:
        """Remove the private copies."""
        self._ahead.close()
        if self._private is not None:
            self._private.close()
            self._private = None
            self._copies.clear()

    def _taken(self) -> int:
        return sum(size for _, _, size in self._copies.values())

    def _scan(self) -> dict[str, StoredImage]:
        with self._lock:
            return self._look()

    def _look(self) -> dict[str, StoredImage]:
        found: dict[str, StoredImage] = {}
        manifests = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        for path in manifests:
            entry = self._parse(path)
            if entry is not None:
                found[entry.image.sha256] = entry
        self._parsed = {path: self._parsed[path] for path in manifests if path in self._parsed}
        return found

    def _parse(self, path: Path) -> StoredImage | None:
        """A manifest's image; None where the file describes none (the overlay's), or is being written."""
        try:
            stamp = _stamp(path)
            if path in self._parsed and self._parsed[path][0] == stamp:
                return self._parsed[path][1]
            entry = StoredImage(image_of(read_manifest(path), path), path.with_suffix(".bit"))
        except OSError:
            return None
        except InvalidRequest:
            entry = None
        self._parsed[path] = (stamp, entry)
        return entry

    def _copy(self, entry: StoredImage, pin: bool = False) -> Path:
        """The private copy of an image's file, made or found; its bytes have the image's hash."""
        sha256 = entry.image.sha256
        try:
            stamp = _stamp(entry.file)
            known = self._known(sha256, stamp, pin)
            if known is not None:
                return known
            data = entry.file.read_bytes()
        except OSError as error:
            raise ImageRefused(f"{entry.file} cannot be read: {error.strerror}", reason="missing") from error
        actual = hashlib.sha256(data).hexdigest()
        if actual != sha256:
            raise ImageRefused(
                f"{entry.file.name} is damaged: its hash is {actual[:12]}, its manifest says {sha256[:12]};"
                " build or copy it again",
                reason="damaged",
            )
        with self._lock:
            # Another thread may have read it meanwhile.
            return self._known(sha256, stamp, pin) or self._keep(entry, stamp, data, pin)

    def _known(self, sha256: str, stamp: _Stamp, pin: bool) -> Path | None:
        """The copy of an image whose file did not change since, if there is one."""
        with self._lock:
            if sha256 not in self._copies or self._copies[sha256][0] != stamp:
                return None
            self._copies.move_to_end(sha256)
            self._pinned = sha256 if pin else self._pinned
            return self._copies[sha256][1]

    def _keep(self, entry: StoredImage, stamp: _Stamp, data: bytes, pin: bool) -> Path:
        sha256 = entry.image.sha256
        # A load lets go of the copy of the one before it, a read ahead does not: the port may be at it.
        self._pinned = sha256 if pin else self._pinned
        if sha256 in self._copies:
            self._drop(sha256)
        while self._loose() and self._taken() + len(data) > self._cache_bytes:
            self._drop(self._loose()[0])
        try:
            copy = self._place(entry, data)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            for loose in self._loose():  # what can be read again makes room first
                self._drop(loose)
            copy = self._place_or_say(entry, data)
        self._copies[sha256] = (stamp, copy, len(data))
        return copy

    def _loose(self) -> list[str]:
        """Copies that may leave, the one used longest ago first."""
        return [sha256 for sha256 in self._copies if sha256 != self._pinned]

    def _place_or_say(self, entry: StoredImage, data: bytes) -> Path:
        try:
            return self._place(entry, data)
        except OSError as error:
            where = f"no room in {self._private_folder()} for {format_bytes(len(data))} of image {entry.file.name}"
            raise ConfigurationFailed(f"{where}: make room there", cause="storage-full") from error

    def _place(self, entry: StoredImage, data: bytes) -> Path:
        """Write a private copy; nothing is left of one that did not fit."""
        folder = self._private_folder() / entry.image.sha256
        folder.mkdir(exist_ok=True)
        copy = folder / entry.file.name
        try:
            copy.write_bytes(data)
            # PYNQ wants the metadata of a partial design beside it.
            for suffix in (".hwh", ".json"):
                if entry.file.with_suffix(suffix).exists():
                    shutil.copyfile(entry.file.with_suffix(suffix), copy.with_suffix(suffix))
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return copy

    def _drop(self, sha256: str) -> None:
        shutil.rmtree(self._copies.pop(sha256)[1].parent, ignore_errors=True)

    def _private_folder(self) -> Path:
        if self._private is None:
            self._private = MemoryFolder("eddy-image-copies")
        return self._private.path


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def check_place(image: Image, slot: SlotDescription, shell: str) -> None:
    """Refuse an image for another slot or another shell.

    Raises:
        ImageRefused: It is.
    """
    name = f"image {image.sha256[:12]} ({image.module})"
    if image.slot != slot.index:
        raise ImageRefused(
            f"{name} was built for slot {image.slot}, not for slot {slot.index}; use the image of this slot",
            reason="other-slot",
            asked=slot.index,
            achievable=image.slot,
        )
    if image.shell != shell:
        raise ImageRefused(
            f"{name} was built for shell {image.shell}, the board runs {shell}; build the images again for this shell",
            reason="other-shell",
        )


def check_size(image: Image, slot: SlotDescription, data: bytes) -> None:
    """Refuse a file that is no plain bitstream of the size its manifest and its slot say.

    Raises:
        ImageRefused: It is not.
    """
    refuse_boot_image(data, f"image {image.sha256[:12]}")
    actual = payload_bytes(data)
    # Compressed images of one slot differ in size; the slot's is that of the largest.
    if actual != image.bytes or actual > slot.image_bytes:
        raise ImageRefused(
            f"image {image.sha256[:12]} ({image.module}) holds {format_bytes(actual)},"
            f" its manifest says {format_bytes(image.bytes)} and"
            f" slot {slot.index} takes up to {format_bytes(slot.image_bytes)}; build it again for this profile",
            reason="wrong-size",
        )
