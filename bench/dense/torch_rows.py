#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MAGMA's symmetric indefinite factorization and LU, where the PyTorch of this machine carries MAGMA: rows for
bench/dense_whole.py.

    bench/dense/torch_rows.py [--out rows.jsonl] [--sizes 1024,2048] [--repeat 3]

torch.linalg.ldl_factor and lu_factor on the GPU with MAGMA as the preferred library; without MAGMA a row says so and nothing
is timed."""
import argparse, json, time

import torch


def main():
    at = argparse.ArgumentParser()
    at.add_argument("--out")
    at.add_argument("--sizes", default="1024,2048,4096,8192,16384")
    at.add_argument("--repeat", type=int, default=3)
    o = at.parse_args()
    out = open(o.out, "a") if o.out else None

    def keep(row):
        print(row, flush=True)
        if out:
            out.write(json.dumps(row) + "\n")
            out.flush()
    keep({"row": "magma", "torch": torch.__version__, "has": bool(torch.cuda.is_available() and torch.cuda.has_magma)})
    if not (torch.cuda.is_available() and torch.cuda.has_magma):
        return
    torch.backends.cuda.preferred_linalg_library("magma")
    for n in map(int, o.sizes.split(",")):
        generator = torch.Generator(device="cuda").manual_seed(1)
        a = torch.rand(n, n, dtype=torch.float64, device="cuda", generator=generator) * 2 - 1
        a = torch.tril(a) + torch.tril(a, -1).T
        b = torch.rand(n, 1, dtype=torch.float64, device="cuda", generator=generator)
        for method, factor, solve in (("sytrf", torch.linalg.ldl_factor, lambda f: torch.linalg.ldl_solve(f[0], f[1], b)),
                                      ("getrf", torch.linalg.lu_factor, lambda f: torch.linalg.lu_solve(f[0], f[1], b))):
            least = float("inf")
            try:
                for k in range(o.repeat + 1):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    f = factor(a)
                    torch.cuda.synchronize()
                    if k:
                        least = min(least, time.perf_counter() - start)
                x = solve(f)
                omega = float(((b - a @ x).abs() / (a.abs() @ x.abs() + b.abs())).max())
            except RuntimeError as error:
                keep({"row": "magma", "method": method, "n": n, "error": str(error)[:200]})
                continue
            keep({"row": "time", "letter": "d", "hermitian": 0, "method": f"magma-{method}", "n": n, "time_s": least,
                  "tflops": (2 if method == "getrf" else 1) * n ** 3 / 3 / least * 1e-12, "omega": omega, "omega_refined": None})


main()
