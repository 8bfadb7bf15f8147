# SPDX-License-Identifier: MIT
"""Owns: the commands `talus block`, `talus heap` and `talus classes` of gdb.

    (gdb) source talus-gdb.py
    (gdb) talus block PTR

They read the observed state (docs/observe.md), so they need no symbols of Talus, and work in a live
process and in a core file. No function of the process is called. Each walk has an end, and what
cannot be is reported as damage. Must not know: the structures, which the process describes itself.
"""

import re
import struct

import gdb

WALK_MAX = 1 << 20
ROOT, FIELD, CONSTANT = 0, 1, 2


def read(address, length):
    return bytes(gdb.selected_inferior().read_memory(address, length))


def word(address, length=8):
    return int.from_bytes(read(address, length), "little")


def notes(data):
    """(offset of the body, body) of each note of Talus of type 2."""
    for at in range(0, len(data) - 20, 4):
        name_length, length, kind = struct.unpack_from("<III", data, at)
        if name_length == 6 and kind == 2 and data[at + 12:at + 18] == b"Talus\0":
            yield at + 20, data[at + 20:at + 20 + length]


class State:
    """What one Talus in the process says of itself."""

    def __init__(self, carrier, state, table):
        self.carrier = carrier
        version, row_bytes, rows, _ = struct.unpack("<IIII", read(table, 16))
        if read(state, 8) != b"talusobs" or version != 1 or rows > 4096:
            raise gdb.GdbError(f"{carrier}: no state that this script can read")
        self.fields, self.roots = {}, {}
        data = read(table + 16, row_bytes * rows)
        for i in range(rows):
            row = data[i * row_bytes:(i + 1) * row_bytes]
            name = row[:36].split(b"\0")[0].decode()
            value, count, stride, size, kind = struct.unpack_from("<IIHBB", row, 36)
            self.fields[name] = (value, count, stride, size)
            if kind == ROOT:
                self.roots[name] = word(state + value)

    def constant(self, name):
        return self.field(name)[0]

    def field(self, name):
        if name not in self.fields:
            raise gdb.GdbError(f"{self.carrier}: its version of Talus does not tell {name}")
        return self.fields[name]

    def get(self, address, name, index=0):
        """Number `index` of a field of the object at an address."""
        value, count, stride, size = self.field(name)
        if index >= count:
            raise gdb.GdbError(f"damaged: element {index} of {count} of {name}")
        return word(address + value + stride * index, size)

    def get_all(self, address, name):
        value, count, stride, size = self.field(name)
        data = read(address + value, stride * (count - 1) + size)
        return [int.from_bytes(data[i * stride:i * stride + size], "little") for i in range(count)]

    def chain(self, first, next_field):
        at, steps = first, 0
        while at != 0:
            yield at
            at, steps = self.get(at, next_field), steps + 1
            if steps > WALK_MAX:
                raise gdb.GdbError("damaged: a list without an end")


def states():
    """All copies of Talus in the process."""
    found = {}
    for line in gdb.execute("info files", to_string=True).split("\n"):
        match = re.match(r"\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is \.note\S*(?: in (.*))?$", line)
        if not match:
            continue
        start, end = int(match[1], 16), int(match[2], 16)
        try:
            data = read(start, min(end - start, 1 << 20))
        except gdb.MemoryError:
            continue
        for at, body in notes(data):
            to_state, to_table = struct.unpack_from("<qq", body)
            state = start + at + to_state
            if state not in found:
                carrier = match[3] or gdb.current_progspace().filename or "the program"
                found[state] = State(carrier, state, start + at + 8 + to_table)
    if not found:
        raise gdb.GdbError("there is no Talus in this process, or it has not been started")
    return list(found.values())


class Heap:
    """The walks over the heap of one Talus."""

    def __init__(self, state):
        self.state = state
        table = state.roots["classes"]
        self.classes = list(zip(*(state.get_all(table, "classes." + name)
                                  for name in ("block_bytes", "block_count", "slab_slices"))))
        self.registry = state.roots["registry"]

    def heaps(self):
        count = self.state.get(self.registry, "registry.heap_count")
        for number in range(1, count + 1):
            yield self.state.get(self.registry, "registry.heaps", number)

    def caches(self):
        """(thread or None, address): orphaned caches have no thread."""
        for number, at in enumerate(self.state.chain(
                self.state.get(self.registry, "registry.caches"), "cache.next")):
            yield number, at
        for at in self.state.chain(self.state.get(self.registry, "registry.orphaned"),
                                   "cache.next"):
            yield None, at

    def lists(self, cache):
        """The blocks in the lists of a cache: [(class, [address])]."""
        tops = self.state.get_all(cache, "cache.tops")
        fast = self.state.constant("cache.fast_classes")
        slow = self.state.get_all(cache, "cache.slow_tops")
        bottoms = self.state.get_all(cache, "cache.bottoms")
        pieces = [(index, tops[index] if index < fast else slow[index - fast], bottoms[index])
                  for index in range(len(self.classes))]
        sides = self.state.get(cache, "cache.sides")
        if sides != 0:
            tops = self.state.get_all(sides, "sides.tops")
            first = self.state.constant("sides.first_allocation_top")
            for index, bottom in enumerate(self.state.get_all(sides, "sides.free_bottoms")):
                pieces.append((index, tops[index], bottom))
            for index, bottom in enumerate(self.state.get_all(sides, "sides.allocation_bottoms")):
                pieces.append((index, tops[first + index], bottom))
        for index, top, bottom in pieces:
            if top < bottom or top - bottom > 1 << 20:
                raise gdb.GdbError(f"damaged: a list of class {index} without an end")
            if top != bottom:
                data = read(bottom, top - bottom)
                blocks = struct.unpack(f"<{len(data) // 8}Q", data)
                yield index, [block for block in blocks if block != 0]

    def messages(self):
        """Blocks on their way to their heap: [address]."""
        most = self.state.constant("message.blocks_max")
        firsts = [self.state.get(heap, "heap.remote_queue") for heap in self.heaps()]
        chains = [at for first in firsts for at in self.state.chain(first, "message.next")]
        for _, cache in self.caches():
            chains += [at for at in self.state.get_all(cache, "cache.batches") if at != 0]
        for at in chains:
            count = self.state.get(at, "message.count")
            for i in range(min(count, most)):
                yield self.state.get(at, "message.blocks", most - 1 - i)

    def entry_of(self, address):
        """(entry, descriptor) of the page map."""
        state, page_map = self.state, self.state.roots["page_map"]
        slice_number = address // state.constant("slice.bytes")
        window_end = state.get(page_map, "page_map.window_words_end")
        window_slices = state.constant("page_map.window_slices")
        index = (slice_number + state.get(page_map, "page_map.window_bias")) % (1 << 64)
        if window_end != 0 and index >= (1 << 64) - window_slices:
            from_end = index - (1 << 64)
            return (word(window_end + from_end * 4, 4),
                    word(window_end + window_slices * 8 + from_end * 8))
        root, in_leaf = address >> 32, slice_number % state.constant("page_map.leaf_slices")
        if root >= state.field("page_map.root")[1]:
            return 0, 0
        distance = state.get(page_map, "page_map.root", root)
        if distance == 0:
            return 0, 0
        leaf = page_map + state.field("page_map.zero_words")[0] + distance
        leaf_words = state.constant("page_map.leaf_slices") * 4
        return word(leaf + in_leaf * 4, 4), word(leaf + leaf_words + in_leaf * 8)

    def class_rows(self):
        """[slabs, live, listed, remote, free] of each class."""
        rows = [[0, 0, 0, 0, 0] for _ in self.classes]
        for heap in self.heaps():
            taken = self.state.get_all(heap, "heap.taken_blocks")
            for index, slabs in enumerate(self.state.get_all(heap, "heap.class_slabs")):
                rows[index][0] += slabs
                rows[index][1] += taken[index]
                rows[index][4] += slabs * self.classes[index][1] - taken[index]
        for _, cache in self.caches():
            for index, blocks in self.lists(cache):
                rows[index][2] += len(blocks)
                rows[index][1] -= len(blocks)
        for block in self.messages():
            entry, _ = self.entry_of(block)
            if entry & 0xffff and entry >> 16 < len(rows):
                rows[entry >> 16][3] += 1
                rows[entry >> 16][1] -= 1
        return rows


def mib(count):
    return f"{count / (1 << 20):.3f} MiB"


def tell_slab(heap, address, entry, slab):
    state = heap.state
    block_bytes, count, _ = heap.classes[entry >> 16]
    base = state.get(slab, "slab.base")
    index = (address - base) // block_bytes
    owner = entry & 0xffff
    where = f"slab {base:#x}, heap {owner}, blocks of {block_bytes} bytes"
    if not 0 <= index < count:
        return f"{address:#x}: behind the last block of {where}"
    block = base + index * block_bytes
    text = f"{address:#x}: {address - block} bytes into the block {block:#x}, {where}\n"
    bits, _, stride, size = state.field("slab.free_bits")
    if word(slab + bits + index // 64 * stride, size) >> index % 64 & 1:
        return text + "  it is free, in its slab"
    for thread, cache in heap.caches():
        for _, blocks in heap.lists(cache):
            if block in blocks:
                whose = "a thread that a fork left behind" if thread is None else f"thread {thread}"
                return text + f"  it is free, in a list of {whose}"
    if block in heap.messages():
        return text + "  it is free, on its way to its heap"
    return text + "  it is in use"


def tell_large(heap, address, large):
    state = heap.state
    base = state.get(large, "large.base")
    front = state.get(large, "large.front_bytes")
    usable = state.get(large, "large.usable_bytes")
    kept = state.get(large, "large.state") == state.constant("large.kept")
    block = base + front
    return (f"{address:#x}: {address - block} bytes into the large block {block:#x} of {usable} "
            f"bytes\n  it is {'free, kept by a thread' if kept else 'in use'}")


def tell_block(heap, address):
    """None: the address is not of this Talus."""
    entry, descriptor = heap.entry_of(address)
    if entry & 0xffff:
        if entry >> 16 >= len(heap.classes) or descriptor == 0:
            raise gdb.GdbError("damaged: the page map leads to no slab")
        return tell_slab(heap, address, entry, descriptor)
    if entry == heap.state.constant("entry.special"):
        return f"{address:#x}: a block of a mode, or of a heap with a provider"
    if entry >> 16 == 1 or entry >> 16 >= heap.state.constant("heap.count_max"):
        return tell_large(heap, address, descriptor)
    for arena in heap.state.chain(heap.state.get(heap.state.roots["space"], "space.arenas"),
                                  "arena.next"):
        base = heap.state.get(arena, "arena.base")
        if base <= address < base + heap.state.get(arena, "arena.bytes"):
            return f"{address:#x}: no block; address space of Talus that is free, or metadata"
    return None


class TalusCommand(gdb.Command):
    """Look into the heap of Talus: talus block PTR, talus heap, talus classes."""

    def __init__(self):
        super().__init__("talus", gdb.COMMAND_DATA, prefix=True)


class BlockCommand(gdb.Command):
    """talus block PTR: which block an address lies in, and whether it is in use."""

    def __init__(self):
        super().__init__("talus block", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("talus block PTR")
        address = int(gdb.parse_and_eval(argument).cast(
            gdb.lookup_type("unsigned long"))) & (1 << 64) - 1
        for state in states():
            text = tell_block(Heap(state), address)
            if text is not None:
                return print(text)
        return print(f"{address:#x}: not memory of Talus")


class HeapCommand(gdb.Command):
    """talus heap: how much of the heap is in use, and where the rest is."""

    def __init__(self):
        super().__init__("talus heap", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for state in states():
            heap = Heap(state)
            rows = heap.class_rows()
            sums = [sum(row[column] * heap.classes[index][0] for index, row in enumerate(rows))
                    for column in range(5)]
            space, pool = state.roots["space"], state.roots["large_pool"]
            caches = list(heap.caches())
            less = sum(state.get(cache, "cache.kept_live_bytes_less") for _, cache in caches)
            slice_bytes = state.constant("slice.bytes")
            print(f"Talus in {state.carrier}")
            for name, value in (
                    ("live, small", sums[1]),
                    ("live, large", (state.get(pool, "large_pool.live_bytes") - less) % (1 << 64)),
                    ("free, in thread lists", sums[2]),
                    ("free, on their way", sums[3]),
                    ("free, in slabs", sums[4]),
                    ("free, kept large blocks",
                     sum(state.get(cache, "cache.kept_bytes") for _, cache in caches)),
                    ("free ranges, may be resident",
                     state.get(space, "space.dirty_slices") * slice_bytes),
                    ("free ranges, without memory",
                     state.get(space, "space.clean_slices") * slice_bytes),
                    ("reserved", state.get(space, "space.reserved_bytes")),
                    ("metadata", state.get(space, "space.metadata_bytes"))):
                print(f"  {name:<30} {mib(value):>16}")
            print(f"  {'heaps, threads':<30} "
                  f"{state.get(heap.registry, 'registry.heap_count')}, "
                  f"{state.get(heap.registry, 'registry.cache_count')}")


class ClassesCommand(gdb.Command):
    """talus classes: the blocks of each size class. Heaps that the program made do not count."""

    def __init__(self):
        super().__init__("talus classes", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for state in states():
            heap = Heap(state)
            print(f"Talus in {state.carrier}")
            print("    bytes      slabs       live     listed     remote       free")
            for index, (slabs, live, listed, remote, free) in enumerate(heap.class_rows()):
                if slabs != 0:
                    print(f"{heap.classes[index][0]:>9} {slabs:>10} {live:>10} {listed:>10} "
                          f"{remote:>10} {free:>10}")


TalusCommand()
BlockCommand()
HeapCommand()
ClassesCommand()
