"""Compares a run of go-redis's test suite with the list of what is known to fail:

    go-redis.py LIST SPECS.json TESTS.log

The exit status is 0 only if everything passed but what is listed, and nothing passed
that is listed.
"""
import json
import re
import sys


def listed(path):
    """The tests that fail, of lines "fails NAME"."""
    lines = open(path, encoding="utf-8").read().splitlines()
    return {line.removeprefix("fails ") for line in lines if line.startswith("fails ")}


def specs(path):
    """Which specs passed, by full name; those that were not run are left out."""
    outcomes = {}
    for suite in json.load(open(path, encoding="utf-8")):
        for spec in suite["SpecReports"]:
            if spec["LeafNodeType"] == "It" and spec["State"] not in ("skipped", "pending"):
                name = " ".join((spec["ContainerHierarchyTexts"] or []) + [spec["LeafNodeText"]])
                message = spec.get("Failure", {}).get("Message", "")
                outcomes[name] = (spec["State"] == "passed", message)
    return outcomes


def tests(path):
    """Which tests and examples passed, subtests left out."""
    text = open(path, encoding="utf-8", errors="replace").read()
    return {name: (result == "PASS", "") for result, name in re.findall(r"^--- (PASS|FAIL): (\S+)", text, re.MULTILINE)}


def main():
    known = listed(sys.argv[1])
    outcomes = specs(sys.argv[2]) | tests(sys.argv[3])
    passed = {name for name, (ok, _) in outcomes.items() if ok}
    unexpected = sorted(name for name, (ok, _) in outcomes.items() if not ok and name not in known)
    for name in unexpected:
        print(f"FAILED {name}")
        print("    " + "\n    ".join(outcomes[name][1].splitlines()[:12]))
    better = sorted(known & passed)
    for name in better:
        print(f"passes, though it is listed: {name}")
    unknown = sorted(known - outcomes.keys())
    for name in unknown:
        print(f"is listed, but was not run: {name}")
    print(f"go-redis: {len(passed)} passed, {len(outcomes) - len(passed)} failed, {len(unexpected)} of them not listed")
    sys.exit(1 if unexpected or better or unknown or not passed else 0)


main()
