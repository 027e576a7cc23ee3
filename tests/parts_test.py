"""A part that is AUTO never fails a configuration: MPI, UCX, CUDA and OpenCL are offered in halves (wrappers without headers,
headers without libraries, compilers that fail or are too old), then whole, then in halves again in the same build
folder. ON fails with a sentence.

    parts_test.py CXX_COMPILER BUILD_PROGRAM GENERATOR"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CXX, MAKE, GENERATOR = sys.argv[1:]
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


def configure(part, build, *arguments, mode="AUTO", **variables):
    modes = [f"-DNPGPU_{name}={mode if name == part else 'OFF'}" for name in ("CUDA", "MPI", "UCX", "OPENCL")]
    environment = {name: value for name, value in os.environ.items() if name not in ("CUDACXX", "CUDA_HOME", "CUDA_PATH")}
    environment.update(variables)
    return subprocess.run(["cmake", "-S", os.path.join(HERE, "parts"), "-B", build, "-G", GENERATOR,
                           f"-DCMAKE_MAKE_PROGRAM={MAKE}", f"-DCMAKE_CXX_COMPILER={CXX}", *modes, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def offered(part, what, build, *arguments, why=None, **variables):
    """Configures, and expects the part to be left out for this reason, or to be in if there is none."""
    ran = configure(part, build, *arguments, **variables)
    is_in = f"{part} ON" in ran.stdout
    check(ran.returncode == 0 and is_in == (why is None), f"{part}, {what}: exit {ran.returncode}\n{ran.stdout[-3000:]}")
    said, = re.findall(f"^-- {part} is left out: (.*)", ran.stdout, re.M) or [""]
    if why is not None:
        check(re.search(why, said) and "install" in said, f"{part}, {what}: said '{said}'")


def insisted(part, what, build, *arguments, why, **variables):
    ran = configure(part, build, *arguments, mode="ON", **variables)
    text = " ".join(ran.stdout.split())
    check(ran.returncode == 1 and re.search(f"NPGPU_{part}=ON, but .*{why}", text),
          f"{part}=ON, {what}: exit {ran.returncode}\n{ran.stdout[-3000:]}")


def library(path, source):
    """A shared library made of these lines of C++."""
    write(path + ".cpp", source)
    subprocess.run([CXX, "-shared", "-fPIC", "-o", path, path + ".cpp"], check=True)


# As Open MPI's answers, for headers and libraries in `root`.
WRAPPER = """#!/bin/sh
case "$*" in
  *-showme:version*) echo "mpicxx: Open MPI 4.1.4 (Language: C++)" ;;
  *-showme:compile*) echo "-I{root}/include" ;;
  *-showme:link*) echo "-L{root}/lib -lmpi_of_a_test" ;;
  *-show*) exit 1 ;;
  *) exec {cxx} -I{root}/include "$@" -L{root}/lib -lmpi_of_a_test ;;
esac
"""
MPI_HEADER = """#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_MAX_LIBRARY_VERSION_STRING 256
extern "C" int MPI_Init(int*, char***);
extern "C" int MPI_Init_thread(int*, char***, int, int*);
extern "C" int MPI_Finalize();
extern "C" int MPI_Get_library_version(char*, int*);
"""
MPI_SOURCE = MPI_HEADER + """
int MPI_Init(int*, char***) { return 0; }
int MPI_Init_thread(int*, char***, int, int*) { return 0; }
int MPI_Finalize() { return 0; }
int MPI_Get_library_version(char*, int*) { return 0; }
"""


def mpi(scratch):
    root, build = os.path.join(scratch, "root"), os.path.join(scratch, "build")
    tools = os.path.join(scratch, "tools")
    for name in ("mpicxx", "mpic++", "mpiCC", "mpicc"):
        write(f"{tools}/{name}", WRAPPER.format(root=root, cxx=CXX), executable=True)
    write(f"{tools}/mpiexec", "#!/bin/sh\n", executable=True)
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    # Debian's openmpi-bin and libopenmpi3 without libopenmpi-dev.
    os.makedirs(f"{root}/lib")
    missing = f"its headers are missing, there is no {root}/include"
    offered("MPI", "wrappers whose folder of headers is not there", build, why=missing + ".*libopenmpi-dev", **path)
    insisted("MPI", "wrappers whose folder of headers is not there", build, why="its headers are missing", **path)
    os.makedirs(f"{root}/include")
    offered("MPI", "an empty folder of headers", build, why=r"no MPI was found|mpi\.h", **path)
    write(f"{root}/include/mpi.h", MPI_HEADER)
    offered("MPI", "headers without a library", build, why="no MPI was found|cannot", **path)
    library(f"{root}/lib/libmpi_of_a_test.so", MPI_SOURCE)
    offered("MPI", "all of it", build, **path)
    built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
    check(built.returncode == 0, f"MPI was found and cannot be used:\n{built.stdout}")
    shutil.rmtree(f"{root}/include")
    offered("MPI", "headers that have been removed since", build, why=missing, **path)
    for name in os.listdir(tools):
        write(f"{tools}/{name}", "#!/bin/sh\necho broken >&2\nexit 1\n", executable=True)
    offered("MPI", "wrappers that fail", build, "-DMPI_CXX_COMPILER=" + f"{tools}/mpicxx", why="no MPI was found|mpi", **path)


UCX = """Name: ucx
Description: Unified Communication X
Version: {version}
Libs: -L{root}/lib -lucp_of_a_test
Cflags: -I{root}/include
"""
UCX_HEADER = """struct ucp_config_t;
enum ucs_status_t { UCS_OK };
extern "C" void ucp_get_version(unsigned*, unsigned*, unsigned*);
extern "C" ucs_status_t ucp_config_read(const char*, const char*, ucp_config_t**);
"""
UCX_SOURCE = UCX_HEADER + """
void ucp_get_version(unsigned*, unsigned*, unsigned*) {}
ucs_status_t ucp_config_read(const char*, const char*, ucp_config_t**) { return UCS_OK; }
"""


def ucx(scratch):
    if not shutil.which("pkg-config"):
        return
    root, build = os.path.join(scratch, "root"), os.path.join(scratch, "build")
    pkg = {"PKG_CONFIG_LIBDIR": os.path.join(scratch, "pkg")}
    os.makedirs(pkg["PKG_CONFIG_LIBDIR"])
    offered("UCX", "none", build, why="pkg-config knows no UCX.*libucx-dev", **pkg)
    insisted("UCX", "none", build, why="pkg-config knows no UCX", **pkg)
    write(f"{scratch}/pkg/ucx.pc", UCX.format(version="1.9.0", root=root))
    offered("UCX", "an old one", build, why="1.10", **pkg)
    write(f"{scratch}/pkg/ucx.pc", UCX.format(version="1.15.0", root=root))
    offered("UCX", "a ucx.pc whose folders are not there", build, why="libucx-dev", **pkg)
    os.makedirs(f"{root}/include")
    os.makedirs(f"{root}/lib")
    offered("UCX", "a ucx.pc without headers", build, why="libucx-dev", **pkg)
    write(f"{root}/include/ucp/api/ucp.h", UCX_HEADER)
    offered("UCX", "headers without a library", build, why="libucx-dev", **pkg)
    library(f"{root}/lib/libucp_of_a_test.so", UCX_SOURCE)
    offered("UCX", "all of it", build, **pkg)
    built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
    check(built.returncode == 0, f"UCX was found and cannot be used:\n{built.stdout}")
    os.remove(f"{root}/lib/libucp_of_a_test.so")
    offered("UCX", "a library that has been removed since", build, why="libucx-dev", **pkg)
    offered("UCX", "no pkg-config", build, "-DPKG_CONFIG_EXECUTABLE=/nonexistent/pkg-config", why="pkg-config", **pkg)


def cuda(scratch):
    build, nvcc = os.path.join(scratch, "build"), os.path.join(scratch, "bin", "nvcc")
    toolkit = "install the CUDA toolkit, 12 or later"
    named = f"-DCMAKE_CUDA_COMPILER={nvcc}"
    offered("CUDA", "a compiler that is not there", f"{scratch}/none", named, why=f"{nvcc}.*{toolkit}")
    write(nvcc, "#!/bin/sh\necho nvcc is broken >&2\nexit 1\n", executable=True)
    offered("CUDA", "a compiler that fails", f"{scratch}/named", named, why=f"{nvcc}.*{toolkit}")
    insisted("CUDA", "a compiler that fails", f"{scratch}/named", named, why=toolkit)
    offered("CUDA", "a compiler that fails, in CUDACXX", build, CUDACXX=nvcc, why=f"{nvcc}.*{toolkit}")
    # On PATH, too, where no other toolkit is; else the other is taken, in the same build folder.
    path = {"PATH": f"{os.path.dirname(nvcc)}:{os.environ['PATH']}"}
    if os.path.exists("/usr/local/cuda/bin/nvcc"):
        offered("CUDA", "a compiler that fails on PATH, and another", build, **path)
        offered("CUDA", "the same again", build, **path)
        built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
        check(built.returncode == 0, f"CUDA was found and cannot be used:\n{built.stdout}")
        offered("CUDA", "an architecture that is given", build, "-DCMAKE_CUDA_ARCHITECTURES=90-real", **path)
        for again in ("the same folder again", "a third time"):
            offered("CUDA", again, build, **path)
            with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
                kept = re.findall("^CMAKE_CUDA_ARCHITECTURES:.*=(.*)", cache.read(), re.M)
            check(kept == ["90-real"], f"CUDA, {again}: the architecture that was given became {kept}")
    else:
        offered("CUDA", "a compiler that fails on PATH", build, why=f"{nvcc}.*{toolkit}", **path)


# Headers alone decide: what the program calls is found when it runs.
def opencl(scratch):
    build, needs = os.path.join(scratch, "build"), "install OpenCL's headers"
    old = f"-DOPENCL_INCLUDE={scratch}/old"
    write(f"{scratch}/old/CL/cl.h", "typedef int cl_int;\n")
    write(f"{scratch}/old/CL/cl_ext.h", "\n")
    offered("OPENCL", "headers of an old version", build, old, why=f"cannot be compiled with it.*{needs}")
    insisted("OPENCL", "headers of an old version", build, old, why=needs)
    if os.path.exists("/usr/include/CL/cl_ext.h"):
        offered("OPENCL", "headers of this machine, in the same folder", build, "-UOPENCL_INCLUDE")
        built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
        check(built.returncode == 0, f"OpenCL was found and cannot be used:\n{built.stdout}")


for one in (mpi, ucx, cuda, opencl):
    with tempfile.TemporaryDirectory() as scratch:
        one(os.path.realpath(scratch))
print("\n".join(failures))
sys.exit(bool(failures))
