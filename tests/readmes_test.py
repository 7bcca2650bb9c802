"""Fails when a folder has no README, or a page names what is gone.

    readmes_test.py SOURCE_FOLDER

- Every folder with sources has a README.md, in it or at most two folders above.
- A path in it, `Foo.cpp` or `passes/kernels/Materialize`, is there: from the
  root or from the README's folder; a bare file name anywhere. So is the file
  that a link names, from the page's folder.
"""

import pathlib
import re
import sys

TREES = ["api", "codegen", "config", "examples", "frontend", "models",
         "options", "passes", "python", "report", "runtime", "simulate",
         "tests", "tools"]
SOURCES = {".h", ".c", ".cpp", ".td", ".proto", ".py", ".sh", ".mlir", ".onnx"}

# Matches what looks like a file or a folder of this project, within `code`.
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(
    r"(?:[\w.-]+/)*[\w-]+\.(?:h|cpp|td|proto|py|sh|mlir|md|txt|cmake)"
    r"|(?:%s)(?:/[\w.-]+)*/?" % "|".join(TREES)
)
# The file in [text](file), not an address or a place in the page.
LINK = re.compile(r"\]\(([^)#:]+)\)")
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
        for readme in sorted((source / tree).rglob("README.md")):
            yield from check_page(source, readme)
    for page in [*source.glob("*.md"), *sorted((source / "docs").glob("*.md"))]:
        yield from check_page(source, page)


def check_page(source, page):
    text = page.read_text()
    for link in LINK.findall(text):
        if not (page.parent / link).exists():
            yield f"{page}: there is no {link}"
    for number, path in paths(text):
        if not exists(source, page.parent, path):
            yield f"{page}:{number}: there is no {path}"


def main(source):
    found = list(check(source))
    print("\n".join(found) or "every folder has a README")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
