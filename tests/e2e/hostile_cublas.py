"""cuBLAS and cuBLASLt that refuse, fail, lie and answer what cannot be: no rate comes from them, and the user reads why.
On a GPU.

    hostile_cublas.py PROGRAM FAKE_CUBLAS
"""
import os
import sys

from npgpu_run import Checks, folder, run

check = Checks()
FAKE = sys.argv[2]

# How it answers, the type of the product, and what the user reads.
CASES = [("refuses", "fp32", "making a handle: status 1"),
         ("refuses", "fp16", "making a handle of cuBLASLt: status 1"),
         ("fails", "fp64", "a product of matrices: status 13"),
         ("fails", "fp16", "a product of matrices by cuBLASLt: status 13"),
         ("lies", "fp32", "wrong"),
         ("lies", "bf16", "wrong"),
         ("none", "fp16", "proposes no algorithm"),
         ("negative", "fp16", "proposes no algorithm"),
         ("greedy", "fp16", "workspace"),
         ("nameless", "fp32", "unknown version"),
         ("nameless", "fp16", "unknown version")]

gpus = run("info", "--json")
if '"cuda:0"' not in gpus.out:
    print("skipped: no GPU of CUDA")
    sys.exit(77)
with folder() as at:
    for answer, kind, why in CASES:
        done = run("probe", "gemm", "--device", "cuda:0", "--type", kind, "--shape", "square=256", "--rounds", "1",
                   "--output", os.path.join(at, f"{answer}-{kind}.h5"), timeout=120,
                   env={"NPGPU_CUBLAS": FAKE, "NPGPU_CUBLASLT": FAKE, "FAKE_CUBLAS": answer})
        text = done.out + done.err
        print(f"{answer} {kind}: {done.code}\n{text[-900:]}")
        check(done.code == 1 and why in text and "FLOP/s ±" not in text, f"{answer} {kind}: {done.code}")
check.finish()
