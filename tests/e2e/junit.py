"""junit.py FILE: reads a file in the form of JUnit, and fails where it breaks a rule of the schemas of Ant or
of Jenkins. Prints SUITE<tab>CASE<tab>passed|failure|error for each case."""
import re
import sys
import xml.etree.ElementTree as xml

NUMBER = re.compile(r"\d+$")
# The attributes that each element has to have, those that it may have, and the elements that it may hold, in
# their order.
RULES = {
    "testsuites": ({"tests", "failures"}, {"name", "errors", "time", "disabled"}, ["testsuite"]),
    "testsuite": (
        {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "time"},
        {"skipped", "disabled"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), set(), []),
    "testcase": ({"name", "classname", "time"}, {"status", "assertions"}, ["error", "failure"]),
    "failure": ({"type"}, {"message"}, []),
    "error": ({"type"}, {"message"}, []),
    "system-out": (set(), set(), []),
    "system-err": (set(), set(), []),
}


def hold(what, condition):
    if not condition:
        sys.exit(f"junit: {what}")


def examine(element):
    hold(f"there is no element {element.tag}", element.tag in RULES)
    needed, allowed, children = RULES[element.tag]
    names = set(element.attrib)
    hold(f"{element.tag} lacks {needed - names}", needed <= names)
    hold(f"{element.tag} has {names - needed - allowed}", names <= needed | allowed)
    for name in {"tests", "failures", "errors", "id"} & names:
        hold(f"{name} of {element.tag} is a number", NUMBER.match(element.get(name)))
    for name in {"time"} & names:
        float(element.get(name))
    if "timestamp" in names:
        hold("a time has no zone", re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$", element.get("timestamp")))
    tags = [child.tag for child in element]
    hold(f"{element.tag} holds {tags}", all(tag in children for tag in tags))
    hold(f"the order in {element.tag}", tags == sorted(tags, key=children.index))
    if element.tag == "testsuite":
        hold("each of these stands once", all(tags.count(t) == 1 for t in children if t != "testcase"))
    for child in element:
        examine(child)


def verdict(case):
    return next((child.tag for child in case), "passed")


root = xml.parse(sys.argv[1]).getroot()
hold("the outermost element", root.tag == "testsuites")
examine(root)
for suite in [root] + list(root):
    cases = list(suite.iter("testcase"))
    hold("the number of tests", int(suite.get("tests")) == len(cases))
    for tag, name in (("failure", "failures"), ("error", "errors")):
        found = sum(verdict(case) == tag for case in cases)
        hold(f"the number of {name}", int(suite.get(name)) == found)
hold("the suites are numbered", [s.get("id") for s in root] == [str(i) for i in range(len(root))])
for suite in root:
    for case in suite.iter("testcase"):
        print(suite.get("name"), case.get("name"), verdict(case), sep="\t")
