"""A trainer that is used as that of Hugging Face's transformers.

    from zerograph import hf

    trainer = hf.Trainer(model, args, train_dataset, eval_dataset, ranks=2, zero=2)
    trainer.train()
    trainer.save_model("out")

`args` are transformers.TrainingArguments: each is taken, has no effect here for a
reason that is written below, or is refused. What else a plan can have (`ranks`,
`zero`, `offload_optimizer`, ...) are keywords, as of `zg.compile`.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from transformers.trainer_callback import (CallbackHandler, DefaultFlowCallback,
                                           PrinterCallback, ProgressCallback,
                                           TrainerControl, TrainerState)
from transformers.trainer_utils import RemoveColumnsCollator, TrainOutput

from ._compile import compile
from ._hf_checkpoints import Checkpoints, check_best
from ._hf_keywords import refuse_others
from ._hf_predict import Predictions
from ._launch import is_first
from ._library import InvalidArgument
from ._trainer import Trainer as _Trainer
from ._wrapper import parameters_of

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
    "save_total_limit", "seed", "data_seed", "dataloader_num_workers",
    "dataloader_prefetch_factor", "dataloader_persistent_workers",
    "remove_unused_columns", "train_sampling_strategy", "label_names",
    "load_best_model_at_end", "metric_for_best_model", "greater_is_better",
    "prediction_loss_only", "include_for_metrics", "eval_do_concat_batches",
    "use_cache"}

#: Maps arguments that ask for nothing that would be missed to the reason.
_NO_EFFECT = {
    "average_tokens_across_devices": "give loss_mean=\"tokens\", which is a plan's",
    "dataloader_drop_last": "a plan has one batch size: the last batch is left out",
    "dataloader_pin_memory": "batches go to where the plan reads them",
    "gradient_checkpointing_kwargs": "recomputation is exact however it is made",
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
    "run_name": "", "project": "",
    "save_only_model": "",
    "eval_use_gather_object": ""}

_OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw",
               "adamw_hf": "adamw", "adamw_apex_fused": "adamw", "sgd": "sgd",
               "adagrad": "adagrad", "lion_32bit": "lion"}


def _refuse_unknown(args) -> None:
    """Refuses what is asked for, and would not be done."""
    plain = type(args)(output_dir=args.output_dir)
    refused = [name for name in (one.name for one in dataclasses.fields(args))
               if name not in _TAKEN and name not in _NO_EFFECT and
               getattr(args, name, None) != getattr(plain, name)]
    if refused:
        raise InvalidArgument(
            "TrainingArguments has what this trainer does not do: " +
            ", ".join(f"{name}={getattr(args, name)!r}" for name in refused) +
            "; leave it out")
    if str(args.optim.value if hasattr(args.optim, "value")
           else args.optim) not in _OPTIMIZERS:
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
    optim = str(getattr(args.optim, "value", args.optim))
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


def _is_of_transformers(collator: Callable) -> bool:
    """Tells whether transformers' trainer has been the collator's only caller:
    that gives it the model's columns alone."""
    return any(getattr(one, "__module__", "").startswith("transformers.")
               for one in (collator, *type(collator).__mro__))


class Trainer(Predictions, Checkpoints):
    """Trains a model as transformers.Trainer does: see the module.

    The model returns its loss, or `loss` is a function of its output and the
    labels. Under mpirun or srun each process is a rank, and draws the same
    samples, of which it takes its part. Items of a dataset are dictionaries of
    one shape; `data_collator` makes a batch of them. After `train` the model has
    the trained weights. Other keywords are options of `zg.compile`, and come
    before the arguments': with global_batch=256, micro_batch="auto" and
    memory="h100" a micro-batch has as many samples as fit.

    Predictions, which `compute_metrics` takes, are PyTorch's, of the module with
    the trained weights. Each of several processes makes all of them, so all have
    the same metrics and do the same next; `compute_metrics` is to return the same
    in all.
    """

    log = transformers.Trainer.log
    log_metrics = transformers.Trainer.log_metrics
    save_metrics = transformers.Trainer.save_metrics
    save_state = transformers.Trainer.save_state
    add_callback = transformers.Trainer.add_callback
    pop_callback = transformers.Trainer.pop_callback
    remove_callback = transformers.Trainer.remove_callback
    create_model_card = transformers.Trainer.create_model_card

    def __init__(self, model: torch.nn.Module,
                 args: transformers.TrainingArguments, train_dataset=None,
                 eval_dataset=None, data_collator: Callable | None = None,
                 processing_class=None, callbacks: list | None = None,
                 loss: Callable | None = None,
                 compute_metrics: Callable | None = None,
                 preprocess_logits_for_metrics: Callable | None = None,
                 **options):
        check_best(args, eval_dataset)
        self.model, self.args = model, args
        self.processing_class = processing_class
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.data_collator = data_collator or (
            transformers.default_data_collator if processing_class is None else
            transformers.DataCollatorWithPadding(processing_class))
        self._loss, self._options = loss, refuse_others(self, options)
        self.compute_metrics = compute_metrics
        self.preprocess_logits_for_metrics = preprocess_logits_for_metrics
        shown = (PrinterCallback if args.disable_tqdm and is_first() else
                 ProgressCallback)
        self.callback_handler = CallbackHandler(
            [DefaultFlowCallback, shown, *(callbacks or [])], model,
            processing_class, None, None)
        self.state, self.control = TrainerState(), TrainerControl()
        self._trainer: _Trainer | None = None
        os.makedirs(args.output_dir, exist_ok=True)
        self.plan = self._compile()
        self.control = self._call("on_init_end")

    def _compile(self):
        options = {**plan_options(self.args, self.model), **self._options}
        if self.eval_dataset is not None:
            options.setdefault("evaluate", True)
        self._evaluates = bool(options.get("evaluate"))
        if options["micro_batch"] == "auto" and "global_batch" not in options:
            raise InvalidArgument(
                "micro_batch='auto' divides the samples of a step: give "
                "global_batch=, how many those of all ranks are")
        if "global_batch" in options and "accumulate" not in self._options:
            if self.args.gradient_accumulation_steps != 1:
                raise InvalidArgument("global_batch= says what is accumulated: "
                                      "leave gradient_accumulation_steps out")
            options.pop("accumulate")
        plan = compile(self.model, self._example(), self._loss, **options)
        if (self.train_dataset is not None and
                len(self.train_dataset) < plan.samples):
            raise InvalidArgument(
                f"train_dataset has {len(self.train_dataset)} samples, and a "
                f"step takes {plan.samples}")
        return plan

    def _example(self) -> dict[str, torch.Tensor]:
        """Returns a batch, from which the plan has its shapes."""
        dataset = self.train_dataset
        if dataset is None:
            dataset = self.eval_dataset
            if isinstance(dataset, dict):
                dataset = next(iter(dataset.values()))
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise InvalidArgument(
                f"train_dataset is a {type(dataset).__name__}, expected a dataset "
                "with a length and items: give train_dataset=, and all others "
                "by name too")
        count = min(len(dataset), self.args.per_device_train_batch_size)
        return self._batch([dataset[i] for i in range(count)])

    def _batch(self, items: list) -> dict[str, torch.Tensor]:
        """Returns a batch of what the model or the loss takes."""
        taken = parameters_of(self.model)
        if not self.args.remove_unused_columns or self._loss is not None:
            return dict(self.data_collator(items))
        collate = self.data_collator
        if _is_of_transformers(collate):  # it takes no columns of text
            collate = RemoveColumnsCollator(collate, {
                *taken, "label", "label_ids", *(self.args.label_names or ())})
        return {name: one for name, one in collate(items).items()
                if name in taken}

    def get_train_dataloader(self) -> DataLoader:
        args = self.args
        if self.train_dataset is None:
            raise InvalidArgument("there is nothing to train on: give "
                                  "train_dataset=")
        generator = torch.Generator()
        generator.manual_seed(args.seed if args.data_seed is None
                              else args.data_seed)
        if args.train_sampling_strategy == "random":
            sampler: Any = RandomSampler(self.train_dataset, generator=generator)
        elif args.train_sampling_strategy == "sequential":
            sampler = SequentialSampler(self.train_dataset)
        else:
            raise InvalidArgument(
                f"train_sampling_strategy={args.train_sampling_strategy!r}: "
                "batches have one shape; there are random and sequential")
        return DataLoader(
            self.train_dataset, self.plan.samples, sampler=sampler,
            drop_last=True, collate_fn=self._batch,
            num_workers=args.dataloader_num_workers,
            persistent_workers=args.dataloader_persistent_workers,
            prefetch_factor=args.dataloader_prefetch_factor)

    def train(self, resume_from_checkpoint: str | bool | None = None
              ) -> TrainOutput:
        """Trains, and gives the model the weights. A checkpoint to go on from is
        a folder that this trainer wrote; True: the newest of `output_dir`."""
        begin = time.time()
        loader = self.get_train_dataloader()
        self._begin(len(loader))
        resume = (self._checkpoints() if resume_from_checkpoint is True else
                  resume_from_checkpoint or None)
        if resume is None:
            self._refuse_to_mix()
        with _Trainer(self.plan, seed=None if resume else self.args.seed,
                      resume=resume) as self._trainer:
            self.state.global_step = self._trainer.steps
            if resume:
                self._restore(resume)
            self._run(loader)
            self._trainer.load_into(self.model)
        self._trainer = None
        self._end_with_best()
        seconds = time.time() - begin
        mean = self._losses / max(1, self._made)
        metrics = {"train_runtime": seconds, "train_loss": mean,
                   "train_steps_per_second": self._made / seconds,
                   "train_samples_per_second":
                       self._made * self.plan.samples / seconds}
        self.control = self._call("on_train_end")
        return TrainOutput(self.state.global_step, mean, metrics)

    def save_model(self, folder: str | None = None) -> None:
        """Writes the model, with the weights that were trained, and the tokenizer
        as `save_pretrained` does."""
        if self._trainer is not None:
            self._trainer.load_into(self.model)
        if is_first():
            for one in (self.model, self.processing_class or
                        getattr(self.data_collator, "tokenizer", None)):
                if one is not None:
                    one.save_pretrained(folder or self.args.output_dir)

    def is_world_process_zero(self) -> bool:
        return is_first()

    def _begin(self, steps_of_epoch: int) -> None:
        args = self.args
        total = (args.max_steps if args.max_steps > 0 else
                 math.ceil(args.num_train_epochs * steps_of_epoch))
        self.state = TrainerState(
            max_steps=total, num_train_epochs=math.ceil(total / steps_of_epoch),
            is_world_process_zero=is_first(), is_local_process_zero=is_first(),
            train_batch_size=args.per_device_train_batch_size)
        self.state.compute_steps(args, total)
        nothing = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))],
                                  args.learning_rate)
        self._schedule = transformers.get_scheduler(
            args.lr_scheduler_type, nothing, args.get_warmup_steps(total), total,
            args.lr_scheduler_kwargs or {})
        self._losses, self._made = 0.0, 0
        self._logged: list[float] = []

    def _run(self, loader: DataLoader) -> None:
        self.callback_handler.train_dataloader = loader
        self.control = self._call("on_train_begin")
        if self.args.eval_on_start and self.eval_dataset is not None:
            self.evaluate()
        done = self.state.global_step
        for _ in range(done):
            self._schedule.optimizer.step()
            self._schedule.step()
        for number, (batch, last) in enumerate(self._batches(loader)):
            if number < done:
                continue  # the run before has made it
            self._make_step(batch, len(loader), last)
            if self.control.should_training_stop:
                break

    def _batches(self, loader: DataLoader) -> Iterator[tuple[dict, bool]]:
        """Yields the batches of all epochs, and whether one ends its epoch."""
        made = 0
        while made < self.state.max_steps:
            for i, batch in enumerate(loader):
                made += 1
                yield batch, i + 1 == len(loader)
                if made == self.state.max_steps:
                    return

    def _make_step(self, batch: dict, steps_of_epoch: int, last: bool) -> None:
        if self.state.global_step % steps_of_epoch == 0:
            self.control = self._call("on_epoch_begin")
        self.control = self._call("on_step_begin")
        rate = self._schedule.get_last_lr()[0]
        loss = self._trainer.step(batch, lr=rate)
        self._schedule.optimizer.step()
        self._schedule.step()
        self._losses, self._made = self._losses + loss, self._made + 1
        self._logged.append(loss)
        self.state.global_step += 1
        self.state.epoch = self.state.global_step / steps_of_epoch
        self.control = self._call("on_step_end")
        if last or self.control.should_training_stop:
            self._act(loss, rate)
            self.control = self._call("on_epoch_end")
        self._act(loss, rate)

    def _act(self, loss, rate: float) -> None:
        """Does what callbacks have asked for."""
        if self.control.should_log and self._logged:
            logs = {"loss": sum(self._logged) / len(self._logged),
                    "learning_rate": rate}
            if loss.gradient_norm is not None:
                logs["grad_norm"] = loss.gradient_norm
            self._logged.clear()
            self.log(logs)
        if self.control.should_evaluate and self.eval_dataset is not None:
            is_best = self._is_best(self.evaluate(), None)
            if self.args.save_strategy == "best":
                self.control.should_save = is_best
        if self.control.should_save:
            self._save()
            self.control = self._call("on_save")
        self.control.should_log = self.control.should_evaluate = False
        self.control.should_save = False

    def _call(self, event: str) -> TrainerControl:
        return getattr(self.callback_handler, event)(self.args, self.state,
                                                     self.control)
