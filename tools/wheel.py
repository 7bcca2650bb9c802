"""Writes a wheel of a folder of programs, for tools/package.sh.

    wheel.py FOLDER OUTPUT_FOLDER VERSION PLATFORM

The wheel has the folder as zerograph/, and a command for each of its programs.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

folder, output, version, platform = sys.argv[1:]
folder = pathlib.Path(folder)
programs = sorted(path.name for path in (folder / "bin").iterdir())
tag = f"py3-none-{platform}"
info = f"zerograph-{version}.dist-info"
date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]

INIT = '''"""Zerograph's programs: a command for each is on the PATH."""

import os
import sys


def run(program):
    """Becomes the program, with this process's arguments."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin",
                        program)
    os.execv(path, [path, *sys.argv[1:]])
'''
for name in programs:
    INIT += f'''

def {name.replace("-", "_")}():
    run("{name}")
'''

# Path in the wheel -> bytes, whether it is a program.
files = {"zerograph/__init__.py": (INIT.encode(), False)}
for path in sorted(folder.rglob("*")):
    if path.is_file():
        inside = path.relative_to(folder)
        files[f"zerograph/{inside}"] = (path.read_bytes(),
                                        inside.parts[0] == "bin")
files[f"{info}/METADATA"] = (f"""\
Metadata-Version: 2.1
Name: zerograph
Version: {version}
Summary: Compiles training graphs in ONNX for many ranks
License: Apache-2.0
Requires-Python: >=3.6
""".encode(), False)
files[f"{info}/WHEEL"] = (f"""\
Wheel-Version: 1.0
Generator: zerograph
Root-Is-Purelib: false
Tag: {tag}
""".encode(), False)
files[f"{info}/entry_points.txt"] = ("[console_scripts]\n" + "".join(
    f"{name} = zerograph:{name.replace('-', '_')}\n"
    for name in programs)).encode(), False

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
