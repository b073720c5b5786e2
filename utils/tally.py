"""Count the checks of a test program. Apart from harness.py, since it needs nothing but Python."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Tally:
    """Counts the checks of a test program and ends it as utils/test.sh expects."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, problem="", note=""):
        """Counts one check: a failure when `problem` says something."""
        if problem:
            self.failed += 1
            print(f"FAIL  {name}: {problem}", flush=True)
        else:
            self.passed += 1
            print(f"ok    {name}{'  (' + note + ')' if note else ''}", flush=True)
        return not problem

    def check_known(self, name, problem, why):
        """Counts a check that is known to fail: a failure only once it does not, so that the note is taken out."""
        if problem:
            print(f"known {name}: {why} ({problem})", flush=True)
        else:
            self.check(name, f"passes now: no longer '{why}'")

    def finish(self):
        """Prints the closing line and exits: 0 only when something was checked and nothing failed."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(0 if self.passed and not self.failed else 1)
