"""Compiles training graphs in ONNX, and trains with the plans.

    import zerograph as zg

    plan = zg.compile("model.onnx", example=batch, ranks=2, zero=3)
    print(plan)                       # what it is, needs and moves
    with zg.Trainer(plan) as trainer:
        for batch in loader:          # {"x": ..., "labels": ...}
            loss = trainer.step(batch, lr=1e-3)
        trainer.save_weights("trained.safetensors")

Arrays are numpy's, PyTorch's, or others that speak DLPack. numpy is all that
this package needs.
"""

from ._library import Error, InvalidArgument, version as _version
from ._plan import Plan, compile, load
from ._trainer import Loss, Trainer

__version__ = _version()
__all__ = ["Error", "InvalidArgument", "Loss", "Plan", "Trainer", "compile",
           "load"]
