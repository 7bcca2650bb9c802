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
the files of PyTorch and DeepSpeed, needs torch.
"""

from . import names
from ._compile import compile
from ._library import Error, InvalidArgument
from ._plan import Plan, load
from ._trainer import Loss, Trainer

__all__ = ["Error", "InvalidArgument", "Loss", "Plan", "Trainer", "check",
           "compile", "convert", "export", "load", "names"]

#: Maps names that need PyTorch to the modules that are imported for them.
_NEED_TORCH = {"export": "._export", "check": "._check", "convert": ".convert"}


def __getattr__(name):
    if name == "__version__":
        from ._library import library
        return library().zg_version().decode()
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'zerograph' has no attribute '{name}'")
    from importlib import import_module
    module = import_module(_NEED_TORCH[name], __name__)
    return module if name == "convert" else getattr(module, name)
