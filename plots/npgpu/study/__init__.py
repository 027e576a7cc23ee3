"""How good predictions of jobs in streams are: npgpu's own, and those of the models of the literature, held against
measured jobs. `python -m npgpu.study` prints it.

Measured times, and npgpu's own predictions of them, come from the program (`npgpu predict COSTS --measured TRACE`); the
models of the literature, and all that is scored, are computed here. Needs nothing but Python."""
