#!/usr/bin/env python3
"""Check the rules of the house that a machine can check; utils/test.sh runs this.

usage: check-style.py [--fix]
  --fix   format the C++ sources first

Each rule is a function below whose docstring is the rule; it yields one line for each place that breaks it.
Only files that git tracks, or would track, are looked at.
"""
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

from tally import ROOT, Tally

MAX_LINES = {".cpp": 700, ".h": 700, ".td": 700, ".c": 700, ".py": 700, ".mlir": 400}
CXX = (".cpp", ".h", ".c")

# Which of our own rooms each room may include. Keys are the first folders under include/onnx-aot or lib.
SEES = {
    "Support": {"Support", "abi"},
    "Dialect": {"Support", "Dialect"},
    "Import": {"Support", "Dialect", "Import"},
    "Transforms": {"Support", "Dialect", "Transforms"},
    "Autodiff": {"Support", "Dialect", "Autodiff"},
    "Optimizer": {"Support", "Dialect", "Optimizer"},
    "Training": {"Support", "Dialect", "Autodiff", "Optimizer", "Training"},
    "Conversion": {"Support", "Dialect", "Kernel", "Conversion", "abi"},
    "Kernel": {"Support", "Kernel"},
    "Codegen": {"Support", "Codegen", "Kernel", "abi"},
    "Emit": {"Support", "Emit", "abi"},
    "runtime": {"runtime", "abi"},
    "tools": {"Driver", "InitAll.h", "Support", "runtime", "abi"},
    # The one that shows the importer alone, for its tests.
    "onnx-aot-translate": {"Import", "Dialect", "InitAll.h"},
}

PROTOBUF = r"google/protobuf|onnx/(?!.*\.inc)"
LINALG = r"mlir/Dialect/(Linalg|Tensor|SCF|MemRef|Vector)/"
TARGETS = r"mlir/Dialect/(LLVMIR|GPU|NVGPU|X86Vector)/|mlir/Target/|llvm/(Target|MC|CodeGen)/|lld/"
# Which foreign headers a room may not include.
BANNED = {
    "Support": PROTOBUF,
    "Dialect": f"{PROTOBUF}|{TARGETS}|mlir/Dialect/(Linalg|MemRef)/",
    "Import": f"{LINALG}|{TARGETS}",
    "Transforms": f"{PROTOBUF}|{LINALG}|{TARGETS}",
    "Autodiff": f"{PROTOBUF}|{LINALG}|{TARGETS}",
    "Optimizer": f"{PROTOBUF}|{LINALG}|{TARGETS}",
    "Training": f"{PROTOBUF}|{LINALG}|{TARGETS}",
    "Conversion": f"{PROTOBUF}|{TARGETS}|mlir/Dialect/(MemRef|Bufferization)/",
    "Kernel": f"{PROTOBUF}|{TARGETS}",
    "Codegen": PROTOBUF,
    "Emit": f"{PROTOBUF}|mlir/Dialect/(Linalg|Tensor|SCF|Vector)/",
    "Driver": PROTOBUF,
    "runtime": f"{PROTOBUF}|mlir/|llvm/|mlir-c/|llvm-c/|lld/",
    "tools": PROTOBUF,
}

# Passes that only whole models test so far; one that has got a test of its own must leave the list.
UNTESTED = set()

# The flag of a pass begins with its room's word.
PREFIXES = {"Transforms": ("onnx-",), "Autodiff": ("onnx-",), "Optimizer": ("train-",), "Conversion": ("",),
            "Codegen": ("", "codegen-", "cpu-", "gpu-"), "Emit": ("emit-",)}


class Tree:
    """The tracked files and their lines."""

    def __init__(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
        self.paths = [pathlib.PurePath(p) for p in sorted(set(listed)) if p and (ROOT / p).is_file()]
        self.texts = {}

    def text(self, path):
        """Returns a file's text, empty for a binary one."""
        if path not in self.texts:
            data = (ROOT / path).read_bytes()
            self.texts[path] = "" if b"\0" in data else data.decode(errors="replace")
        return self.texts[path]

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), 1)

    def ending(self, *suffixes, under=None):
        """Returns the files with one of the suffixes, in one of the top folders `under`."""
        return [p for p in self.paths if p.suffix in suffixes and (under is None or p.parts[0] in under)]


def room_of(path):
    """Returns the room a source file belongs to, or None."""
    parts = path.parts
    if "Kernel" in parts and "Dialect" in parts:
        return "Kernel"  # Codegen's own dialect
    if parts[:2] == ("include", "onnx-aot") and len(parts) > 3:
        return parts[2]
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[0] == "tools" and parts[1] in SEES:
        return parts[1]
    return parts[0] if parts[0] in ("runtime", "tools") else None


def kebab(name):
    """FuseConvBias -> fuse-conv-bias, ConvertToLLVM -> convert-to-llvm."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


# ---- The rules -------------------------------------------------------------------------------------


def layering(tree):
    """A room includes only what it may see (docs/Architecture.md)."""
    for path in tree.ending(*CXX, ".td", under=("include", "lib", "runtime", "tools")):
        room = room_of(path)
        for number, line in tree.lines(path):
            found = re.match(r'\s*#?\s*include\s+["<]([^">]+)[">]', line)
            if not found or not room:
                continue
            target = found.group(1)
            ours = re.match(r"onnx-aot/(?:Dialect/(?=Kernel/))?([^/]+)", target)
            if ours and room in SEES and ours.group(1) not in SEES[room]:
                yield f"{path}:{number}: {room} may not see {target}"
            elif not ours and re.match(BANNED.get(room, "$^"), target):
                yield f"{path}:{number}: {room} may not see {target}"
            elif target.startswith("../") and room_of(pathlib.PurePath(posixpath.normpath(path.parent / target))) != room:
                yield f"{path}:{number}: {target} reaches into another room"


def sizes(tree):
    """No source file has more than 700 lines, no .mlir test more than 400; nothing over 1 MB is kept."""
    for path in tree.paths:
        limit = MAX_LINES.get(path.suffix)
        count = tree.text(path).count("\n")
        if limit and count > limit:
            yield f"{path}: {count} lines, at most {limit}: split it by category or by op"
        if (ROOT / path).stat().st_size > 1 << 20:
            yield f"{path}: over 1 MB"


def one_name(tree):
    """A pass has one name in four places: class, flag, file and test."""
    names = {str(p) for p in tree.paths}
    for path in tree.paths:
        if path.name != "Passes.td":
            continue
        folder = "/".join(path.parts[2:-1])
        room = path.parts[2]
        for name, flag in re.findall(r'^def (\w+)\s*:\s*Pass<\s*"([^"]+)"', tree.text(path), re.M):
            if flag not in [prefix + kebab(name) for prefix in PREFIXES.get(room, ("",))]:
                yield f"{path}: pass {name} has the flag {flag}, expected {PREFIXES[room][-1]}{kebab(name)}"
            # A conversion's file and tests are named for what it converts: OnnxToLinalg.
            short = name.removeprefix("Convert") if room == "Conversion" else name
            if room == "Codegen":
                short = name.removesuffix("Entry")  # all of Codegen works on the entry
            if not any(n.startswith(f"lib/{folder}/") and n.endswith((f"/{name}.cpp", f"/{short}.cpp")) for n in names):
                yield f"{path}: pass {name} has no {name}.cpp under lib/{folder}"
            tests = rf"test/{folder}/(.*/)?({kebab(name)}[^/]*\.(mlir|test)|({kebab(name)}|{short})/.*)"
            tested = any(re.fullmatch(tests, n) for n in names)
            if not tested and name not in UNTESTED:
                yield f"{path}: pass {name} has no test test/{folder}/{kebab(name)}.mlir"
            elif tested and name in UNTESTED:
                yield f"{path}: pass {name} has a test: take it off the list UNTESTED of check-style.py"


def file_names(tree):
    """C++ files are CamelCase, except tools; lit tests are kebab-case."""
    for path in tree.paths:
        if path.suffix in (".cpp", ".h") and path.parts[0] in ("include", "lib") and not path.stem[0].isupper():
            yield f"{path}: not CamelCase"
        if path.suffix == ".mlir" and path.parts[0] == "test" and not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", path.stem):
            yield f"{path}: not kebab-case"


def forbidden(tree):
    """No PassWrapper and no UnknownLoc outside tests, no builder.create, options only in tools, ::onnx:: only in Import."""
    words = [(r"\bPassWrapper\b", "PassWrapper: define the pass in Passes.td", ("include", "lib", "tools"), ()),
             (r"\bUnknownLoc\b|getUnknownLoc", "UnknownLoc: use the location of what is rewritten",
              ("include", "lib", "tools"), ()),
             (r"uilder\.create<", "use OpTy::create(builder, loc, ...)", ("include", "lib", "tools"), ()),
             (r"\bcl::opt\b", "command-line options belong in tools/", ("include", "lib"), ("Driver",)),
             (r"(?<![\w:])::onnx::", "protobuf's types belong in lib/Import",
              ("include", "lib", "tools", "runtime"), ("Import",))]
    for path in tree.ending(*CXX):
        for number, line in tree.lines(path):
            code = line.split("//")[0]
            for pattern, why, tops, rooms in words:
                if path.parts[0] in tops and room_of(path) not in rooms and re.search(pattern, code):
                    yield f"{path}:{number}: {why}"


def stubs(tree):
    """Nothing that new-op.py and new-pass.py left to be written is still there."""
    left = re.compile(r'summary = "\?"|(Requires|Guarantees): \?|CHECK: \?$|'
                      r'"(has no shape function yet|is not lowered yet)"|is not written yet"')
    for path in tree.ending(".td", ".cpp", ".mlir", under=("include", "lib", "test")):
        for number, line in tree.lines(path):
            if left.search(line):
                yield f"{path}:{number}: {line.strip()}"


def machine_paths(tree):
    """No path of somebody's machine, and a TODO names its issue."""
    for path in tree.paths:
        for number, line in tree.lines(path):
            # Put together here, so that this file does not hold what it looks for.
            if re.search(r"(?<![\w.])/(work|farm|root|home|tmp" + r"/deps)/\w", line):
                yield f"{path}:{number}: a path of one machine"
            if path.suffix in CXX + (".td", ".py") and re.search(r"\b(TODO|FIXME|XXX)" + r"\b(?!\(#\d+\))", line) \
                    and path.name != "check-style.py":
                yield f"{path}:{number}: a TODO needs an issue: TODO(#12)"


def whitespace(tree):
    """Text ends with one newline and has no tabs, trailing blanks or carriage returns."""
    for path in tree.paths:
        text = tree.text(path)
        if path.suffix not in (*MAX_LINES, ".md", ".txt", ".cmake", ".sh") or not text:
            continue
        if not text.endswith("\n") or text.endswith("\n\n"):
            yield f"{path}: must end with one newline"
        for number, line in tree.lines(path):
            if "\t" in line or "\r" in line or (line != line.rstrip() and path.suffix != ".md"):
                yield f"{path}:{number}: tab or trailing blank"


DECLARATION = re.compile(r"^(?:class|struct|enum(?: class)?|using) \w[^;]*(?:[{:=]|$)|"
                         r"^(?!return|using|namespace|typedef|extern|static_assert|friend|template|#|else|if|for|while)"
                         r"[A-Za-z_][\w:<>,&*\s]*[\s&*]\w+\([^{;]*")


def header_comments(tree):
    """Every group of declarations in a header says what it is for, in a comment above it."""
    for path in tree.ending(".h", under=("include", "runtime")):
        previous, depth = "", 0
        for number, line in tree.lines(path):
            is_start = depth == 0 and DECLARATION.match(line) and not re.match(r"^(class|struct) [\w:]+;", line)
            # A declaration right below another one, without a blank line, belongs to its group.
            if is_start and (not previous or previous.endswith(("{", ")")) or previous.startswith(("#", "namespace"))):
                yield f"{path}:{number}: no comment above: {line.strip()[:60]}"
            depth = max(0, depth + line.count("(") - line.count(")"))
            previous = line.strip()


def formatting(tree):
    """C++ sources are formatted by clang-format 22 with the repository's .clang-format."""
    formatter = shutil.which("clang-format-22")
    if not formatter:
        yield "clang-format-22 is not installed (utils/setup.sh installs it)"
        return
    files = [str(p) for p in tree.ending(".cpp", ".h", ".c", under=("include", "lib", "runtime", "tools", "test", "utils", "docs"))]
    if files:
        done = subprocess.run([formatter, "--dry-run", *files], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        yield from sorted({m.group(1) + ": not formatted (utils/check-style.py --fix)"
                           for m in re.finditer(r"^(\S+?):\d+:\d+: warning", done.stderr, re.M)})


RULES = (layering, sizes, one_name, file_names, forbidden, stubs, machine_paths, whitespace, header_comments, formatting)


def main():
    tree = Tree()
    if sys.argv[1:] == ["--fix"]:
        files = [str(p) for p in tree.ending(".cpp", ".h", ".c")]
        subprocess.run(["clang-format-22", "-i", *files], cwd=ROOT, check=True)
        tree = Tree()
    elif sys.argv[1:]:
        sys.exit(__doc__)
    tally = Tally()
    for rule in RULES:
        places = list(rule(tree))
        for place in places:
            print("      " + place)
        tally.check(rule.__doc__, f"{len(places)} places" if places else "")
    tally.finish()


if __name__ == "__main__":
    main()
