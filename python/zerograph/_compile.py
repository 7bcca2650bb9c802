"""Compiling a file, or a module of PyTorch."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ._compile_file import check_options, compile_file
from ._files import named_by_content
from ._library import Error, InvalidArgument, library, warn
from ._options import as_list
from ._plan import Plan


#: Stands in an error about a file where values decide a shape.
_DECIDED = "must be known while compiling, but depends on"


def is_module(model) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


@dataclass
class Exported:
    """A PyTorch module as a file."""

    path: str
    #: Is the example as a batch.
    batch: dict
    #: Say what is frozen, and the names of metrics, too.
    options: dict
    #: Names the plan's groups of parameters, as the optimizer has them.
    groups: list[str]
    #: Is the `_export.Written`.
    written: Any


def export_to(folder: str, module, example, loss, metrics, fixed, options: dict,
              compare: str, entry) -> Exported:
    """Exports a PyTorch module, after the options, of a function of the library,
    were checked: exporting takes long."""
    from ._export import export_and_compare
    from ._optimizers import with_optimizer
    from ._wrapper import as_batch
    check_options(with_optimizer(module, options)[0], entry)
    if example is None:
        raise InvalidArgument("to export a module, give example=, a batch")
    path = os.path.join(folder, "model.onnx")
    target = str(options.get("target") or "")
    written = export_and_compare(
        module, example, path, loss, metrics, {}, compare,
        target if target.startswith("host:") else None, fixed)
    for one in written.says:
        warn(one)
    frozen = written.found.freeze + as_list(options.get("freeze"))
    options = {**options, "freeze": frozen or None,
               "metric": list(metrics) or None}
    options, groups = with_optimizer(module, options, written.known)
    return Exported(path, as_batch(module, example, loss), options, groups, written)


def _compile_exported(made: Exported, folder: str) -> Plan:
    """Compiles a file, which is in `folder` now."""
    try:
        return compile_file(os.path.join(folder, os.path.basename(made.path)),
                            made.batch, **made.options)
    except Error as error:
        if _DECIDED in str(error):
            error.args = (str(error) + made.written.advise(),)
        raise


def _warn_of_parts(plan: Plan, is_mean: Callable[[], bool]) -> None:
    """Warns where a step's loss is another number than the whole batch's."""
    parts = plan.samples // plan.facts["micro_batch"]
    if parts > 1 and plan.facts["loss_mean"] != "tokens" and not is_mean():
        warn(
            "the loss of a batch is not the mean of its halves' losses, as where "
            "a mask or ignore_index leaves samples out, samples are compared "
            "with each other, or a root is taken of a mean. This plan's steps "
            f"have the mean of {parts} micro-batches' losses "
            f"(ranks={plan.ranks}, accumulate={plan.facts['accumulate']}), so "
            "loss and gradients are others than the whole batch's. Of a sum that "
            "is divided by a count, loss_mean=\"tokens\" gives these; else take "
            "fewer micro-batches, or this mean as the loss")


def _constants(module) -> dict:
    """Returns copies of the buffers that are constants of a plan."""
    kept = module.state_dict(keep_vars=True)
    return {name: one.detach().cpu().clone()
            for name, one in module.named_buffers()
            if (name not in kept or not one.is_floating_point()) and
            not name.endswith("num_batches_tracked")}


def _compile_module(module, example, loss, metrics, fixed,
                    options: dict) -> Plan:
    """Exports a PyTorch module, and compiles what it trains."""
    temporary = tempfile.mkdtemp(prefix="zerograph-")
    remove = functools.partial(shutil.rmtree, temporary, ignore_errors=True)
    folder = os.path.join(temporary, "model")
    os.mkdir(folder)
    try:
        made = export_to(folder, module, example, loss, metrics, fixed, options,
                         "small", library().zg_compile)
        folder = named_by_content(folder)
        plan = _compile_exported(made, folder)
        plan.constants = _constants(module)
        plan.groups = made.groups
        plan.decided = made.written.decided
        _warn_of_parts(plan, made.written.is_mean)
    except BaseException as error:
        remove()
        if isinstance(error, Error):
            error.args = (str(error).replace(folder + os.sep, ""),)
        raise
    weakref.finalize(plan, remove)  # the file has the weights
    return plan


def compile(model, example: Mapping[str, Any] | tuple | None = None,
            loss: str | Callable | None = None,
            metrics: Mapping[str, Callable] | None = None,
            fixed: str | Iterable[str] | None = None, **options) -> Plan:
    """Compiles MODEL.onnx, or a module of PyTorch, to a plan.

    `example` is a batch of a step, whose shapes say how large the model's
    symbolic dims and a micro-batch are; its values are not read of a file. A
    module is exported first, as `zg.export` does, with `loss`, and compared where
    it is small. `metrics` has functions of the module's output and the batch,
    whose means a trainer tells beside the loss; of a file, metric=["accuracy"]
    names its outputs. `optimizer` may be one of torch.optim of the module's
    parameters.
    `fixed` names inputs of a module whose values decide shapes, or which way
    forward() goes: what they decide is as in the example. A trainer refuses a
    batch in which they decide otherwise.
    Options are those of `zerograph compile`, with underscores: ranks=2, zero=3,
    micro_batch=8, precision="bf16", betas=(0.9, 0.95), dim={"seq": 128},
    group={"*.bias": {"weight_decay": 0}}, config={...} (DeepSpeed's).
    docs/options.md has all of them.
    """
    if is_module(model):
        return _compile_module(model, example, loss, metrics or {}, fixed,
                               options)
    if not isinstance(model, (str, os.PathLike)):
        raise InvalidArgument(
            f"expected MODEL.onnx or a module of PyTorch, found a {type(model)}; "
            "zg.keras.export makes a file of a model of Keras")
    if fixed:
        raise InvalidArgument("fixed= is for modules of PyTorch: a file has the "
                              "shapes that it has")
    if metrics:
        raise InvalidArgument("functions as metrics= are for modules of PyTorch; "
                              "of a file name outputs, as metric=[\"accuracy\"]")
    return compile_file(model, example, loss=loss, **options)
