"""transformers.TrainingArguments as options of a plan."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import transformers

from ._library import InvalidArgument

#: Names the arguments that decide the plan, the loop, logs, evaluations and
#: checkpoints.
_TAKEN = {
    "output_dir", "per_device_train_batch_size", "per_device_eval_batch_size",
    "num_train_epochs", "max_steps", "learning_rate", "lr_scheduler_type",
    "lr_scheduler_kwargs", "warmup_steps", "warmup_ratio", "optim",
    "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon",
    "gradient_accumulation_steps", "max_grad_norm", "bf16", "fp16",
    "gradient_checkpointing", "logging_strategy", "logging_steps",
    "logging_first_step", "disable_tqdm", "eval_strategy", "eval_steps",
    "eval_delay", "eval_on_start", "save_strategy", "save_steps",
    "save_total_limit", "seed", "data_seed", "dataloader_drop_last",
    "dataloader_num_workers",
    "dataloader_prefetch_factor", "dataloader_persistent_workers",
    "remove_unused_columns", "train_sampling_strategy", "length_column_name",
    "label_names",
    "load_best_model_at_end", "metric_for_best_model", "greater_is_better",
    "prediction_loss_only", "include_for_metrics", "eval_do_concat_batches",
    "use_cache", "activation_checkpointing", "report_to", "run_name", "project"}

#: Maps arguments that ask for nothing that would be missed to the reason.
_NO_EFFECT = {
    "average_tokens_across_devices": "give loss_mean=\"tokens\", which is a plan's",
    "dataloader_pin_memory": "batches go to where the plan reads them",
    "gradient_checkpointing_kwargs": "recomputation is exact however it is made",
    "activation_checkpointing_kwargs":
        "recomputation is exact however it is made",
    "use_cpu": "the plan has a target",
    "full_determinism": "every run has the same bits",
    "ddp_find_unused_parameters": "the plan knows them",
    "ddp_bucket_cap_mb": "the plan decides what is exchanged at once",
    "ddp_broadcast_buffers": "there is no DDP", "ddp_backend": "there is no DDP",
    "ddp_static_graph": "there is no DDP", "ddp_timeout": "give deadline=",
    "torch_compile": "the whole step is compiled",
    "torch_compile_backend": "the whole step is compiled",
    "torch_compile_mode": "the whole step is compiled",
    "torch_empty_cache_steps": "there is no cache",
    "skip_memory_metrics": "plan.memory has them, exactly",
    "log_level": "notes go to the logger zerograph",
    "log_level_replica": "notes go to the logger zerograph",
    "logging_nan_inf_filter": "losses are logged as they are",
    "eval_accumulation_steps": "predictions are kept as arrays of numpy",
    "resume_from_checkpoint": "train() takes it",
    "do_train": "", "do_eval": "", "do_predict": "", "local_rank": "",
    "save_only_model": "", "eval_use_gather_object": ""}

#: Maps arguments that are refused to what takes their place.
_INSTEAD = {
    "label_smoothing_factor": "give loss=, as a function of logits and labels that "
                              "calls cross_entropy with label_smoothing=",
    "fsdp": "give zero=3", "fsdp_config": "give zero=3",
    "deepspeed": "give config=, DeepSpeed's file",
    "auto_find_batch_size": "give micro_batch=\"auto\", memory= and global_batch=",
    "bf16_full_eval": "give bf16=True", "fp16_full_eval": "give fp16=True"}

_OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw",
               "adamw_hf": "adamw", "adamw_apex_fused": "adamw", "sgd": "sgd",
               "adagrad": "adagrad", "lion_32bit": "lion"}


def _optim(args) -> str:
    return str(getattr(args.optim, "value", args.optim))


def _refuse_unknown(args) -> None:
    """Refuses what is asked for, and would not be done."""
    plain = type(args)(output_dir=args.output_dir)
    refused = [name for name in (one.name for one in dataclasses.fields(args))
               if name not in _TAKEN and name not in _NO_EFFECT and
               getattr(args, name, None) != getattr(plain, name)]
    if refused:
        raise InvalidArgument(
            "TrainingArguments has what this trainer does not do: " +
            ", ".join(f"{name}={getattr(args, name)!r}, "
                      f"{_INSTEAD.get(name, 'leave it out')}"
                      for name in refused))
    if _optim(args) not in _OPTIMIZERS:
        raise InvalidArgument(f"optim={args.optim}: there are "
                              f"{', '.join(_OPTIMIZERS)}")


def _without_decay(model: torch.nn.Module) -> list[str]:
    """Returns the parameters that transformers.Trainer does not decay."""
    decayed = transformers.Trainer.get_decay_parameter_names(None, model)
    return [name for name, _ in model.named_parameters() if name not in decayed]


def plan_options(args, model: torch.nn.Module) -> dict[str, Any]:
    """Returns what TrainingArguments say of a plan, as options of
    `zg.compile`."""
    _refuse_unknown(args)
    optim = _optim(args)
    options: dict[str, Any] = {
        "micro_batch": args.per_device_train_batch_size,
        "accumulate": args.gradient_accumulation_steps,
        "optimizer": _OPTIMIZERS[optim], "lr": args.learning_rate,
        "precision": "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32",
        "recompute": "units" if args.gradient_checkpointing else None,
        "clip_norm": args.max_grad_norm or None}
    if _OPTIMIZERS[optim] in ("adamw", "lion"):
        options["betas"] = (args.adam_beta1, args.adam_beta2)
    if _OPTIMIZERS[optim] == "adamw":
        options["eps"] = args.adam_epsilon
    if args.weight_decay or _OPTIMIZERS[optim] == "adamw":
        options["weight_decay"] = args.weight_decay
        if args.weight_decay:
            options["group"] = {name: {"weight_decay": 0}
                                for name in _without_decay(model)}
    return options
