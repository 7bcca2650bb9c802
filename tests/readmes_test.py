"""Fails when a folder has no README, or one that is long or names what is gone.

    readmes_test.py SOURCE_FOLDER

- Every folder with sources has a README.md, in it or at most two folders above.
- A README of a folder has at most a page: 60 lines and 600 words.
- A path in it, `Foo.cpp` or `passes/kernels/Materialize`, is there: from the root or
  from the README's folder; a bare file name anywhere.
"""

import pathlib
import re
import sys

TREES = ["codegen", "frontend", "models", "options", "passes", "runtime", "tests", "tools"]
SOURCES = {".h", ".cpp", ".td", ".proto", ".py", ".sh", ".mlir", ".onnx"}
LINES, WORDS = 60, 600

# What looks like a file or a folder of this project, within `code`.
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(
    r"(?:[\w.-]+/)*[\w-]+\.(?:h|cpp|td|proto|py|sh|mlir|md|txt|cmake)"
    r"|(?:%s)(?:/[\w.-]+)*/?" % "|".join(TREES)
)
# Names that stand for others (foo, PHASE), and what programs write.
EXAMPLES = re.compile(r"\b[Ff]oo\b|\b[A-Z]{3,}\b(?!\.md)|^\d\d-")


def paths(text):
    """(line, path) of each path that a README names."""
    for number, line in enumerate(text.splitlines(), 1):
        for code in CODE.findall(line):
            if PATH.fullmatch(code) and not EXAMPLES.search(code):
                yield number, code


def exists(source, folder, path):
    path = path.rstrip("/")
    if "/" not in path and any(
        True for tree in TREES for _ in (source / tree).rglob(path)
    ):
        return True
    return any(
        (base / path).exists() or any(base.glob(path + ".*"))
        for base in (source, folder)
    )


def check_rules(source):
    text = "`Foo.cpp` `passes/kernels/View.h` `Gone.cpp` a.cpp `x.y` `tests/`"
    named = [path for _, path in paths(text)]
    assert named == ["passes/kernels/View.h", "Gone.cpp", "tests/"], named
    assert exists(source, source / "passes", "kernels/View.h")
    assert exists(source, source / "frontend", "View.h")
    assert exists(source, source / "passes", "passes/kernels/View")
    assert not exists(source, source / "frontend", "kernels/View.h")
    assert not exists(source, source / "passes", "passes/gone")
    assert not exists(source, source / "passes", "Gone.cpp")


def check(source):
    for tree in TREES:
        folders = {
            path.parent
            for path in (source / tree).rglob("*")
            if path.suffix in SOURCES
        }
        for folder in sorted(folders):
            nearest = [folder, *folder.parents][:3]
            if not any(
                (f / "README.md").exists() for f in nearest if f != source
            ):
                yield f"{folder}: no README.md in it or above it"
    readmes = [source / "README.md", source / "CONTRIBUTING.md"]
    for tree in TREES:
        readmes += sorted((source / tree).rglob("README.md"))
    for readme in readmes:
        text = readme.read_text()
        size = len(text.splitlines()), len(text.split())
        if readme.parent != source and (size[0] > LINES or size[1] > WORDS):
            yield f"{readme}: {size[0]} lines, {size[1]} words: over a page"
        for number, path in paths(text):
            if not exists(source, readme.parent, path):
                yield f"{readme}:{number}: there is no {path}"


def main(source):
    check_rules(source)
    found = list(check(source))
    print("\n".join(found) or "every folder has a README")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
