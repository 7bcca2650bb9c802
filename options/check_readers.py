"""Fails where nobody takes an option: where no taker is given its field by name
(`kTools` in Options.def), and neither tools nor the targets of codegen read it
either."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])


def main():
    files = [path for folder in ("tools", "codegen") for end in ("*.cpp", "*.h")
             for path in (ROOT / folder).rglob(end)]
    files.append(ROOT / "passes/Pipelines.cpp")
    code = "\n".join(path.read_text() for path in files)
    table = (ROOT / "options/Options.def").read_text()
    rows = re.findall(r"^ZG_\w+_OPTION\(.*?(?=^ZG_|^//|^#)", table,
                      re.DOTALL | re.MULTILINE)
    fields = [re.match(r"ZG_\w+\([^,]*,\s*(\w+)", row).group(1)
              for row in rows if re.search(r"\bkTools\b", row)]
    unread = [field for field in fields if not re.search(
        rf"\b(options|given|compile|user)(\.|->){field}\b", code)]
    if not fields or unread:
        sys.exit("options/Options.def: kTools is to take "
                 f"{', '.join(unread) or 'nothing'}, but no code of tools/ "
                 "or codegen/ reads options.FIELD: use it, or name the taker "
                 "that does")


main()
