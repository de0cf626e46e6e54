#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Batched LU and Cholesky of PyTorch, by MAGMA where this PyTorch carries it, beside bench/batch/variants.c.

    bench/batch/magma.py [--counts 10000,100000] [--sizes 4,8,16,32] [--letters sd] [--out FILE.jsonl]

A row of JSON for each: milliseconds of torch.linalg.lu_factor_ex or cholesky_ex among eight calls in a row by events, which copy the
matrices first, and of such a copy alone. Says so, and ends well, where there is no PyTorch, no GPU or no MAGMA."""
import argparse, json

KINDS = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}


def least(torch, call, rounds=5, queue=8):
    best = None
    for turn in range(rounds + 1):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        for _ in range(queue):
            call()
        stop.record()
        torch.cuda.synchronize()
        ms = start.elapsed_time(stop) / queue
        if turn and (best is None or ms < best):
            best = ms
    return best


def main():
    at = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    at.add_argument("--counts", default="10000,100000")
    at.add_argument("--sizes", default="4,8,16,32")
    at.add_argument("--letters", default="sd")
    at.add_argument("--out", default="/dev/null")
    o = at.parse_args()
    try:
        import torch
    except ImportError:
        print("no PyTorch here")
        return
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return
    magma = bool(torch.cuda.has_magma)
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, MAGMA: {'yes' if magma else 'no'}")
    backends = ["cusolver"] + (["magma"] if magma else [])
    with open(o.out, "a", encoding="utf-8") as out:
        for backend in backends:
            torch.backends.cuda.preferred_linalg_library(backend)
            for count in map(int, o.counts.split(",")):
                for letter in o.letters:
                    for n in map(int, o.sizes.split(",")):
                        kind = getattr(torch, KINDS[letter])
                        a = torch.rand(count, n, n, dtype=kind, device="cuda").mT * 2 - 1
                        spd = (a + a.mH) / 2 + 2 * n * torch.eye(n, dtype=kind, device="cuda")
                        spd = spd.mT.contiguous().mT
                        for verb, call in (("ldu/partial", lambda: torch.linalg.lu_factor_ex(a)),
                                           ("llt/none", lambda: torch.linalg.cholesky_ex(spd))):
                            row = {"backend": backend, "torch": torch.__version__, "verb": verb, "letter": letter, "n": n, "count": count}
                            try:
                                row |= {"ms": least(torch, call), "copy_ms": least(torch, a.clone)}
                            except RuntimeError as error:  # one row must not end the others
                                row["error"] = str(error).splitlines()[0][:120]
                            print(json.dumps(row), file=out, flush=True)
                            print(f"{backend:9} {verb:12} {letter} {n:3} {count:7} {row.get('ms', float('nan')):9.5f} "
                                  f"copy {row.get('copy_ms', float('nan')):9.5f} {row.get('error', '')}", flush=True)
    torch.backends.cuda.preferred_linalg_library("default")


main()
