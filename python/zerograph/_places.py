"""Saying which line of Python a node of a file comes from."""

from __future__ import annotations

import os
import re

#: Names the lines that have led to a node, in files of the newer exporter.
_TRACE = "pkg.torch.onnx.stack_trace"


def _line_of(trace: str) -> str:
    """Returns the innermost line that is not PyTorch's or of this package."""
    lines = re.findall(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.+)', trace)
    lines = [line for line in lines
             if f"-packages{os.sep}torch{os.sep}" not in line[0] and
             os.path.dirname(line[0]) != os.path.dirname(__file__)] or lines
    return '{}:{} in {}, "{}"'.format(*lines[-1]) if lines else ""


def with_places(text: str, model: str | os.PathLike) -> str:
    """Returns an error about a file with the line of each node that it names,
    where the file says it."""
    names = set(re.findall(r"node '([^']+)'", text))
    try:
        import onnx
        nodes = (onnx.load(model, load_external_data=False).graph.node
                 if names else [])
    except Exception:  # there is no onnx, or the file is what is wrong
        return text
    for node in nodes:
        for entry in node.metadata_props if node.name in names else ():
            line = _line_of(entry.value) if entry.key == _TRACE else ""
            if line:
                text = text.replace(f"node '{node.name}'",
                                    f"node '{node.name}' ({line})")
    return text
