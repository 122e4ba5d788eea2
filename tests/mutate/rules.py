"""The rules by which faults are made in C sources: docs/mutation.md lists them.

mutants_of(path, text) returns every fault that the rules can make in one file. A mutant keeps the number of
lines, so that what the compiler makes of __LINE__ stays the same.
"""
import re

TURNED = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
ONE_OFF = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARISON = re.compile(r" (==|!=|<=|>=|<|>) ")
ONE_MORE = re.compile(r" [+-] 1(?![\w.])")
JUNCTION = re.compile(r"\s(&&|\|\|)\s")
CONDITION = re.compile(r"\bif \(")
CALL = re.compile(r"^[ \t]+(?:\(void\))?[a-z]\w*\(", re.M)
STORE = re.compile(r"^([ \t]+)((?:\*?[a-z][\w.\[\]>*+-]* [|&+-]?= [^;{}]*|"
                   r"atomic_store(?:_explicit)?\([^;{}]*\)));$", re.M)
ORDER = re.compile(r"\bmemory_order_(release|acquire|acq_rel|seq_cst)\b")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|[1-9][0-9]*)([uUlL]*)(?![\w.])")
# These are statements to the reader or the compiler, and no part of what the program does.
NOT_CODE = re.compile(r"\b(FXT_CHECK\w*|assert|_Static_assert|static_assert|__attribute__|_Alignas|"
                      r"__asm__)\b")
NO_CALL = re.compile(r"^[ \t]+(?:\(void\))?(if|for|while|switch|return|sizeof|else|do|case)\b")


class Mutant:
    """One fault: the text between `start` and `end` of the file becomes `new`."""

    def __init__(self, path, text, rule, start, end, new, function):
        self.path, self.rule, self.function = path, rule, function
        self.start, self.end, self.new = start, end, new
        self.line = text.count("\n", 0, start) + 1
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        last = len(text) if last < 0 else last
        self.old_lines = squeeze(text[first:last])
        self.new_lines = squeeze(text[first:start] + new + text[end:last])

    def key(self):
        """What the mutant is recognised by: its content, and not the number of its line."""
        return (self.path, self.function, self.old_lines, self.new_lines)

    def applied(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def __str__(self):
        return f"{self.path}:{self.line} {self.function}: {self.rule}: {self.old_lines}  =>  {self.new_lines}"


def squeeze(text):
    return " ".join(re.sub(r"/\*.*?(\*/|$)", " ", text, flags=re.S).split())


def masked(text):
    """Returns the text of equal length, with blanks for comments, strings and preprocessor lines."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                         r'^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*', re.S | re.M)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def bodies(code):
    """Yields (name, start, end) for each function and for each enumeration of the file (name "enum")."""
    depth, start, at = 0, 0, 0
    for at, char in enumerate(code):
        if char == "{":
            if not depth:
                start = at
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                head = code[max(code.rfind(";", 0, start), code.rfind("}", 0, start)) + 1:start]
                called = re.findall(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head))
                if re.search(r"\benum\b[^()]*$", head):
                    yield "enum", start, at
                elif called and head.rstrip().endswith(")") and "=" not in head:
                    yield called[0], start, at


def closing(code, at):
    """Returns the place behind the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(code)):
        depth += code[place] in "([{"
        depth -= code[place] in ")]}"
        if not depth:
            return place + 1
    return len(code)


def operand_end(code, at):
    """Returns where the operand of && or || that begins at `at` ends."""
    depth = 0
    for place in range(at, len(code)):
        char = code[place]
        if not depth and (char in ")];,?:}" or code[place:place + 2] in ("&&", "||")):
            return place
        depth += char in "([{"
        depth -= char in ")]}"
    return len(code)


def kept_lines(old, new):
    return new + "\n" * (old.count("\n") - new.count("\n"))


def expression_rules(code, start, end):
    part = code[start:end]
    for found in COMPARISON.finditer(part):
        at, op = start + found.start(1), found.group(1)
        yield "turned", at, at + len(op), TURNED[op]
        if op in ONE_OFF:
            yield "one-off", at, at + len(op), ONE_OFF[op]
    for found in ONE_MORE.finditer(part):
        yield "one-off", start + found.start(), start + found.end(), ""
    for found in JUNCTION.finditer(part):
        at = start + found.start()
        stop = operand_end(code, start + found.end())
        yield "condition", at, stop, kept_lines(code[at:stop], "")
    for found in CONDITION.finditer(part):
        at = start + found.end() - 1
        stop = closing(code, at)
        for new in ("(1)", "(0)"):
            yield "condition", at, stop, kept_lines(code[at:stop], new)
    for found in ORDER.finditer(part):
        yield "relaxed", start + found.start(), start + found.end(), "memory_order_relaxed"


def number_rules(code, start, end):
    for found in NUMBER.finditer(code, start, end):
        value = int(found.group(1), 0)
        if value >= 2:
            yield "halved", found.start(), found.end(), str(value // 2) + found.group(2)


def statement_rules(text, code, start, end):
    for found in CALL.finditer(code, start, end):
        if NO_CALL.match(found.group()):
            continue
        at = found.start() + len(found.group()) - len(found.group().lstrip())
        stop = closing(code, found.end() - 1)
        before = code[:found.start()].rstrip()
        if code[stop:stop + 1] == ";" and (before[-1:] in "{};:)" or before.endswith("else")):
            yield "dropped", at, stop, kept_lines(code[at:stop], "")
    stores = list(STORE.finditer(code, start, end))
    for one, other in zip(stores, stores[1:]):
        if one.end() + 1 == other.start() and one.group(1) == other.group(1):
            first, second = text[one.start():one.end()], text[other.start():other.end()]
            if first != second:
                yield "swapped", one.start(), other.end(), second + "\n" + first


def mutants_of(path, text):
    """Returns the mutants of a file in the order of their places."""
    code = masked(text)
    found = []
    for name, start, end in bodies(code):
        rules = list(number_rules(code, start, end))
        if name != "enum":
            rules += list(expression_rules(code, start, end)) + list(statement_rules(text, code, start, end))
        for rule, at, stop, new in rules:
            statement = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
            if not NOT_CODE.search(code[statement:stop]):
                found.append(Mutant(path, text, rule, at, stop, new, name))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.new))
