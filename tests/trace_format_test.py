#!/usr/bin/env python3
"""Runs the Python example of data/TRACE_FORMAT.md on the kept traces and on one made by hand, and compares it with what
it should find."""
import os
import pathlib
import re
import sys
import tempfile

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
            visits = series["visits"][:]
            assert len(found["median_us"]) == len(visits)  # these traces have one visit to each point
            for row, visit in enumerate(visits):
                mine = samples["visit"] == row
                median = numpy.median(wanted[mine] / samples["repeats"][mine])
                assert found["median_us"][int(visit["bytes"])] == median, (name, number, row)
                assert numpy.isfinite(median)
            series_seen += 1
assert series_seen == 23

# Points with several visits: 8 B have one disturbed visit and one with clocks taken away, 64 B more than half.
rows = [(8, 1.0, 0, 0), (64, 5.0, 1, 0), (8, 90.0, 1, 0), (8, 2.0, 0, 1), (64, 6.0, 0, 0), (8, 4.0, 0, 0),
        (64, 7.0, 8, 0), (8, 80.0, 0, 0x20)]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "made.h5")
    with h5py.File(path, "w") as file:
        series = file.create_group("transfers/0000")
        series.attrs["timing"] = "host"
        series["visits"] = numpy.array([(size, disturbed, reasons) for size, _, disturbed, reasons in rows],
                                       [("bytes", "u8"), ("disturbed", "u4"), ("throttle_reasons", "u8")])
        # Three trials of two repeats each, the last of which took ten times as long.
        series["samples"] = numpy.array([(i, 2, 2 * us * longer) for i, (_, us, _, _) in enumerate(rows) for longer in (1, 1, 10)],
                                        [("visit", "u4"), ("repeats", "u8"), ("host_us", "f8")])
    found = {}
    exec(example.replace('"trace.h5"', repr(path)), found)
    assert found["median_us"] == {8: 2.0, 64: 6.0}, found["median_us"]
print(f"the example is right for {series_seen} series, and for visits that were disturbed")
