"""What PyTorch's DistributedDataParallel over Gloo adds to an iteration: the twin of bench/training_cost.cpp, with the same
encoder, options and output. Started by `lockstep run`, whose variables are torchrun's, with the same binding and threads."""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--sequence", type=int, default=32)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--mode", choices=["both", "alone", "wrapped"], default="both")
    return parser.parse_args()


def mebibytes(file, name):
    """Of a file under /proc/self: what stands beside `name`, in MiB."""
    for line in open(f"/proc/self/{file}"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/{file} says nothing of {name}.")


def peak_mib():
    """The most memory that this process ever held; of what it shares with other ranks, its share."""
    return mebibytes("status", "VmHWM") - mebibytes("status", "RssShmem") + mebibytes("smaps_rollup", "Pss_Shmem")


def make_encoder(options):
    torch.manual_seed(1)
    return torch.nn.Sequential(
        *(
            torch.nn.TransformerEncoderLayer(options.width, options.heads, 4 * options.width, dropout=0.0)
            for _ in range(options.layers)
        )
    )


class Training:
    """A model with its optimizer."""

    def __init__(self, options, wrap):
        module = make_encoder(options)
        self.parameters = sum(p.numel() for p in module.parameters())
        self.model = wrap(module)
        self.optimizer = torch.optim.SGD(module.parameters(), 1e-3)
        self.input = torch.randn(options.sequence, options.batch, options.width)

    def iterate(self):
        """Milliseconds of an iteration, and of its backward."""
        start = time.perf_counter()
        # In place, as libtorch's: a gradient that lives in a bucket stays there.
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model(self.input).square().mean()
        before_backward = time.perf_counter()
        loss.backward()
        backward = time.perf_counter() - before_backward
        self.optimizer.step()
        return 1000 * (time.perf_counter() - start), 1000 * backward


def slowest(times):
    values = torch.tensor(times, dtype=torch.float64)
    if dist.get_world_size() > 1:
        dist.all_reduce(values, dist.ReduceOp.MAX)
    return values.tolist()


def main():
    options = parse_options()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    kinds = {}
    if options.mode != "wrapped":
        kinds["alone"] = Training(options, lambda module: module)
    if options.mode != "alone":
        kinds["together"] = Training(options, lambda m: DistributedDataParallel(m, gradient_as_bucket_view=True))
    result = {name + suffix: [] for name in kinds for suffix in ("_ms", "_backward_ms")}
    for i in range(-options.warm_up, options.iterations):
        for name in kinds if i % 2 == 0 else reversed(list(kinds)):
            dist.barrier()
            iteration, backward = slowest(kinds[name].iterate())
            if i >= 0:
                result[name + "_ms"].append(iteration)
                result[name + "_backward_ms"].append(backward)
    result["peak_mib"] = slowest([peak_mib()])[0]
    result["library"] = "PyTorch DDP"
    result["libtorch"] = torch.__version__
    result["world_size"] = dist.get_world_size()
    result["parameters"] = next(iter(kinds.values())).parameters
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    dist.barrier()
    os._exit(0)  # tearing Gloo's connections down hangs at times in PyTorch 1.13


if __name__ == "__main__":
    main()
