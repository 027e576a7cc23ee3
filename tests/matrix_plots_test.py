"""The figures of a node's matrix: colours, colour bars, frames; and of its NUMA nodes.

    matrix_plots_test.py NPGPU
"""
import os
import tempfile

from figures import check, estimate, inked, refused, traced, words, write  # first: it finds what follows
import matplotlib  # noqa: E402
import numpy as np  # noqa: E402
from npgpu.plots import loader, matrix  # noqa: E402


def a_matrix(where, made):
    path, png = os.path.join(where, "matrix.h5"), os.path.join(where, "matrix.png")
    traced(path, "matrix", "--device", "sim:node8-sick", "--only", "pairs,host", "--executor", "copy-engine", "--sizes", "64KiB", "--rounds", "1",
           codes=(3, 8))  # it is sick, and visited once
    peers = [c for c in loader.curves_of(loader.load(path, "transfers")) if c.series.case["direction"] == "peer"]
    named = {tuple(sorted(c.words.items())) for c in peers}
    check(len(peers) == len(named) > 100, f"each pair of GPUs has a name of its own: {len(named)} of {len(peers)}")
    titles = {matrix.title({"unit": "us", "pattern": pattern}) for pattern in ("chase", "atomic", "flag")}
    check(len(titles) == 3 and all("(ns)" in t for t in titles), f"latencies have titles of their own: {titles}")
    picture = matrix.draw(path)
    panels = [ax for ax in picture.axes if ax.images]
    check(picture._suptitle.get_ha() == "left" and all(ax.get_title(loc="left") and not ax.get_title() for ax in panels),
          "matrix: titles stand at the left, as in all figures")
    inked("matrix", path, png, 0.3, 1, 6)
    better_is_yellow(where)
    refused("no matrix", "matrix", made, "-o", png)


def better_is_yellow(where):
    """The same end of the scale for the higher rate and the shorter time; and each unit has its colour bar."""
    devices = [{"id": f"cuda:{i}", "name": "Test GPU", "simulated": False} for i in range(2)]
    cell = lambda a, b, value, verdict="ok": {"source": f"cuda:{a}", "target": f"cuda:{b}", "access": "write", "bytes": 8, "verdict": verdict,
                                              "value": estimate(value), "doubtful": False, "limit": None}
    one = lambda unit, pattern, here, there: {"unit": unit, "pattern": pattern, "executor": "copy-engine", "both_ways": False, "access": "write",
                                              "cells": [cell(0, 1, here), cell(1, 0, there, "slow")]}
    node = {"devices": devices, "matrices": [one("bytes per second", "stream", 400e9, 100e9), one("us", "chase", 0.5, 2.0)]}
    path = write(os.path.join(where, "node.json"), [], matrix=node)
    picture = matrix.draw(path)
    panels_of = [ax for ax in picture.axes if ax.images]
    colors = [[image.cmap(image.norm(image.get_array()[at])) for at in ((0, 1), (1, 0))] for ax in panels_of for image in ax.images]
    check(len(colors) == 2 and colors[0][0] != colors[0][1], f"{colors}")
    fastest = matplotlib.colormaps["viridis"](1.0)
    check(colors[0][0] == fastest and np.allclose(colors[1][0], matplotlib.colormaps["viridis"](0.75), atol=0.02), f"better is yellow: {colors}")
    check(np.allclose(colors[1][1], matplotlib.colormaps["viridis"](0.0)), "the longest time is dark")
    labels = [ax.get_xlabel() for ax in picture.axes if not ax.images]
    check(sorted(labels) == ["GB/s, more is better", "ns, less is better"], f"colour bars: {labels}")
    check(all(len(ax.patches) == 1 for ax in panels_of), "what is slow has a frame")
    node["findings"] = [{"health": "fail", "devices": ["cuda:0", "cuda:1"]}]
    check(all(len(ax.patches) == 2 for ax in matrix.draw(write(path, [], matrix=node)).axes if ax.images), "a pair that a finding names has frames")
    node["matrices"][0]["cells"][0]["value"] = estimate(None)
    check("x: no valid copy" in words(where, "matrix", write(path, [], matrix=node)), "a pair without a valid copy is marked")


def numa_nodes(where, made):
    path, png = os.path.join(where, "numa.h5"), os.path.join(where, "numa.png")
    traced(path, "matrix", "--device", "sim:node8-firmware", "--only", "numa", "--sizes", "64KiB", "--rounds", "1", codes=(3, 8))
    inked("numa", path, png, 0.3, 1, 4)
    refused("the figure numa", "matrix", path, "-o", png)
    refused("NUMA", "numa", os.path.join(where, "matrix.h5"), "-o", png)
    refused("no matrix", "numa", made, "-o", png)


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as folder:
    copies = traced(os.path.join(folder, "made.h5"), "transfer", "--device", "sim:plain", "--end", "1KiB", "--rounds", "1")
    a_matrix(folder, copies)
    numa_nodes(folder, copies)
check.finish()
