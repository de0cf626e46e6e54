#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which kernels a factorization with the same pattern and a solve on a GPU consist of, as PyTorch's profiler sees them.

    METAPACK_CUDA_MODULE=build/libmetapack_cuda.so \\
        bench/cuda/profile.py [there] build/libmetapack.so FILE|"generate SPEC" key=value,...

Factorizes and solves A x = A 1 twice, the second time profiled. For each kernel: how often it ran, microseconds of one run
(median), milliseconds in all, its share of the time at work; for each call of CUDA that took the host 20 us or more in all, the
same of its time. First the rate of a copy in device memory, beside which that of a kernel counts. Then what each call takes without
the profiler (median of 15) less the time in which some kernel or copy runs: what is lost outside kernels; and what lies between
them as the profiler sees it. there: values and both vectors (real doubles) lie in device memory. Needs PyTorch with CUDA."""
import ctypes as c, statistics, sys, time

import torch
from torch.profiler import ProfilerActivity, profile


class View(c.Structure):  # mpk_problem_view
    _fields_ = [("n", c.c_int32), ("nnz", c.c_int64), ("scalar", c.c_int), ("symmetry", c.c_int), ("ap", c.c_void_p),
                ("ai", c.c_void_p), ("ax", c.c_void_p)]


def main():
    there = sys.argv[1:2] == ["there"]
    if there:
        del sys.argv[1]
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    lib = c.CDLL(sys.argv[1])
    lib.mpk_last_error.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.POINTER(c.c_char_p)]
    ctx, problem, an, fac = (c.c_void_p() for _ in range(4))
    options, info = c.create_string_buffer(1 << 14), c.create_string_buffer(1 << 12)

    def check(status, what):
        text = c.c_char_p()
        lib.mpk_last_error(ctx, None, None, c.byref(text))
        if status < 0:
            sys.exit(f"{what}: {(text.value or b'').decode()}")

    check(lib.mpk_context_create(None, c.byref(ctx)), "context")
    where = sys.argv[2].encode()
    if where.startswith(b"generate "):
        check(lib.mpk_problem_generate(ctx, where[9:], c.c_int64(1), c.byref(problem)), "matrix")
    else:
        check(lib.mpk_problem_read(ctx, where, c.byref(problem)), "matrix")
    lib.mpk_options_init(options)
    for word in [*filter(None, sys.argv[3].split(",")), "device=cuda"]:
        key, value = word.split("=")
        check(lib.mpk_options_set(ctx, options, key.encode(), value.encode()), word)
    check(lib.mpk_analyse(ctx, problem, options, c.byref(an)), "analysis")
    check(lib.mpk_factorize(ctx, an, None, options, c.byref(fac)), "factorization")
    view = View()
    lib.mpk_problem_view_get(problem, c.byref(view))
    n = view.n
    one, b, x = ((c.c_double * n)(*([1.0] * n)) for _ in range(3))
    check(lib.mpk_problem_multiply(ctx, problem, 1, one, c.c_int64(n), b, c.c_int64(n)), "product")

    values = None
    if there:
        def to_device(array):
            return torch.frombuffer(array, dtype=torch.float64).cuda()

        kept = [to_device((c.c_double * view.nnz).from_address(view.ax)), to_device(b), to_device(x)]
        values, b, x = (c.c_void_p(tensor.data_ptr()) for tensor in kept)

    def solve():
        check(lib.mpk_solve(ctx, fac, 1, b, c.c_int64(n), x, c.c_int64(n), options, info), "solve")

    def factorize():
        if there:
            check(lib.mpk_factorize_lower(ctx, an, values, options, c.byref(fac)), "factorization")
        else:
            check(lib.mpk_refactorize(ctx, None, options, fac), "factorization")

    print(f"{torch.cuda.get_device_name()}: copies at {copied():.0f} GB/s, read and written")
    for what, work in (("factorize", factorize), ("solve", solve)):
        alone = timed(work)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            begun = time.perf_counter()
            work()
            spent = time.perf_counter() - begun
        told(f"{sys.argv[2]}, {what}: n {n}, {1e3 * spent:.2f} ms", seen.events(), 1e6 * alone)


def timed(work):
    """Seconds of a call, the median of 15 after the first four."""
    times = []
    for _ in range(19):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times[4:])


def copied():
    """GB/s of a copy of a quarter of a GiB, the best of ten."""
    from_, to = (torch.zeros(1 << 28, dtype=torch.uint8, device="cuda") for _ in range(2))
    best = float("inf")
    for _ in range(10):
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begun.record()
        to.copy_(from_)
        ended.record()
        torch.cuda.synchronize()
        best = min(best, begun.elapsed_time(ended))
    return 2e-6 * from_.numel() / best


def told(what, events, alone):
    runs, calls, spans = {}, {}, []
    for event in events:
        there = event.device_type == torch.autograd.DeviceType.CUDA
        (runs if there else calls).setdefault(event.name, []).append(event.time_range.elapsed_us())
        if there:
            spans.append((event.time_range.start, event.time_range.end))
    spans.sort()
    whole = spans[-1][1] - spans[0][0] if spans else 0
    busy = sum(sum(times) for times in runs.values())
    print(f"{what}, {len(spans)} kernels and copies in {whole:.0f} us, at work {busy:.0f} us")
    some, end = 0, float("-inf")  # microseconds in which one of them runs, or several
    for begin, until in spans:
        some += max(0, until - max(begin, end))
        end = max(end, until)
    print(f"  without the profiler {alone:.0f} us, one at work {some:.0f}: {alone - some:.0f} us outside kernels; "
          f"with it {whole - some:.0f} us between them")
    for name, times in sorted(runs.items(), key=lambda item: -sum(item[1])):
        short = name.split("(")[0].replace("void ", "").replace("mpki::", "")
        print(f"  {short[:70]:70s} {len(times):6d} x {statistics.median(times):9.2f} us {1e-3 * sum(times):9.2f} ms "
              f"{100 * sum(times) / busy:6.1f} %")
    print("  the host, in calls of CUDA:")
    for name, times in sorted(calls.items(), key=lambda item: -sum(item[1])):
        if sum(times) >= 20:
            print(f"  {name[:70]:70s} {len(times):6d} x {statistics.median(times):9.2f} us {1e-3 * sum(times):9.2f} ms")


main()
