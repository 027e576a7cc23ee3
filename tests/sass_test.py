#!/usr/bin/env python3
"""What the compiler made of the multiply-add chains: the loop of every kernel holds the instructions it is counted as,
and hardly anything else. Reads machine code, so it needs no GPU; without cuobjdump it is skipped.

  sass_test.py OBJECT...    of the probes compute, bandwidth, onchip, access, atomics, tensor and instructions
"""
import collections
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
OVERHEAD = 0.01  # of a loop's instructions that are no multiply-adds

# The kernels' types, as they stand in the mangled name, and how their multiply-adds begin.
MULTIPLY_ADD = {"Fp32": r"FFMA\b", "Fp64": r"DFMA\b", "Int32": r"IMAD$", "Fp16": r"HFMA2\b", "Bf16": r"HFMA2\b"}
CHAINS = re.compile(r"chainsI\w*?(Fp32|Fp64|Int32|Fp16|Bf16)ELj(\d+)")
# operation (rmw 1, read 2, write 3, copy 4, triad 5), words of an access, accesses, dependent
PASS = re.compile(r"pass\w*?OperationE(\d)ELi(\d)ELi(\d)ELb([01])")
# By kernel, as it stands in the mangled name: what its loop loads or adds, how often, and how many instructions it has
# at most: with more of them it would wait for its own arithmetic.
PATTERNS = {r"read_wordsI\w*6Shared": (r"LDS(\.U)?$", 8, 24), r"read_wordsI\w*8Constant": (r"LDC", 8, 40),
            r"read_l1E": (r"LDG\.E\.128", 4, 26), r"read_l2E": (r"LDG\.E\.128", 4, 26),
            r"read_windowsILb0": (r"LDG\.E(?!\.128)", 8, 28), r"read_windowsILb1": (r"LDG\.E(?!\.128)", 8, 28),
            r"add_wordsILb0ELb0": (r"RED", 8, 16), r"add_wordsILb0ELb1": (r"ATOMG", 8, 20),
            r"add_wordsILb1ELb0": (r"ATOMS\.ADD", 8, 16), r"add_wordsILb1ELb1": (r"ATOMS\.ADD", 8, 20)}
# Products of tensor cores, in the loop and one after it. Hopper has no fp8 in mma.
PRODUCTS = re.compile(r"multiply_tilesI\w*?(Fp16|Bf16|Tf32|Int8|Fp64)ELj(\d)|(multiply_groups|multiply_columns)I")
# Chains of single instructions: what a step is, in the loop of 32 of them for each chain.
SINGLE = re.compile(r"run_chainsINS\w*?_\d+([A-Z]\w*?)ELj(\d)")
STEP = {"Rcp": [r"MUFU\.RCP$"], "Rsqrt": [r"MUFU\.RSQ$"], "Sin": [r"MUFU\.SIN$"], "Ex2": [r"MUFU\.EX2$"], "Lg2": [r"MUFU\.EX2$", r"MUFU\.LG2$"],
        "ViaFp64": [r"F2F\.F64\.F32$", r"F2F\.F32\.F64$"], "ViaInt32": [r"F2I", r"I2FP?"], "AddFp64": [r"DADD"], "MulFp64": [r"DMUL"],
        "Popc": [r"POPC$"], "Shuffle": [r"SHFL\.IDX$"]}
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?\s*([A-Z][\w.]*)\s*([^;]*);")
LOADS_AND_STORES = {1: (1, 1), 2: (1, 0), 3: (0, 1), 4: (1, 1), 5: (2, 1)}


def cuobjdump():
    for place in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if place and os.access(os.path.join(place, "bin", "cuobjdump"), os.X_OK):
            return os.path.join(place, "bin", "cuobjdump")
    return shutil.which("cuobjdump")


def functions(text):
    """(architecture, name, [(address, opcode, operands)])"""
    arch, name, body = None, None, []
    for line in text.splitlines():
        if found := re.search(r"code for (sm_\w+)", line):
            if name:
                yield arch, name, body
            arch, name = found.group(1), None
        elif found := re.search(r"Function : (\S+)", line):
            if name:
                yield arch, name, body
            name, body = found.group(1), []
        elif found := INSTRUCTION.match(line):
            body.append((int(found.group(1), 16), found.group(2), found.group(3)))
    if name:
        yield arch, name, body


def loops(body):
    """Of each loop the opcodes between a branch backwards and where it goes."""
    for at, opcode, operands in body:
        target = re.search(r"0x([0-9a-f]+)\s*$", operands) if opcode.startswith("BRA") else None
        if target and int(target.group(1), 16) < at:
            begin = int(target.group(1), 16)
            yield [o for a, o, _ in body if begin <= a <= at]


def longest_loop(body):
    return max(loops(body), key=len, default=[])


def innermost_loop(body, kind):
    """The shortest that has such an instruction."""
    return min((loop for loop in loops(body) if any(re.match(kind, o) for o in loop)), key=len, default=[])


def main():
    tool = cuobjdump()
    if not tool:
        print("skipped: cuobjdump is neither in the CUDA toolkit nor on PATH: install it to read machine code")
        return SKIPPED
    seen, wrong = collections.Counter(), []
    for path in sys.argv[1:]:
        text = subprocess.run([tool, "-sass", path], check=True, capture_output=True, text=True).stdout
        for arch, name, body in functions(text):
            # With them the compiler fills the time that a double takes where there are few units for it (sm_110, sm_120).
            body = [one for one in body if one[1] != "NOP"]
            if found := SINGLE.search(name):
                loop, wanted = longest_loop(body), 32 * int(found.group(2))
                for kind in STEP.get(found.group(1), []):  # of the others several make a step
                    count = sum(bool(re.match(kind, o)) for o in loop)
                    if count != wanted:
                        wrong.append(f"{arch} {found.group(1)} ilp {found.group(2)}: {count} of {kind} in the loop, {wanted} "
                                     f"wanted: {dict(collections.Counter(loop))}")
                seen["singles"] += 1
            elif found := CHAINS.search(name):
                kind, ilp = found.group(1), int(found.group(2))
                if kind == "Bf16" and arch == "sm_75":
                    continue  # has none: the program refuses it there
                loop = longest_loop(body)
                wanted = (512 // ilp + 1) * ilp
                count = sum(bool(re.match(MULTIPLY_ADD[kind], o)) for o in loop)
                if count != wanted or len(loop) - count > OVERHEAD * wanted:
                    wrong.append(f"{arch} {kind} ilp {ilp}: {count} multiply-adds of {len(loop)} instructions in the "
                                 f"loop, {wanted} wanted: {dict(collections.Counter(loop))}")
                seen["chains"] += 1
            elif found := PASS.search(name):
                operation, words, ilp, dependent = (int(g) for g in found.groups())
                loop = longest_loop(body)
                wide = ".128" if words == 4 else ""
                counts = tuple(sum(o.startswith(kind) and (".128" in o) == bool(wide) for o in loop)
                               for kind in ("LDG", "STG"))
                wanted = tuple(n * ilp for n in LOADS_AND_STORES[operation])
                if counts != wanted:
                    wrong.append(f"{arch} operation {operation}, {4 * words} bytes, {ilp} accesses, dependent "
                                 f"{dependent}: {counts} loads and stores, {wanted} wanted: "
                                 f"{dict(collections.Counter(loop))}")
                seen["passes"] += 1
            elif (found := PRODUCTS.search(name)) and arch not in ("sm_70", "sm_75"):
                loop = longest_loop(body)
                count = sum(bool(re.match(r"([HID]|[HIQ]G)MMA", o)) for o in loop)
                each = 8 if found.group(1) == "Fp64" and arch < "sm_90" else 1  # smaller products there
                wanted = {"multiply_groups": 8, "multiply_columns": 16}[found.group(3)] if found.group(3) else 32 * int(found.group(2)) * each
                if count != wanted or len(loop) > 6 * wanted:
                    wrong.append(f"{arch} {found.group(0)}: {count} products in a loop of {len(loop)} instructions, "
                                 f"{wanted} wanted: {dict(collections.Counter(loop))}")
                seen["products"] += 1
            for pattern, (kind, wanted, most) in PATTERNS.items():
                if not re.search(pattern, name):
                    continue
                loop = innermost_loop(body, kind)
                count = sum(bool(re.match(kind, o)) for o in loop)
                if count != wanted or len(loop) > most:
                    wrong.append(f"{arch} {pattern}: {count} of {kind} in a loop of {len(loop)} instructions, {wanted} of "
                                 f"at most {most} wanted: {dict(collections.Counter(loop))}")
                seen["patterns"] += 1
    for sentence in wrong:
        print("WRONG", sentence)
    print(f"{seen['chains']} chains, {seen['passes']} passes, {seen['patterns']} patterns, {seen['singles']} instructions and {seen['products']} products "
          f"read, {len(wrong)} wrong")
    return 1 if wrong or not all(seen[kind] for kind in ("chains", "passes", "patterns")) else 0


sys.exit(main())
