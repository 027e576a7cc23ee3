"""Figures of traces. Each is a module with a function `draw`, which returns a figure of matplotlib:

    from npgpu.plots import rate
    rate.draw("node.h5", case="transfers:0,3").savefig("rate.png")

On the command line, `python -m npgpu.plots TRACE -o DIR` draws all that a trace holds, and `python -m npgpu.plots rate
TRACE` one of them."""
