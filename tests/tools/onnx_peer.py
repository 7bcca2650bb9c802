"""Checks and runs ONNX files with the packages onnx and onnxruntime.

    onnx_peer.py MODEL.onnx INPUTS.safetensors OUTPUTS.safetensors

A program of its own, since it may need another Python: that of
ZEROGRAPH_ONNXRUNTIME, or the one that runs the tests. `peer` is for tests.
"""

import json
import os
import struct
import subprocess
import sys

VARIABLE = "ZEROGRAPH_ONNXRUNTIME"


def peer():
    """(its Python, None), or (None, why there is none)."""
    python = os.environ.get(VARIABLE, sys.executable)
    try:
        found = subprocess.run([python, "-c", "import onnx, onnxruntime"],
                               capture_output=True, text=True)
    except OSError as error:
        return None, f"{python}: {error}"
    if found.returncode == 0:
        return python, None
    return None, ("no onnxruntime: set %s to a Python that has it and onnx "
                  "(%s)" % (VARIABLE, found.stderr.strip().splitlines()[-1]))


def main(model, inputs, outputs):
    import numpy
    import onnx
    import onnxruntime

    onnx.checker.check_model(model, full_check=True)
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4",
             "BOOL": "?"}
    with open(inputs, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    fed = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        fed[name] = numpy.frombuffer(
            content[begin:end], types[entry["dtype"]]).reshape(entry["shape"])

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # that weights are inputs is no fault
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = {each.name for each in session.get_inputs()}
    results = session.run(names, {name: fed[name] for name in wanted})
    header, data = {}, b""
    for name, result in zip(names, results):
        dtype = next(key for key, code in types.items()
                     if numpy.dtype(code) == result.dtype)
        header[name] = {"dtype": dtype, "shape": list(result.shape),
                        "data_offsets": [len(data),
                                         len(data) + result.nbytes]}
        data += result.tobytes()
    text = json.dumps(header).encode()
    with open(outputs, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main(*sys.argv[1:])
