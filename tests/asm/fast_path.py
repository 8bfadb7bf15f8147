# What it owns: reading the disassembly of one function and finding its fast path. That is a way
# from the entry to a `ret` that calls nothing and stores to memory other than the stack (a block
# was taken or given). Of these ways it has the fewest taken branches, then the fewest instructions.
# Why the store: `free(nullptr)` also returns without a call, and is not the path to be measured.
# Where nothing changes (realloc of a block that stays) it is the way that stores nothing.
# It must not know budgets, nor which functions exist; check_budget.py does.
# SPDX-License-Identifier: MIT
"""Disassembly of a function, and the walk over it."""

import heapq
import re
import subprocess


class Instruction:
    """One line of a disassembly."""

    def __init__(self, address, text):
        self.address = address
        self.text = text
        words = text.split(None, 1)
        prefixes = []
        while words and words[0] in ("lock", "rep", "repz", "repnz", "bnd", "notrack", "data16",
                                     "cs", "ds", "es", "ss", "addr32"):
            prefixes.append(words[0])
            words = words[1].split(None, 1) if len(words) > 1 else []
        self.prefixes = prefixes
        self.mnemonic = words[0] if words else ""
        self.operands = words[1].split("#")[0].strip() if len(words) > 1 else ""

    def is_padding(self):
        return self.mnemonic.startswith("nop") or self.text.split() == ["xchg", "%ax,%ax"]

    def is_call(self):
        return self.mnemonic.startswith("call") or self.mnemonic in ("syscall", "sysenter", "int")

    def is_return(self):
        return self.mnemonic.startswith("ret")

    def is_jump(self):
        return self.mnemonic in ("jmp", "jmpq")

    def is_branch(self):
        return self.mnemonic.startswith("j") and not self.is_jump() or self.mnemonic in (
            "loop", "loope", "loopne")

    def is_trap(self):
        return self.mnemonic.startswith("ud") or self.mnemonic in ("hlt", "int3")

    def target(self):
        """Address of a direct jump, None of an indirect one."""
        found = re.match(r"(?:0x)?([0-9a-f]+)(?:\s|$)", self.operands)
        return int(found.group(1), 16) if found else None

    def destination(self):
        """The last operand in AT&T order, whole even when it holds commas in brackets."""
        return re.split(r",(?![^(]*\))", self.operands)[-1].strip()

    def touches_memory(self):
        return re.search(r"\(|%[c-g]s:", self.operands) is not None

    def stores(self):
        """Whether it writes memory that is not the stack."""
        if re.match(r"cmp(?!xchg)|test|push|prefetch|lea|nop|u?comis|call|j|i?mul|i?div|bt[wlq]?$",
                    self.mnemonic):
            return False
        destination = self.destination()
        is_memory = re.search(r"\(|^\*?%[c-g]s:", destination) is not None
        return is_memory and re.search(r"\(%[re]sp\b", destination) is None

    def refusal(self):
        """Why it may not stand on a fast path, or None."""
        if "lock" in self.prefixes:
            return "locked instruction"
        if self.mnemonic.startswith("xchg") and self.touches_memory():
            return "exchange with memory, which locks"
        if re.fullmatch(r"i?div[bwlq]?", self.mnemonic):
            return "division"
        if self.mnemonic in ("mfence", "lfence", "sfence", "cpuid"):
            return "fence"
        return None


def parse(listing):
    """Instructions of `objdump -d --no-show-raw-insn` by address, in order."""
    found = {}
    for line in listing.split("\n"):
        match = re.match(r"\s*([0-9a-f]+):\s+(\S.*)$", line)
        if match:
            address = int(match.group(1), 16)
            found[address] = Instruction(address, match.group(2).strip())
    return found


def symbols(library):
    """{name: (address, bytes)} of the functions of an object, local ones included."""
    output = subprocess.run(["readelf", "-sW", library], check=True, capture_output=True,
                            text=True).stdout
    found = {}
    for line in output.split("\n"):
        fields = line.split()
        if len(fields) >= 8 and fields[3] in ("FUNC", "IFUNC") and fields[6] != "UND":
            found.setdefault(fields[7].split("@")[0], (int(fields[1], 16), int(fields[2], 0)))
    return found


def disassemble(library, address, size):
    output = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--start-address={address:#x}",
         f"--stop-address={address + size:#x}", library],
        check=True, capture_output=True, text=True).stdout
    return parse(output)


class NoFastPath(Exception):
    """There is no way from the entry to a return that stores and calls nothing."""


def steps(instruction, following):
    """Yields (next address, taken branches) of the ways on from an instruction."""
    if instruction.is_call() or instruction.is_trap():
        return
    if instruction.is_jump():
        if instruction.target() is not None:
            yield instruction.target(), 0
        return
    if following is not None:
        yield following, 0
    if instruction.is_branch() and instruction.target() is not None:
        yield instruction.target(), 1


def fast_path(code, entry, changes=True):
    """The instructions of the fast path from entry, padding left out.

    With `changes` it stores, without it stores nothing. A jump out of the function leaves the path:
    that is the tail call of a slow function.
    """
    order = sorted(code)
    following = dict(zip(order, order[1:]))
    start = (entry, False)
    best = {start: (0, 0)}
    came_from = {}
    queue = [(0, 0, entry, False)]
    while queue:
        taken, length, address, stored = heapq.heappop(queue)
        if best[(address, stored)] < (taken, length) or address not in code:
            continue
        instruction = code[address]
        if not changes and instruction.stores():
            continue
        if instruction.is_return() and stored == changes:
            return walk_back(code, came_from, (address, stored))
        stored_after = stored or instruction.stores()
        length_after = length + (0 if instruction.is_padding() else 1)
        for target, branch in steps(instruction, following.get(address)):
            if instruction.is_return():
                break
            state, cost = (target, stored_after), (taken + branch, length_after)
            if target in code and cost < best.get(state, (1 << 30, 0)):
                best[state] = cost
                came_from[state] = (address, stored)
                heapq.heappush(queue, (*cost, *state))
    raise NoFastPath("every way from the entry calls, leaves the function or "
                     f"stores {'nothing' if changes else 'something'}")


def walk_back(code, came_from, state):
    path = []
    while state is not None:
        if not code[state[0]].is_padding():
            path.append(code[state[0]])
        state = came_from.get(state)
    return path[::-1]


def entry_thunk(code, entry):
    """The target when the function is one jump to another function, else None."""
    for address in sorted(code):
        instruction = code[address]
        if instruction.is_padding() or instruction.mnemonic.startswith("endbr"):
            continue
        target = instruction.target() if instruction.is_jump() else None
        return target if target is not None and target not in code and target != entry else None
    return None
