"""How good predictions of jobs in streams are: npgpu's own, and those of the models of the literature, compared with
measured jobs. `python -m npgpu.study` prints it; with `--partitions`, how good choices for the partition method are.

Measured times, and npgpu's own predictions of them, come from the program (`npgpu predict COSTS --measured TRACE`,
`npgpu report TRACE --json`); the models of the literature for jobs, and all that is scored, are computed here. Needs nothing but Python."""
