"""Fails when a dialect or a pass is not documented, or its documentation lies.

    dialects_test.py SOURCE_FOLDER DOCS_FOLDER ZEROGRAPH_OPT

The build writes what it reads: Ops.md of each dialect, Passes.md of each phase.

- Every op has a summary, an example that shows it, a **Lifespan** and, where it
  has a verifier, **Constraints** as bullets.
- Every example is a whole file: a fenced block that begins with ```mlir is
  given to zerograph-opt as it stands, and must be accepted.
- Every pass has a summary, and says whether it is bitwise or reassociates.
"""

import pathlib
import re
import subprocess
import sys

DIALECTS = ["nn", "zero", "sched"]

EXAMPLE = re.compile(r"^```mlir\n(.*?)^```$", re.M | re.S)


def sections(text, level):
    """(title, body) of each heading of this level; a body ends at the next
    heading of this level or a higher one."""
    heading = re.compile(r"^#{1,%d} .*$" % level, re.M)
    found = list(heading.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends):
        hashes, title = match[0].split(" ", 1)
        if len(hashes) == level:
            yield title, text[match.end() : end]


def ops(text):
    """(name, class, body) of each op of a dialect's Ops.md."""
    for title, body in sections(text, 3):
        match = re.fullmatch(r"`([\w.]+)` \(zg::(\w+::\w+)\)", title)
        if match:
            yield match[1], match[2], body


def missing_from_op(name, body, has_verifier):
    """What an op's documentation lacks."""
    if not re.match(r"\s*_.+_\n", body):
        yield "a summary"
    examples = EXAMPLE.findall(body)
    shown = re.compile(r"\b%s\b" % re.escape(name))
    if not any(shown.search(example) for example in examples):
        yield f"an example (```mlir) that shows {name}"
    if not re.search(r"^\*\*Lifespan\*\*: \S", body, re.M):
        yield "a line **Lifespan**: "
    constraints = re.search(r"^\*\*Constraints:\*\*\n(- .+\n)?", body, re.M)
    if constraints and not constraints[1]:
        yield "bullets under **Constraints:**"
    if has_verifier and not constraints:
        yield "**Constraints:**, although a verifier checks some"


def verified_classes(sources):
    """Classes with a verifier, without their namespace."""
    verifier = re.compile(r"(\w+)::verify(?:SymbolUses)?\(")
    return {match[1] for text in sources for match in verifier.finditer(text)}


def check_examples(path, text, opt):
    for match in EXAMPLE.finditer(text):
        run = subprocess.run(
            [opt, "-"], input=match[1], capture_output=True, text=True
        )
        if run.returncode != 0:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: zerograph-opt refuses the example:\n" + (
                run.stderr.rstrip()
            )


def check_dialect(source, path, dialect):
    folder = source / "passes/ir" / dialect
    verified = verified_classes(p.read_text() for p in folder.glob("*.cpp"))
    count = 0
    for name, cls, body in ops(path.read_text()):
        count += 1
        for what in missing_from_op(name, body, cls.split("::")[-1] in verified):
            yield f"{path}: {name} lacks {what}"
    if count == 0:
        yield f"{path}: no op"


def check_passes(path):
    count = 0
    for title, body in sections(path.read_text(), 3):
        count += 1
        if not re.match(r"\s*_.+_\n", body):
            yield f"{path}: {title} lacks a summary"
        if not re.search(r"^(bitwise|reassociates)[.:]", body, re.M):
            yield f"{path}: {title} does not say whether it is bitwise"
    if count == 0:
        yield f"{path}: no pass"


def main(source, docs, opt):
    found = []
    documents = [docs / "passes/ir" / d / "Ops.md" for d in DIALECTS]
    for path, dialect in zip(documents, DIALECTS):
        found += check_dialect(source, path, dialect)
    for phase in sorted((source / "passes").glob("*/Passes.td")):
        documents.append(docs / "passes" / phase.parent.name / "Passes.md")
        found += check_passes(documents[-1])
    examples = 0
    for path in documents:
        text = path.read_text()
        examples += len(EXAMPLE.findall(text))
        found += check_examples(path, text, opt)
    print("\n".join(found) or f"{examples} examples accepted")
    return 1 if found else 0


if __name__ == "__main__":
    source, docs = (pathlib.Path(folder).resolve() for folder in sys.argv[1:3])
    sys.exit(main(source, docs, sys.argv[3]))
