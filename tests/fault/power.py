# SPDX-License-Identifier: Apache-2.0
"""power: what a disk may hold after the power went, from the shim's log of one run.

What was synced is there. What was not may be there, may not, in any combination, and a
write may be torn between sectors. A name that was made or removed may be lost until its
directory is synced. Not modelled: a disk that lies about a sync.
"""
import hashlib
import random

SECTOR = 512
VARIANTS = ('none', 'names', 'all', 'random', 'torn')


def read_log(path):
    """The events of the log: (letter, name, number or name, bytes)."""
    events = []
    with open(path, 'rb') as log:
        while line := log.readline():
            letter, *words = line.decode().rstrip('\n').split(' ')
            if letter == 'W':
                events.append(('W', words[0], int(words[1]), log.read(int(words[2]))))
            elif letter == 'A':
                events.append(('A', '', 0, log.read(int(words[0]))))
            elif letter == 'T':
                events.append(('T', words[0], int(words[1]), b''))
            else:  # C, U, S name; R old new
                events.append((letter, words[0], words[1] if len(words) > 1 else 0, b''))
    return events


class File:
    """A file's bytes on the platter, and what was written to it since the last sync."""

    def __init__(self):
        self.durable = bytearray()
        self.pending = []  # (offset, bytes) or (length, None): cut or grown to it

    def sync(self):
        apply(self.durable, self.pending)
        self.pending = []


def apply(content, operations):
    for at, data in operations:
        if data is None:
            del content[at:]
            content.extend(bytes(at - len(content)))
        else:
            content.extend(bytes(max(0, at - len(content))))
            content[at:at + len(data)] = data


def sectors(operations):
    """The same writes, cut where a sector ends."""
    for at, data in operations:
        if data is None:
            yield at, data
            continue
        while data:
            n = SECTOR - at % SECTOR
            yield at, data[:n]
            at, data = at + n, data[n:]


class Disk:
    def __init__(self):
        self.names = {}          # as programs see them
        self.durable_names = {}  # as of the last sync of the directory

    def event(self, letter, name, extra, data):
        if name.endswith('-shm'):  # mapped memory, rebuilt by whoever opens first
            return
        file = self.names.get(name)
        if letter == 'C':
            self.names[name] = File()
        elif letter == 'W':
            file.pending.append((extra, data))
        elif letter == 'T':
            file.pending.append((extra, None))
        elif letter == 'U':
            self.names.pop(name, None)
        elif letter == 'R':
            self.names[extra] = self.names.pop(name)
        elif letter == 'S' and name == '':
            self.durable_names = dict(self.names)
        elif letter == 'S' and file:
            file.sync()

    def image(self, variant, dice):
        """One state the disk may be in: {name: bytes}."""
        names = self.durable_names if variant in ('none',) else self.names
        if variant == 'random' and dice.random() < 0.5:
            names = self.durable_names
        image = {}
        for name, file in names.items():
            content = bytearray(file.durable)
            apply(content, chosen(file.pending, variant, dice))
            image[name] = bytes(content)
        return image


def chosen(pending, variant, dice):
    if variant == 'all':
        return pending
    if variant == 'random':
        return [op for op in pending if dice.random() < 0.5]
    if variant == 'torn':
        return [op for op in sectors(pending) if dice.random() < 0.5]
    return []


def states(events, variants=VARIANTS, seed=1):
    """Every distinct (label, image, history) over all prefixes of the events."""
    disk, history, seen = Disk(), bytearray(), set()
    for i, event in enumerate(events + [('end', '', 0, b'')]):
        if event[0] == 'A':
            history += event[3]
            continue
        for variant in variants:  # before this event, with all that was said until now
            image = disk.image(variant, random.Random(f'{seed}/{i}/{variant}'))
            digest = hashlib.sha256(history)
            for name in sorted(image):
                digest.update(f'\0{name}\0{len(image[name])}\0'.encode() + image[name])
            if digest.digest() not in seen:
                seen.add(digest.digest())
                yield f'{variant}/{i}', image, bytes(history)
        if event[0] != 'end':
            disk.event(*event)
