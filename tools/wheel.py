"""Writes a wheel of the programs and the Python package, for tools/package.sh.

    wheel.py FOLDER PYTHON OUTPUT_FOLDER VERSION PLATFORM

The wheel has the package of the folder PYTHON, in it the programs and libraries
of FOLDER but zerograph-run, and a command for the program.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

folder, python, output, version, platform = sys.argv[1:]
folder, python = pathlib.Path(folder), pathlib.Path(python)
tag = f"py3-none-{platform}"
info = f"zerograph-{version}.dist-info"
date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]

# Path in the wheel -> bytes, whether it is a program.
files = {str(path.relative_to(python)): (path.read_bytes(), False)
         for path in sorted(python.rglob("*"))
         if path.suffix == ".py" or path.name == "py.typed"}
# Left out: what the program zerograph does too, and pictures of pages.
LEFT_OUT = {"zerograph-run", "images"}
for path in sorted(folder.rglob("*")):
    inside = path.relative_to(folder)
    if path.is_file() and not LEFT_OUT & set(inside.parts):
        files[f"zerograph/{inside}"] = (path.read_bytes(),
                                        inside.parts[0] == "bin")
files[f"{info}/METADATA"] = (f"""\
Metadata-Version: 2.1
Name: zerograph
Version: {version}
Summary: Compiles training graphs in ONNX for many ranks
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
""".encode(), False)
files[f"{info}/WHEEL"] = (f"""\
Wheel-Version: 1.0
Generator: zerograph
Root-Is-Purelib: false
Tag: {tag}
""".encode(), False)
files[f"{info}/entry_points.txt"] = (
    b"[console_scripts]\nzerograph = _zerograph_program:zerograph\n", False)

record = ""
with zipfile.ZipFile(pathlib.Path(output) / f"zerograph-{version}-{tag}.whl",
                     "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
    def write(name, data, mode):
        entry = zipfile.ZipInfo(name, date)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        wheel.writestr(entry, data)

    for name, (data, is_program) in files.items():
        write(name, data, 0o755 if is_program else 0o644)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        record += f"{name},sha256={digest.decode().rstrip('=')},{len(data)}\n"
    record += f"{info}/RECORD,,\n"
    write(f"{info}/RECORD", record.encode(), 0o644)
