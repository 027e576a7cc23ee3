"""What the trace does not do: appends to an open HDF5 file in place, and flushes. replay.py and kill9.py must object."""
import sys

from trace_visits import h5py
import numpy

sample = numpy.dtype([("visit", "u4"), ("repeats", "u8"), ("host_us", "f8")])
visit = numpy.dtype([("bytes", "u8"), ("round", "u4"), ("first_sample", "u8"), ("samples", "u4")])
with h5py.File(sys.argv[1], "w") as file:
    file.attrs["schema_name"] = "npgpu-trace"
    file.attrs["complete"] = 0
    for s in range(4):
        series = file.create_group(f"transfers/{s:04}")
        visits = series.create_dataset("visits", (0,), visit, maxshape=(None,), chunks=(64,))
        samples = series.create_dataset("samples", (0,), sample, maxshape=(None,), chunks=(128,))
        for i in range(55):
            first = len(samples)
            samples.resize((first + 10,))
            samples[first:] = numpy.array([(i, 1, 1.0)] * 10, sample)
            visits.resize((i + 1,))
            visits[i] = numpy.array((i + 1, 0, first, 10), visit)
            file.flush()
            print("saved", s, i + 1, 0, flush=True)
