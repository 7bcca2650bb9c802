"""Compiling a file, or a module of PyTorch."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ._compile_file import compile_file
from ._library import InvalidArgument
from ._plan import Plan


def _is_module(model) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _list(value) -> list:
    return [] if value is None else [value] if isinstance(value, str) else value


def _compile_module(module, example, loss, options: dict) -> Plan:
    """Exports a PyTorch module, and compiles what it trains."""
    from ._export import export
    from ._wrapper import as_batch
    if example is None:
        raise InvalidArgument("to export a module, give example=, a batch")
    folder = tempfile.mkdtemp(prefix="zerograph-")
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "model.onnx")
    try:
        found = export(module, example, path, loss, compare=False)
        frozen = found.freeze + _list(options.pop("freeze", None))
        plan = compile_file(path, as_batch(module, example),
                            **{**options, "freeze": frozen or None})
    except BaseException:
        remove()
        raise
    weakref.finalize(plan, remove)  # the file has the weights
    return plan


def compile(model, example: Mapping[str, Any] | tuple | None = None,
            loss: str | Callable | None = None, **options) -> Plan:
    """Compiles MODEL.onnx, or a module of PyTorch, to a plan.

    `example` is a batch of a step, whose shapes say how large the model's
    symbolic dims and a micro-batch are; its values are not read. A module is
    exported first, as `zg.export` does, with `loss`, and without the comparison.
    Options are those of `zerograph compile`, with underscores: ranks=2, zero=3,
    micro_batch=8, precision="bf16", betas=(0.9, 0.95), dim={"seq": 128},
    group={"*.bias": {"weight_decay": 0}}, config={...} (DeepSpeed's).
    docs/options.md has all of them.
    """
    if _is_module(model):
        return _compile_module(model, example, loss, options)
    return compile_file(model, example, loss=loss, **options)
