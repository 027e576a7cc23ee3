"""A training loop to be recorded, in PyTorch: a small network, and batches of 64 MiB that come from the host. Words change
it as npgpu predict advises: "pinned" memory; "ahead": the next batch is copied beside this one's kernels; a "graph" in place
of the launches. Needs no npgpu; docs/record.md goes through it.

    python3 train.py; python3 train.py pinned; python3 train.py pinned ahead; python3 train.py pinned ahead graph
    python3 train.py pinned profile    # writes trace.json, for npgpu record --import
"""
import sys
import time

import torch

words = sys.argv[1:]
size, steps = 4096, 40
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(size, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU(),
                          torch.nn.Linear(2048, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
loss_of = torch.nn.CrossEntropyLoss()
labels = torch.randint(0, 10, (size,), device="cuda")
batches = [torch.randn(size, size) for _ in range(4)]
if "pinned" in words:
    batches = [batch.pin_memory() for batch in batches]
inputs = [torch.empty(size, size, device="cuda") for _ in range(2)]
side = torch.cuda.Stream()
came, used = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))


def work(batch):
    optimizer.zero_grad(set_to_none=False)
    loss_of(net(batch), labels).backward()
    optimizer.step()


graph = None
if "graph" in words:
    fixed = torch.empty(size, size, device="cuda")  # a graph's buffers are always the same
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # warm up before the capture
            work(fixed)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(fixed)


def learn(batch):
    if graph is None:
        work(batch)
    else:
        fixed.copy_(batch, non_blocking=True)
        graph.replay()


def fetch(i):
    """Into the buffer that the step before this one does not read."""
    with torch.cuda.stream(side):
        side.wait_event(used[i % 2])
        inputs[i % 2].copy_(batches[i % 4], non_blocking=True)
        came[i % 2].record(side)


def run(count):
    if "ahead" in words:
        fetch(0)
    for i in range(count):
        if "ahead" in words:
            fetch(i + 1)
            torch.cuda.current_stream().wait_event(came[i % 2])
            learn(inputs[i % 2])
            used[i % 2].record()
        else:
            inputs[0].copy_(batches[i % 4], non_blocking="pinned" in words)
            learn(inputs[0])
        torch.cuda.synchronize()


run(10)  # warms up
if "profile" in words:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        run(steps)
    profile.export_chrome_trace("trace.json")
else:
    begin = time.perf_counter()
    run(steps)
    print(f"{1e3 * (time.perf_counter() - begin) / steps:.3f} ms a step")
