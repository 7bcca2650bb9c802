"""Says which tests did not run, and for want of what.

    skipped.py build/Testing/Temporary/LastTest.log

ctest shows the suites that were skipped whole and no reason; this reads what
unittest and GoogleTest said in its log.
"""

import ast
import re
import sys

SUITE = re.compile(r"\d+/\d+ Testing: (\S+)")
# unittest: test_a (__main__.Case.test_a) ... skipped 'reason', where the test's
# docstring may come before the dots, on lines of its own.
UNITTEST_NAME = re.compile(r"(\w+) \((\S+)\)(?: \.\.\.|$)")
UNITTEST = re.compile(r"\.\.\. skipped ('.*'|\".*\")$")
# GoogleTest: FILE:LINE: Skipped, the reason, [  SKIPPED ] Case.Test (0 ms)
GOOGLETEST = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)$")


def skipped(log):
    """(suite, reason) -> the names of tests and classes; none: all."""
    result = {}
    suite = name = before = ""
    for line in log.splitlines():
        if match := SUITE.match(line):
            suite = match[1]
        if match := UNITTEST_NAME.match(line):
            name = match[1]
            if name == "setUpClass":  # all of its tests
                name = match[2].rpartition(".")[2]
        if match := UNITTEST.search(line):
            names = result.setdefault((suite, ast.literal_eval(match[1])), [])
            if name != "setUpModule":
                names.append(name)
        if match := GOOGLETEST.match(line):
            result.setdefault((suite, before), []).append(match[1])
        before = line
    return result


def describe(log):
    """A line for every suite and reason, or one that says there are none."""
    lines = []
    for (suite, reason), names in skipped(log).items():
        which = ": ".join([suite, ", ".join(names)] if names else [suite])
        lines.append(f"  {which}: {reason}")
    if not lines:
        return "test: none was skipped"
    return "\n".join(["test: skipped, for want of what:", *lines])


if __name__ == "__main__":
    with open(sys.argv[1], errors="replace") as file:
        print(describe(file.read()))
