"""What the test and benchmark programs share: run a tool under limits, compare values, count.

A tool is given a time and a memory limit and its own session, so that nothing it starts outlives it.
Values are compared as the ONNX suite does (count, shape, element type, |got - want| <= atol + rtol |want|),
and the largest distance in units in the last place is told beside.
"""
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from tally import ROOT, Tally  # noqa: F401: tests ask this module for them

GIB = 1 << 30


def add_build_argument(parser):
    """Adds --build, the folder that holds bin/onnx-aot-compile and bin/onnx-aot-run."""
    default = ROOT / "build" / os.environ.get("ONNX_AOT_PRESET", "release")
    parser.add_argument("--build", type=pathlib.Path, default=default, help="build folder (default: %(default)s)")


def add_device_argument(parser):
    """Adds --device, which parse_arguments turns into flags."""
    parser.add_argument("--device", choices=["cpu", "emu"], default="cpu", help="emu: kernels for a GPU, emulated")


def parse_arguments(parser):
    """Parses the command line; what follows a "--" goes to onnx-aot-compile, as `flags`."""
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser.epilog = "Flags of onnx-aot-compile may follow after --."
    options = parser.parse_args(arguments[:cut])
    options.flags = arguments[cut + 1:]
    if getattr(options, "device", "cpu") == "emu":
        options.flags = [*emulate_device(options.build), *options.flags]
    return options


def emulate_device(build):
    """Makes modules for a GPU run in the emulator; returns the flags that compile them for it."""
    path = pathlib.Path(build).resolve() / "lib" / "libonnx-aot-emulator.so"
    if not path.is_file():
        sys.exit(f"{path} is not there: build the target onnx-aot-emulator first")
    os.environ["ONNX_AOT_CUDA_DRIVER"] = str(path)
    return ["--device=cuda", "--gpu-arch=emu"]


def tool(build, name):
    """Returns the path of a tool of the build folder, or ends the program when it is not there."""
    path = pathlib.Path(build).resolve() / "bin" / name
    if not path.is_file():
        sys.exit(f"{path} is not there: build first (utils/setup.sh --build-only), or give --build")
    return str(path)


# ---- Running ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """How one process ended. `status` is negative for a signal and None when it ran out of time."""
    status: int
    out: str
    err: str
    seconds: float
    rss: int  # peak resident set in bytes

    def ending(self):
        """Says in words how the process ended."""
        if self.status is None:
            return f"no end after {self.seconds:.0f} s"
        if self.status < 0:
            return f"signal {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"

    def message(self):
        """Returns the first line of stderr that reports an error, else its last line."""
        lines = [l.strip() for l in self.err.splitlines() if l.strip()]
        errors = [l for l in lines if "error:" in l]
        return (errors or lines[-1:] or [""])[0][:400]


def peak_rss(pid):
    """Returns the peak resident set of a running process in bytes, 0 when it cannot be read any more.

    The figure that wait4 gives counts the moment before exec, when the child still was a copy of this program.
    """
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [l.split()[1] for l in status.splitlines() if l.startswith("VmHWM:")]
    return int(found[0]) * 1024 if found else 0


def run_limited(command, seconds=60, memory=8 * GIB, cwd=None, env=None):
    """Runs a command without input under a limit of wall time and of address space."""
    limited = ["prlimit", f"--as={memory}", "--core=0", "--"] if memory else []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin, rss, nap, code = time.monotonic(), 0, 0.001, None
        child = subprocess.Popen([*limited, *map(str, command)], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 cwd=cwd, env=env, start_new_session=True)
        while code is None:
            rss = max(rss, peak_rss(child.pid))
            time.sleep(nap)
            nap = min(nap * 1.3, 0.02)
            code = child.poll()
            if code is None and time.monotonic() - begin > seconds:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                break
        took = time.monotonic() - begin
        out.seek(0)
        err.seek(0)
        return Outcome(code, out.read().decode(errors="replace"), err.read().decode(errors="replace"), took, rss)


# ---- Comparing -------------------------------------------------------------------------------------

def is_float(dtype):
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def ordered(values):
    """Maps floats to integers so that neighbours differ by one and both zeros are 0."""
    bits = np.ascontiguousarray(values).view(f"i{values.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(np.iinfo(f"i{values.dtype.itemsize}").min)
    return np.where(bits < 0, lowest - bits, bits)


def max_ulp(got, want):
    """Returns the largest distance in units in the last place; NaN matches NaN."""
    if got.dtype.kind == "c":
        part = f"f{got.dtype.itemsize // 2}"
        got, want = (np.ascontiguousarray(v).view(part) for v in (got, want))
    if not got.size or not is_float(got.dtype):
        return 0 if np.array_equal(got, want) else int(np.iinfo(np.int64).max)
    both_nan = np.isnan(got) & np.isnan(want)
    a, b = ordered(got), ordered(want)
    # Of opposite signs the difference may pass the int64 range: floats hold it well enough.
    far = np.abs(a.astype(np.float64) - b.astype(np.float64))
    with np.errstate(over="ignore"):
        near = np.abs(a - b)
    distance = np.where(far < 2.0**52, near, far)
    return int(min(np.where(both_nan, 0, distance).max(), 2.0**62))


@dataclasses.dataclass
class Difference:
    """How far one output is from what is expected. `problem` is empty when it is close enough."""
    problem: str = ""
    max_abs: float = 0.0
    max_ulp: int = 0


def as_wanted(got, want):
    """Gives an array from a .npy file the element type that numpy lacks: raw bytes, or uint16 for bfloat16."""
    raw = got.dtype.kind == "V" and got.dtype.isbuiltin != 2 or got.dtype == np.uint16 and want.dtype.name == "bfloat16"
    if raw and want.dtype.isbuiltin == 2 and got.dtype.itemsize == want.dtype.itemsize:
        return got.view(want.dtype)
    return got


def savable(array):
    """Returns the array as np.savez can write it: strings of fixed width, numpy's missing types as raw bytes."""
    array = np.asarray(array)
    if array.dtype == object:
        texts = [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel()]
        return np.array(texts, dtype=np.str_).reshape(array.shape)
    if array.dtype.isbuiltin == 2:  # one of ml_dtypes: bfloat16, float8, int4 (a byte each)
        return np.ascontiguousarray(array).view(f"V{array.dtype.itemsize}").reshape(array.shape)
    return array


def compare(got, want, rtol=1e-3, atol=1e-7, scaled=False, scale=0.0):
    """Compares one output. With `scaled`, atol is a fraction of the largest finite |want|, or of `scale` if larger."""
    got, want = as_wanted(np.asarray(got), np.asarray(want)), np.asarray(want)
    if got.shape != want.shape:
        return Difference(f"shape {list(got.shape)}, expected {list(want.shape)}")
    if want.dtype.kind in "OUST":
        if got.dtype.kind not in "OUS":
            return Difference(f"element type {got.dtype}, expected strings")
        same = [str(v) for v in got.ravel()] == [v.decode() if isinstance(v, bytes) else str(v) for v in want.ravel()]
        return Difference("" if same else "strings differ")
    if got.dtype != want.dtype:
        return Difference(f"element type {got.dtype}, expected {want.dtype}")
    if not want.size:
        return Difference()
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    ulp = max_ulp(got, want)
    with np.errstate(invalid="ignore"):
        error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    if scaled:
        finite = np.abs(b[np.isfinite(b)])
        atol = atol * max(finite.max() if finite.size else 1.0, scale)
    largest = float(np.nan_to_num(error, nan=np.inf).max())
    with np.errstate(invalid="ignore"):
        bad = ~(error <= atol + rtol * np.abs(b)) & (error != 0)
    # An infinite expected value allows nothing but itself.
    bad |= (error != 0) & ~np.isfinite(b)
    if not bad.any():
        return Difference("", largest, ulp)
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    problem = f"{int(bad.sum())} of {bad.size} values differ, first at {list(where)}: got {got[where]}, " \
              f"expected {want[where]}, max abs {largest:.3g}, max ulp {ulp}"
    return Difference(problem, largest, ulp)


def compare_outputs(got, want, **how):
    """Compares outputs by name. `got` and `want` map names to arrays. Returns the worst difference."""
    missing = [name for name in want if name not in got]
    if missing or len(got) != len(want):
        return Difference(f"outputs {sorted(got)}, expected {sorted(want)}")
    worst = Difference()
    for name, value in want.items():
        one = compare(got[name], value, **how)
        if one.problem:
            return dataclasses.replace(one, problem=f"output '{name}': {one.problem}")
        worst = Difference("", max(worst.max_abs, one.max_abs), max(worst.max_ulp, one.max_ulp))
    return worst


# ---- Reporting -------------------------------------------------------------------------------------


class Progress:
    """One line on stderr, rewritten, when that is a terminal; otherwise nothing."""

    def __init__(self, total):
        self.total, self.done, self.lock = total, 0, threading.Lock()
        self.begin, self.shows = time.monotonic(), sys.stderr.isatty()

    def step(self, text):
        with self.lock:
            self.done += 1
            if self.shows:
                took = time.monotonic() - self.begin
                left = took / self.done * (self.total - self.done)
                sys.stderr.write(f"\r\033[K[{self.done}/{self.total}, {left:.0f} s left] {text[:90]}")
                if self.done == self.total:
                    sys.stderr.write("\r\033[K")
                sys.stderr.flush()
