"""What new-op.py and new-pass.py share: edits of files that either happen in full or not at all."""
import importlib.util
import os
import pathlib
import re
import sys

from tally import ROOT


def require(package):
    """Starts the program again with the Python of .venv, where utils/setup.sh puts packages, if it lacks this one."""
    if importlib.util.find_spec(package):
        return
    python = ROOT / ".venv/bin/python"
    if pathlib.Path(sys.prefix).resolve() == (ROOT / ".venv").resolve() or not python.is_file():
        sys.exit(f"the {package} package is not there: run utils/setup.sh first")
    os.execv(python, [str(python), *sys.argv])


def kebab(name):
    """FuseConvBias -> fuse-conv-bias, ConvertToLLVM -> convert-to-llvm."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def snake(name):
    """spatialScale -> spatial_scale, X -> x."""
    return kebab(name).replace("-", "_")


class Edits:
    """Collects new and changed files and writes them at the end."""

    def __init__(self):
        self.files = {}

    def text(self, path):
        """Returns a file's text with the edits so far."""
        if path not in self.files:
            if not (ROOT / path).is_file():
                sys.exit(f"{path} is not there")
            self.files[path] = (ROOT / path).read_text()
        return self.files[path]

    def create(self, path, text):
        if (ROOT / path).exists():
            sys.exit(f"{path} is there already")
        self.files[path] = text

    def insert(self, path, pattern, text, after=False):
        """Inserts text before (or after) the last match of a pattern."""
        old = self.text(path)
        matches = list(re.finditer(pattern, old, re.M))
        if not matches:
            sys.exit(f"{path}: no place found for an insertion (looked for {pattern!r})")
        where = matches[-1].end() if after else matches[-1].start()
        self.files[path] = old[:where] + text + old[where:]

    def add_source(self, path, source):
        """Adds a source to the sorted list of a CMakeLists.txt."""
        lines = self.text(path).splitlines(keepends=True)
        listed = [i for i, l in enumerate(lines) if re.fullmatch(r"\s+\w+\.cpp\s*", l)]
        if not listed:
            sys.exit(f"{path}: no list of sources found")
        place = next((i for i in listed if lines[i].strip() > source), listed[-1] + 1)
        lines.insert(place, f"  {source}\n")
        self.files[path] = "".join(lines)

    def write(self):
        for path, text in self.files.items():
            target = ROOT / path
            kind = "changed" if target.exists() else "created"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            print(f"{kind}  {path}")


def banner(title, kind):
    """The first line of a file of ours, 80 columns wide."""
    left, right = f"//===- {title} ", f" {kind}===//" if kind else "===//"
    return left + "-" * max(1, 80 - len(left) - len(right)) + right
