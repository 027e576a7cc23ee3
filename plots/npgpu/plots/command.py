"""python -m npgpu.plots: one figure by its name, or all that a trace holds."""
import argparse
import difflib
import importlib
import os
import sys

from npgpu.plots import figure, loader

PROG = "npgpu.plots"
FIGURES = ("rate", "latency", "ratios", "samples", "corners", "chain", "levels", "onchip", "laws", "ladder", "gemm", "gemm_cores", "frees", "pieces", "energy", "roofline", "soak", "collectives", "timeline", "matrix", "numa", "universality",
           "fixed", "asymmetric", "predicted", "regret", "partition", "partition_sums", "partition_overhead")
TABLES = ("partition_tables", "gemm_tables")
OF_SEVERAL = ("universality",)  # traces: one beside others
# What is drawn of every trace: names of pictures, and how they are drawn where that is not the usual way.
ALL = {**{name: (name, {}) for name in FIGURES if name not in OF_SEVERAL}, "corners": ("corners", {"probe": "compute"}),
       "corners_bandwidth": ("corners", {"probe": "bandwidth"})}


def module(name):
    return importlib.import_module(f"npgpu.plots.{name}")


def one(name, arguments):
    """A figure by its name, with the options that it has."""
    chosen = module(name)
    if name in TABLES:
        return chosen.main(arguments, f"{PROG} {name}")
    parser = chosen.options()
    parser.prog = f"{PROG} {name}"
    how = vars(parser.parse_args(arguments))
    output = how.pop("output")
    figure.save(chosen.draw(**how), output)


def every(trace, folder, suffix):
    """All figures that a trace holds; a line for each on standard output."""
    loader.Trace(trace)  # one sentence where it is none
    os.makedirs(folder, exist_ok=True)
    drawn = 0
    for picture, (name, how) in ALL.items():
        try:
            made = module(name).draw(trace, **how)
        except loader.BadTrace as error:
            why = str(error).splitlines()[0].removeprefix(f"{trace}: ").removeprefix(f"{trace} ")
            print(f"no {picture}: {why.split(' (')[0]}")
            continue
        path = os.path.join(folder, f"{picture}.{suffix}")
        figure.save(made, path)
        print(path)
        drawn += 1
    if not drawn:
        raise loader.BadTrace(f"{trace}: holds nothing that a figure shows")


def line_of(name):
    """What a figure shows, in one line: the start of its module's description."""
    text = figure.about(module(name).__doc__).replace("%%", "%")
    for end in (" (", ": ", ", ", ". "):
        if len(text) > 80:
            text = text.split(end)[0]
    return f"  {name:<18} {text.rstrip('.')}"


def usage():
    parser = argparse.ArgumentParser(prog=PROG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=f"{PROG} [-h] [-o DIR] [--format WORD] TRACE\n       {PROG} FIGURE [options] TRACE...",
                                     description="Draws all figures that a trace holds, or one of them.",
                                     epilog="figures (each has options of its own: FIGURE --help):\n" +
                                     "\n".join(map(line_of, FIGURES + TABLES)))
    parser.add_argument("trace", help="npgpu trace (.h5)")
    parser.add_argument("-o", "--output", default="figures", metavar="DIR", help="folder of the pictures (default figures)")
    parser.add_argument("--format", choices=["png", "svg", "pdf"], default="png", help="of the pictures (default png)")
    return parser


def main():
    arguments = sys.argv[1:]
    name = arguments[0] if arguments and arguments[0] in FIGURES + TABLES else None
    try:
        if name:
            one(name, arguments[1:])
        else:
            if len(arguments) > 1 and arguments[0].isidentifier() and not os.path.exists(arguments[0]):
                near = difflib.get_close_matches(arguments[0], FIGURES + TABLES, 1)
                raise loader.BadTrace(f"'{arguments[0]}' is neither a figure nor a trace" +
                                      (f"; did you mean '{near[0]}'?" if near else f" ({PROG} --help lists the figures)"))
            how = usage().parse_args(arguments)
            every(how.trace, how.output, how.format)
    except loader.BadTrace as error:
        sys.exit(failed(f"{PROG}{' ' + name if name else ''}: {error}"))
    except OSError as error:
        sys.exit(failed(f"{PROG}: {error.filename or 'standard output'}: {error.strerror}"))
    except KeyError as error:
        sys.exit(failed(f"{PROG}: the report lacks {error}, which this figure needs; it is of another npgpu"))


def failed(sentence):
    print(sentence, file=sys.stderr)
    return 2
