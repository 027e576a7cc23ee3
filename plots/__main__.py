"""python3 plots, from the sources or where npgpu is installed: the figures without installing the Python package."""
import runpy

runpy.run_module("npgpu.plots", run_name="__main__")
