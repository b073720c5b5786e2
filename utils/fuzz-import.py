#!/usr/bin/env python3
"""Damage trained models in many ways and give them to the compiler: it must not crash, hang or say nothing.

usage: fuzz-import.py --models DIR [--build DIR] [--count N] [--seed N] [--keep DIR]

A variant is a model cut short, with bits flipped, with bytes zeroed, repeated or swapped. Each must either be
refused (exit status 1, an error on stderr, no output file) or compile: a flipped bit in a weight is a
valid model. Variants come from the seed alone. --keep stores those that failed.
"""
import argparse
import concurrent.futures
import pathlib
import random
import sys
import tempfile

import harness

# Small ones, so that two hundred variants take little time; of several exporters.
NAMES = ("ch_ppocr_mobile_v2.0_cls_infer.onnx", "nmp.onnx", "silero_vad_16k_op15.onnx", "silero_vad.onnx",
         "silero_vad_16k_sequence.onnx")


def cut(data, generator):
    return data[:generator.randrange(len(data))]


def flip(data, generator, count=1):
    """Flips bits, mostly where the structure is: in the first and last parts and near field tags."""
    data = bytearray(data)
    for _ in range(count):
        where = generator.choice((generator.randrange(min(4096, len(data))), generator.randrange(len(data)),
                                  len(data) - 1 - generator.randrange(min(4096, len(data)))))
        data[where] ^= 1 << generator.randrange(8)
    return bytes(data)


def flip_many(data, generator):
    return flip(data, generator, 64)


def zero(data, generator):
    start = generator.randrange(len(data))
    length = min(generator.choice((1, 8, 64, 1024)), len(data) - start)
    return data[:start] + bytes(length) + data[start + length:]


def repeat(data, generator):
    start = generator.randrange(len(data))
    return data[:start + 64] + data[start:start + 64] + data[start + 64:]


def remove(data, generator):
    start = generator.randrange(len(data))
    return data[:start] + data[start + generator.choice((1, 2, 16, 256)):]


def grow_number(data, generator):
    """Overwrites some bytes with a huge protobuf number: lengths and sizes far beyond the file."""
    start = generator.randrange(len(data))
    return data[:start] + b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + data[start + 9:]


DAMAGES = (cut, flip, flip_many, zero, repeat, remove, grow_number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="store the variants that failed there")
    harness.add_build_argument(parser)
    options = parser.parse_args()
    compiler = harness.tool(options.build, "onnx-aot-compile")
    originals = [(p.stem, p.read_bytes()) for name in NAMES for p in sorted(options.models.rglob(name))[:1]]
    if not originals:
        sys.exit(f"none of {', '.join(NAMES)} under {options.models} (utils/fetch-models.py)")
    tally, endings = harness.Tally(), {"refused": 0, "compiled": 0}

    def attack(number):
        generator = random.Random(f"{options.seed}/{number}")
        stem, data = originals[number % len(originals)]
        damage = DAMAGES[number // len(originals) % len(DAMAGES)]
        broken = damage(data, generator)
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            work = pathlib.Path(work)
            (work / "model.onnx").write_bytes(broken)
            done = harness.run_limited([compiler, work / "model.onnx", "-o", work / "model.so"], seconds=120)
            left = (work / "model.so").exists()
        if done.status == 0 and left:
            endings["compiled"] += 1
            problem = ""
        elif done.status == 1 and "error:" in done.err and not left:
            endings["refused"] += 1
            problem = ""
        else:
            problem = f"{done.ending()}{', left a file' if left else ''}: {done.err.strip()[-300:]}"
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{number}-{stem}-{damage.__name__}.onnx").write_bytes(broken)
        tally.check(f"{number} {stem} {damage.__name__}", problem, done.message())

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(attack, range(options.count)))
    print(", ".join(f"{n} {kind}" for kind, n in endings.items()))
    tally.finish()


if __name__ == "__main__":
    main()
