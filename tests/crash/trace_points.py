"""What a trace holds, read with plain h5py: none of this project's code is trusted here."""
import re
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

SAVED = r"saved (\d+) (\d+)"  # series of transfers, bytes: what test writers print
SAVED_POINT = r"saved /(\w+)/(\d+) (\d+):"  # kind, series, row: what the program prints


def rows_of(name, table):
    """The points of a series, each of which must own the samples that it says."""
    points, samples = table["points"][:], table["samples"][:]
    for row, point in enumerate(points):
        first, count = int(point["first_sample"]), int(point["samples"])
        mine = samples[first:first + count]
        repeated = "repeats" not in samples.dtype.names or (mine["repeats"] > 0).all()
        if count == 0 or len(mine) != count or not (mine["point"] == row).all() or not repeated:
            raise ValueError(f"{name}: point {row} has broken samples")
    return points


def points_of(path):
    """The set of (kind, series, row), and of (series, bytes) for transfers, in the trace. Raises if it does not open or
    contradicts itself."""
    found = set()
    with h5py.File(path, "r") as file:
        if file.attrs["schema_name"] != "npgpu-trace":
            raise ValueError("not a trace")
        int(file.attrs["complete"])
        for kind in set(file) - {"provenance"}:
            for name, series in file[kind].items():
                points = rows_of(f"{kind} {name}", series)
                found |= {(kind, int(name), row) for row in range(len(points))}
                if kind == "transfers":
                    found |= {(int(name), int(point["bytes"])) for point in points}
    return found


def announced(text, pattern=SAVED):
    """The points that a program's output calls saved. A last line without its end does not count."""
    lines = text.split("\n")[:-1]
    by_row = (re.search(SAVED_POINT, line) for line in lines)
    return {(int(m[1]), int(m[2])) for m in (re.search(pattern, line) for line in lines) if m} | {
        (m[1], int(m[2]), int(m[3])) for m in by_row if m}
