"""Fails when a folder has no README, or a page is too long, too wide, or names
what is gone.

    readmes_test.py SOURCE_FOLDER

- Every folder with sources has a README.md, in it or at most two folders above.
- A folder's README has at most 60 lines and 600 words.
- Text is wrapped at 80 columns; tables, pictures and commands may be wider.
- A path in it, `Foo.cpp` or `passes/kernels/Materialize`, is there: from the
  root or from the README's folder; a bare file name anywhere. So is the file
  that a link names, from the page's folder.
"""

import pathlib
import re
import sys

TREES = ["codegen", "config", "frontend", "models", "options", "passes", "runtime", "tests", "tools"]
SOURCES = {".h", ".cpp", ".td", ".proto", ".py", ".sh", ".mlir", ".onnx"}
LINES, WORDS, COLUMNS = 60, 600, 80

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


def wide(text):
    """Numbers of the lines of text that are not wrapped."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith(("|", "    ", "<!--")):
            if len(line) > COLUMNS:
                yield number


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
    line = "word " * 17
    lines = [line, "| " + line, "    " + line, "```", line, "```", line]
    assert list(wide("\n".join(lines))) == [1, 7]
    assert LINK.findall("[a](docs/b.md) [c](https://d) [e](#f)") == ["docs/b.md"]
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
    for tree in TREES:
        for readme in sorted((source / tree).rglob("README.md")):
            text = readme.read_text()
            size = len(text.splitlines()), len(text.split())
            if size[0] > LINES or size[1] > WORDS:
                yield f"{readme}: {size[0]} lines, {size[1]} words: over a page"
            yield from check_page(source, readme, text)
    for page in [*source.glob("*.md"), *sorted((source / "docs").glob("*.md"))]:
        yield from check_page(source, page, page.read_text())


def check_page(source, page, text):
    for number in wide(text):
        yield f"{page}:{number}: more than {COLUMNS} columns"
    for link in LINK.findall(text):
        if not (page.parent / link).exists():
            yield f"{page}: there is no {link}"
    for number, path in paths(text):
        if not exists(source, page.parent, path):
            yield f"{page}:{number}: there is no {path}"


def main(source):
    check_rules(source)
    found = list(check(source))
    print("\n".join(found) or "every folder has a README")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
