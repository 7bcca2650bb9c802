"""Compiles training graphs in ONNX, and trains with the plans.

    import zerograph as zg

    plan = zg.compile("model.onnx", example=batch, ranks=2, zero=3)
    print(plan)                       # what it is, needs and moves
    with zg.Trainer(plan) as trainer:
        for batch in loader:          # {"x": ..., "labels": ...}
            loss = trainer.step(batch, lr=1e-3)
        trainer.save_weights("trained.safetensors")

Arrays are numpy's, PyTorch's, or others that speak DLPack. numpy is all that
this package needs; `zg.export` and `zg.check`, which write model.onnx and
compare it with PyTorch, need torch, onnx and onnxscript, and `zg.convert`, for
the files of PyTorch and DeepSpeed, needs torch. `zg.keras`, for models of Keras,
needs tensorflow and tf2onnx.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import convert, keras, names
    from ._advise import advise
    from ._check import check
    from ._compile import compile
    from ._export import export
    from ._library import Error, InvalidArgument
    from ._loss import Loss
    from ._plan import Plan, load
    from ._trainer import Trainer

#: Maps names to the modules that are imported when one is first used: numpy
#: takes most of the time, and some need PyTorch.
_PLACES = {"Error": "._library", "InvalidArgument": "._library",
           "Loss": "._loss", "Plan": "._plan", "Trainer": "._trainer",
           "advise": "._advise", "check": "._check",
           "compile": "._compile", "convert": ".convert",
           "export": "._export", "keras": ".keras", "load": "._plan",
           "names": ".names"}
__all__ = list(_PLACES)


def __getattr__(name):
    if name == "__version__":
        from ._library import library
        return library().zg_version().decode()
    if name not in _PLACES:
        raise AttributeError(f"module 'zerograph' has no attribute '{name}'")
    module = import_module(_PLACES[name], __name__)
    found = getattr(module, name, module)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
