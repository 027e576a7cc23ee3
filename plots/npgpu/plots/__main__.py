"""python -m npgpu.plots"""
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    from npgpu.plots.command import main
except ImportError as missing:
    sys.exit(f"npgpu.plots: {missing}; figures need numpy and matplotlib (Debian: python3-numpy python3-matplotlib; or pip "
             "install numpy matplotlib)")

main()
