"""Checks and runs ONNX files with the packages onnx and onnxruntime.

    onnx_peer.py MODEL.onnx INPUTS.safetensors OUTPUTS.safetensors

A program of its own, since it may need another Python.
"""

import sys

import numpy
import onnx
import onnxruntime

from tensors import read_tensors, write_tensors

TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


def main(model, inputs, outputs):
    onnx.checker.check_model(model, full_check=True)
    fed = {name: numpy.frombuffer(data, TYPES[dtype]).reshape(shape)
           for name, (dtype, shape, data) in read_tensors(inputs).items()}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # that weights are inputs is no fault
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = {each.name for each in session.get_inputs()}
    results = session.run(names, {name: fed[name] for name in wanted})
    computed = {}
    for name, result in zip(names, results):
        dtype = next(key for key, code in TYPES.items()
                     if numpy.dtype(code) == result.dtype)
        computed[name] = (dtype, list(result.shape), result.tobytes())
    write_tensors(outputs, computed)


if __name__ == "__main__":
    main(*sys.argv[1:])
