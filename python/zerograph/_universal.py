"""Names in DeepSpeed's universal checkpoints.

    DIR/latest_universal                 the name of the newest checkpoint
    DIR/TAG/mp_rank_00_model_states.pt   where the run is; of ZeRO 3
                                         zero_pp_rank_0_mp_rank_00_...
    DIR/TAG/zero/optimizer_state.pt
    DIR/TAG/zero/PARAMETER/fp32.pt       also exp_avg.pt, exp_avg_sq.pt, step.pt

As deepspeed/checkpoint/ds_to_universal.py of DeepSpeed 0.19.8 writes it, and its
engine with `checkpoint.load_universal` reads it.
"""

from __future__ import annotations

import os

LATEST = "latest_universal"
OPTIMIZER_STATE = os.path.join("zero", "optimizer_state.pt")
#: The files of ZeRO 1 and 2, and of 3.
MODEL_STATES = ["mp_rank_00_model_states.pt",
                "zero_pp_rank_0_mp_rank_00_model_states.pt"]


def file_of(role: str) -> str:
    """Returns what a parameter's file is called, without ".pt": of a state as
    PyTorch calls it, and so do we."""
    return "fp32" if role == "values" else role
