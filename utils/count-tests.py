#!/usr/bin/env python3
"""Run lit or ctest and close with the line that utils/test.sh reads: "N passed, N failed".

usage: count-tests.py lit|ctest COMMAND...

The tool's own output passes through. Counts are read from its summary; when it ends badly without having
counted a failure, that is one.
"""
import re
import subprocess
import sys

LIT_GOOD = ("Passed", "Passed With Retry", "Expectedly Failed")
LIT_BAD = ("Failed", "Unresolved", "Timed Out", "Unexpectedly Passed")


def count_lit(output):
    counts = {k.strip(): int(n) for k, n in re.findall(r"^  ([A-Z][A-Za-z ]+?) *: *(\d+)", output, re.M)}
    return sum(counts.get(k, 0) for k in LIT_GOOD), sum(counts.get(k, 0) for k in LIT_BAD)


def count_ctest(output):
    found = re.search(r"(\d+) tests failed out of (\d+)", output)
    failed, total = (int(n) for n in found.groups()) if found else (0, 0)
    return total - failed, failed


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("lit", "ctest"):
        sys.exit(__doc__)
    done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    sys.stdout.write(done.stdout)
    passed, failed = (count_lit if sys.argv[1] == "lit" else count_ctest)(done.stdout)
    if done.returncode and not failed:
        failed = 1
    print(f"\n{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
