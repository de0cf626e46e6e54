#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""borgc's kernels through OpenCL on a GPU (or whatever OpenCL finds): are their bits the interpreter's, and what do they take.

    bench/borg_opencl.py [--build build] [--kernels gema,...] [--sizes 4,8,16] [--count 100000] [--seconds 240] [--report FILE.md]

Each kernel in single precision in three builds: as emitted (quotients and roots of floats by way of double), -D BORG_FAST_FLOAT (as the
build rounds them), and that with -cl-fp32-correctly-rounded-divide-sqrt; in double as emitted. 11 work-groups are compared with
`borgc --interpret`, all NaN being equal, then COUNT are timed by events, the least of 5. NVIDIA's libnvidia-opencl.so.1 where it is
there, else what libOpenCL.so.1 finds first. Needs numpy."""
import argparse, ctypes, os, re, subprocess, sys, time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = ["gema", "gemm", "gemm_ab", "gemm_adb", "trsv", "trsm", "ldus", "pade", "enum", "frcg", "ldlt", "ldlt_static", "ldlt_partial", "ldlt_rook",
           "ldlt_complete", "ldlt_solve", "llt", "llt_complete", "ldu", "ldu_static", "ldu_partial", "ldu_rook", "ldu_complete", "invert_diagonal", "invert_triangle"]
GROUPS = 11
BUILDS = {"single": "", "single, fast": "-D BORG_FAST_FLOAT", "single, fast, rounded": "-D BORG_FAST_FLOAT -cl-fp32-correctly-rounded-divide-sqrt", "double": ""}
# places in the ICD's table of functions (CL/cl_icd.h)
TABLE = {"clGetDeviceIDs": 2, "clGetDeviceInfo": 3, "clCreateContext": 4, "clCreateCommandQueue": 9, "clCreateBuffer": 14, "clReleaseMemObject": 18,
         "clCreateProgramWithSource": 26, "clReleaseProgram": 29, "clBuildProgram": 30, "clGetProgramBuildInfo": 33, "clCreateKernel": 34, "clReleaseKernel": 37,
         "clSetKernelArg": 38, "clGetEventProfilingInfo": 45, "clFinish": 47, "clEnqueueReadBuffer": 48, "clEnqueueWriteBuffer": 49, "clEnqueueNDRangeKernel": 59}
POINTERS = ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clCreateProgramWithSource", "clCreateKernel")
P = ctypes.c_void_p


class OpenCL:
    """The first GPU, else the first device."""

    def __init__(self):
        self.platform = P()
        find = self.nvidia() or self.any()
        if not find:
            sys.exit("no OpenCL on this machine")
        self.of = {}
        for name in TABLE:
            self.of[name] = find(name)
            self.of[name].restype = P if name in POINTERS else ctypes.c_int
        self.device, rc = P(), ctypes.c_int()
        for kind in (4, 0xFFFFFFFF):
            if self.call("clGetDeviceIDs", self.platform, ctypes.c_ulong(kind), 1, ctypes.byref(self.device), None) == 0:
                break
        self.context = P(self.call("clCreateContext", None, 1, ctypes.byref(self.device), None, None, ctypes.byref(rc)))
        self.queue = P(self.call("clCreateCommandQueue", self.context, self.device, ctypes.c_ulong(2), ctypes.byref(rc)))
        text = ctypes.create_string_buffer(256)
        self.call("clGetDeviceInfo", self.device, 0x102B, ctypes.c_size_t(256), text, None)
        self.name = text.value.decode()
        config = ctypes.c_ulong()
        self.call("clGetDeviceInfo", self.device, 0x101B, ctypes.c_size_t(8), ctypes.byref(config), None)
        self.config = config.value  # 1: denormals, 32: fma, 128: correctly rounded division and root

    def nvidia(self):
        """NVIDIA's library itself, by its table of functions: a loader may know others alone. None where it is not there."""
        try:
            lib, self.where = ctypes.CDLL("libnvidia-opencl.so.1"), "libnvidia-opencl.so.1"
        except OSError:
            return None
        lib.clGetExtensionFunctionAddress.restype = P
        ids = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, P, P)(lib.clGetExtensionFunctionAddress(b"clIcdGetPlatformIDsKHR"))
        if ids(1, ctypes.byref(self.platform), None) or not self.platform:
            return None
        table = ctypes.cast(ctypes.cast(self.platform, ctypes.POINTER(P))[0], ctypes.POINTER(P))
        return lambda name: ctypes.CFUNCTYPE(P if name in POINTERS else ctypes.c_int)(table[TABLE[name]])

    def any(self):
        """What the loader finds first."""
        try:
            lib, self.where = ctypes.CDLL("libOpenCL.so.1"), "libOpenCL.so.1"
        except OSError:
            return None
        lib.clGetPlatformIDs(1, ctypes.byref(self.platform), ctypes.byref(ctypes.c_uint()))
        return (lambda name: getattr(lib, name)) if self.platform else None

    def call(self, name, *args):
        return self.of[name](*args)

    def run(self, text, name, options, args, groups, times):
        """Arrays of args are replaced by what the kernel leaves; the least time in ms; a message where something fails."""
        launch = re.search(r"borg-launch: threads=(\d+) groups=(\d+)", text)
        rc, made = ctypes.c_int(), []
        source = ctypes.c_char_p(text.encode())
        program = P(self.call("clCreateProgramWithSource", self.context, 1, ctypes.byref(source), None, ctypes.byref(rc)))
        if self.call("clBuildProgram", program, 1, ctypes.byref(self.device), ("-w -cl-std=CL1.2 " + options).encode(), None, None):
            log = ctypes.create_string_buffer(4096)
            self.call("clGetProgramBuildInfo", program, self.device, 0x1183, ctypes.c_size_t(4096), log, None)
            return None, "does not build: " + log.value.decode()[:200]
        kernel = P(self.call("clCreateKernel", program, name.encode(), ctypes.byref(rc)))
        if not kernel:
            return None, f"no kernel '{name}'"
        all_args = list(args) + [np.int64(0), np.int64(groups)]
        for i, x in enumerate(all_args):
            if isinstance(x, np.ndarray):
                buffer = P(self.call("clCreateBuffer", self.context, ctypes.c_ulong(1 | 32), ctypes.c_size_t(x.nbytes), P(x.ctypes.data), ctypes.byref(rc)))
                made.append((x, buffer))
                self.call("clSetKernelArg", kernel, i, ctypes.c_size_t(8), ctypes.byref(buffer))
            else:
                one = np.array(x)
                self.call("clSetKernelArg", kernel, i, ctypes.c_size_t(one.nbytes), P(one.ctypes.data))
        local = ctypes.c_size_t(int(launch[1]))
        size = ctypes.c_size_t(-(-groups // int(launch[2])) * int(launch[1]))
        least = None
        for k in range(times):
            event = P()
            failed = self.call("clEnqueueNDRangeKernel", self.queue, kernel, 1, None, ctypes.byref(size), ctypes.byref(local), 0, None, ctypes.byref(event))
            if failed or self.call("clFinish", self.queue):
                return None, f"does not run ({failed})"
            begin, end = ctypes.c_ulong(), ctypes.c_ulong()
            self.call("clGetEventProfilingInfo", event, 0x1282, ctypes.c_size_t(8), ctypes.byref(begin), None)
            self.call("clGetEventProfilingInfo", event, 0x1283, ctypes.c_size_t(8), ctypes.byref(end), None)
            took = (end.value - begin.value) * 1e-6
            least = took if least is None else min(least, took)
        for x, buffer in made:
            self.call("clEnqueueReadBuffer", self.queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(x.nbytes), P(x.ctypes.data), 0, None, None)
            self.call("clReleaseMemObject", buffer)
        self.call("clReleaseKernel", kernel)
        self.call("clReleaseProgram", program)
        return least, None


def borgc(o, kernel, n, build, *more, given=None):
    done = subprocess.run([f"{o.build}/borgc", "-D", f"WG_SIZE={n}", *(["-D", "SINGLE"] if build.startswith("single") else []), *more, f"{ROOT}/src/kernels/cl/{kernel}.cl"],
                          capture_output=True, text=True, input=given)
    if done.returncode:
        raise RuntimeError(done.stderr[:300])
    return done.stdout


def arguments(head, n, groups):
    """Of the kernel's parameters: arrays of noise with a strong diagonal, orders and distances."""
    kinds = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "i64": np.int64, "u.i32": np.int32, "u.i64": np.int64}
    made, noise = [], np.random.default_rng(17 * n)
    for kind, name in re.findall(r"((?:ptr<[^>]*>|u\.i\d+|[if]\d+)(?: readonly| restrict)*) @(\w+)", head):
        kind = kind.split()[0]
        if kind.startswith("ptr"):
            t = kinds[re.search(r"<(?:ptr<)?([^>]*)", kind)[1]]
            x = noise.uniform(-1, 1, (groups + 2) * (n * n + 10 * n + 4))
            if np.issubdtype(t, np.integer):
                x = np.arange(x.size) % n
            else:
                x[:groups * n * n:1].reshape(groups, n * n)[:, ::n + 1] += n + 1
            made.append(np.ascontiguousarray(x.astype(t)))
        else:
            t = kinds[kind]
            made.append(t(1e-12) if kind == "f64" else t(1e-6) if kind == "f32" else t(n if kind.endswith("32") else n * n))
            if name == "nrhs":
                made[-1] = t(1 if n < 3 else 3)
            if name == "total":
                made[-1] = t(n * groups)
    return made


def word(x):
    return float(x).hex() if isinstance(x, np.floating) else str(int(x))


def wanted(o, kernel, n, build, args):
    text = [str(GROUPS)]
    for x in args:
        text.append(f"{x.size} " + " ".join(map(word, x)) if isinstance(x, np.ndarray) else word(x))
    out = borgc(o, kernel, n, build, "--strict", "--emit=opencl", "--interpret", given="\n".join(text))
    result = []
    for line in out.splitlines():
        words = line.split()[2:]
        result.append([float.fromhex(w) if "x" in w or "n" in w else float(w) for w in words])
    return result


def same(args, want):
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    for x, y in zip(arrays, want):
        y = np.array(y).astype(x.dtype)
        if np.issubdtype(x.dtype, np.floating):
            bits = x.view(np.int32 if x.dtype == np.float32 else np.int64) == y.view(np.int32 if x.dtype == np.float32 else np.int64)
            bits |= np.isnan(x) & np.isnan(y)
        else:
            bits = x == y
        if not bits.all():
            return False
    return True


def row(o, cl, kernel, n, build):
    head = borgc(o, kernel, n, build, "--strict").splitlines()[0]
    strict = borgc(o, kernel, n, build, "--strict", "--emit=opencl")
    args = arguments(head, n, GROUPS)
    want = wanted(o, kernel, n, build, args)
    name = re.match(r"kernel @(\w+)", head)[1]
    _, failed = cl.run(strict, name, BUILDS[build], args, GROUPS, 1)
    if failed:
        return failed, None
    verdict = "same" if same(args, want) else "other"
    took, failed = cl.run(borgc(o, kernel, n, build, "--emit=opencl"), name, BUILDS[build], arguments(head, n, o.count), o.count, 5) if o.count else (None, None)
    return verdict if not failed else failed, took


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--kernels", default=",".join(KERNELS))
    p.add_argument("--sizes", default="4,8,16")
    p.add_argument("--count", type=int, default=100000)
    p.add_argument("--seconds", type=float, default=240, help="rows that begin later than this are left out")
    p.add_argument("--report")
    o = p.parse_args()
    cl, begun, out, tally = OpenCL(), time.monotonic(), [], {}
    out += [f"`bench/borg_opencl.py --sizes {o.sizes} --count {o.count}`: {cl.name} by {cl.where}; CL_DEVICE_SINGLE_FP_CONFIG {cl.config} (denormals "
            f"{'kept' if cl.config & 1 else 'lost'}, FMA {'there' if cl.config & 32 else 'not there'}, correctly rounded division and root {'there' if cl.config & 128 else 'not there'}). "
            f"Bits of {GROUPS} work-groups beside the interpreter's, strict; ms for {o.count} as emitted by itself.", "",
            "| kernel | n | " + " | ".join(BUILDS) + " |", "|" + "---|" * (2 + len(BUILDS))]
    print("\n".join(out), flush=True)
    for n in map(int, o.sizes.split(",")):
        for kernel in o.kernels.split(","):
            cells = []
            for build in BUILDS:
                if time.monotonic() - begun > o.seconds:
                    cells.append("")
                    continue
                try:
                    verdict, took = row(o, cl, kernel, n, build)
                except Exception as error:  # one row must not end the run
                    verdict, took = f"failed: {str(error)[:80]}".replace("|", " ").replace("\n", " "), None
                tally.setdefault(build, []).append(verdict == "same")
                cells.append(verdict if took is None else f"{verdict}, {took:.4f}")
            out.append(f"| {kernel} | {n} | " + " | ".join(cells) + " |")
            print(out[-1], flush=True)
    out += ["", "Same bits: " + ", ".join(f"{build} {sum(x)} of {len(x)}" for build, x in tally.items()) + "."]
    print("\n".join(out[-2:]), flush=True)
    if o.report:
        sys.path.insert(0, f"{ROOT}/bench")
        from page import put_section
        put_section(o.report, "OpenCL on a GPU", "\n".join(out + [""]))


if __name__ == "__main__":
    main()
