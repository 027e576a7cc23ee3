from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Npgpu(CMakePackage, CudaPackage):
    """Measures memory transfers, kernels, calls and streams of nodes with GPUs, and says whether they are as they
    should be."""

    # The sources that this recipe came with: a clone, six folders up.
    git = Path(__file__).resolve().parents[6].as_uri()

    license("MIT")

    version("main", branch="main")

    variant("cuda", default=True, description="Measure NVIDIA GPUs")
    variant("python", default=False, description="Packages for tables and figures in Python")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.71: +program_options+math")
    depends_on("hdf5@1.10: ~mpi")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.10:")
    depends_on("hwloc@2.4: ~cuda~opencl~gl")
    depends_on("cuda@12:", when="+cuda")
    with default_args(type="run", when="+python"):
        depends_on("python@3.9:")
        depends_on("py-numpy")
        depends_on("py-pandas@1.5:")
        depends_on("py-h5py")
        depends_on("py-matplotlib@3.6:")

    conflicts("%gcc@:10", msg="npgpu is written in C++20")
    conflicts("cuda_arch=none", when="+cuda", msg="say for which GPUs, for example cuda_arch=90")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("NPGPU_TESTS", False),
            self.define("NPGPU_EXAMPLES", False),
            self.define("NPGPU_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", self.prefix.share.npgpu.plots)
