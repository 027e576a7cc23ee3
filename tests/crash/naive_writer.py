"""What the trace does not do: appends to an open HDF5 file in place, and flushes. replay.py and kill9.py must object."""
import sys

from trace_points import h5py
import numpy

sample = numpy.dtype([("point", "u4"), ("repeats", "u8"), ("host_us", "f8")])
point = numpy.dtype([("bytes", "u8"), ("first_sample", "u8"), ("samples", "u4")])
with h5py.File(sys.argv[1], "w") as file:
    file.attrs["schema_name"] = "npgpu-trace"
    file.attrs["complete"] = 0
    for s in range(4):
        series = file.create_group(f"transfers/{s:04}")
        points = series.create_dataset("points", (0,), point, maxshape=(None,), chunks=(64,))
        samples = series.create_dataset("samples", (0,), sample, maxshape=(None,), chunks=(128,))
        for i in range(55):
            first = len(samples)
            samples.resize((first + 10,))
            samples[first:] = numpy.array([(i, 1, 1.0)] * 10, sample)
            points.resize((i + 1,))
            points[i] = numpy.array((i + 1, first, 10), point)
            file.flush()
            print("saved", s, i + 1, flush=True)
