"""What a trace holds, read with plain h5py: none of this project's code is trusted here."""
import re
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

SAVED = r"saved (\d+) (\d+) (\d+)"  # series of transfers, bytes, round: what test writers print
SAVED_ROW = r"saved /(\w+)/(\d+) (\d+):"  # kind, series, row: what the program prints


def rows_of(name, table):
    """The visits of a series, each of which must own the samples that it says. No point has two in a round."""
    visits, samples = table["visits"][:], table["samples"][:]
    for row, visit in enumerate(visits):
        first, count = int(visit["first_sample"]), int(visit["samples"])
        mine = samples[first:first + count]
        repeated = "repeats" not in samples.dtype.names or (mine["repeats"] > 0).all()
        if count == 0 or len(mine) != count or not (mine["visit"] == row).all() or not repeated:
            raise ValueError(f"{name}: visit {row} has broken samples")
    names = visits.dtype.names
    key = list(names[:names.index("round") + 1])  # the axes come first
    if len({tuple(visit[name] for name in key) for visit in visits}) < len(visits):
        raise ValueError(f"{name}: a point was visited twice in a round")
    return visits


def visits_of(path):
    """The set of (kind, series, row), and of (series, bytes, round) for transfers, in the trace. Raises if it does not
    open or contradicts itself."""
    found = set()
    with h5py.File(path, "r") as file:
        if file.attrs["schema_name"] != "npgpu-trace":
            raise ValueError("not a trace")
        int(file.attrs["complete"])
        for kind in set(file) - {"provenance"}:
            for name, series in file[kind].items():
                visits = rows_of(f"{kind} {name}", series)
                found |= {(kind, int(name), row) for row in range(len(visits))}
                if kind == "transfers":
                    found |= {(int(name), int(visit["bytes"]), int(visit["round"])) for visit in visits}
    return found


def announced(text, pattern=SAVED):
    """The visits that a program's output calls saved. A last line without its end does not count."""
    lines = text.split("\n")[:-1]
    by_row = (re.search(SAVED_ROW, line) for line in lines)
    return {(int(m[1]), int(m[2]), int(m[3])) for m in (re.search(pattern, line) for line in lines) if m} | {
        (m[1], int(m[2]), int(m[3])) for m in by_row if m}
