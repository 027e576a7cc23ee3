#!/usr/bin/env python3
"""Runs the Python example of data/TRACE_FORMAT.md on the kept traces, and compares it with what it should find."""
import pathlib
import re
import sys

try:
    import h5py
    import numpy
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

data = pathlib.Path(__file__).resolve().parent.parent / "data"
text = (data / "TRACE_FORMAT.md").read_text()
example = re.search(r"In Python:\n\n((?:    .*\n)+)", text)[1].replace("\n    ", "\n").strip()
assert '"trace.h5"' in example and '"transfers/0000"' in example
series_seen = 0
for name in ("h200.h5", "host.h5"):
    with h5py.File(data / "traces" / name) as file:
        for number, series in file["transfers"].items():
            found = {}
            exec(example.replace('"trace.h5"', repr(str(data / "traces" / name))).replace("0000", number), found)
            samples = series["samples"][:]
            wanted = samples["host_us"] if series.attrs["timing"] == "host" else samples["device_us"]
            points = series["points"][:]
            assert len(found["median_us"]) == len(points)
            for row, point in enumerate(points):
                mine = samples["point"] == row
                median = numpy.median(wanted[mine] / samples["repeats"][mine])
                assert found["median_us"][int(point["bytes"])] == median, (name, number, row)
                assert numpy.isfinite(median)
            series_seen += 1
assert series_seen == 23
print(f"the example is right for {series_seen} series")
