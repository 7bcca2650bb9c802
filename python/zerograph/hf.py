"""A trainer that is used as that of Hugging Face's transformers.

    from zerograph import hf

    trainer = hf.Trainer(model, args, train_dataset, eval_dataset, ranks=2, zero=2)
    trainer.train()
    trainer.save_model("out")

`args` are transformers.TrainingArguments: each is taken, has no effect here for a
reason that _hf_arguments.py has, or is refused. What else a plan can have (`ranks`,
`zero`, `offload_optimizer`, ...) are keywords, as of `zg.compile`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import transformers
from accelerate.data_loader import SeedableRandomSampler
from torch.utils.data import DataLoader, SequentialSampler
from transformers.integrations import get_reporting_integration_callbacks
from transformers.trainer_callback import (CallbackHandler, DefaultFlowCallback,
                                           PrinterCallback, ProgressCallback,
                                           TrainerControl, TrainerState)
from transformers.trainer_pt_utils import (LengthGroupedSampler,
                                           find_batch_size)
from transformers.trainer_utils import (RemoveColumnsCollator, TrainOutput,
                                        speed_metrics)

from ._compile import compile
from ._hf_arguments import plan_options
from ._hf_checkpoints import Checkpoints, check_best
from ._hf_keywords import refuse_others
from ._hf_lengths import Shapes, examples, first_samples, numbers
from ._hf_predict import Predictions, for_loss
from ._launch import is_alone, is_first
from ._library import InvalidArgument, warn
from ._trainer import Trainer as _Trainer
from ._wrapper import parameters_of

def _is_of_transformers(collator: Callable) -> bool:
    """Tells whether transformers' trainer has been the collator's only caller:
    that gives it the model's columns alone."""
    return any(getattr(one, "__module__", "").startswith("transformers.")
               for one in (collator, *type(collator).__mro__))


class Trainer(Predictions, Checkpoints):
    """Trains a model as transformers.Trainer does: see the module.

    The model returns its loss, or `loss` is a function of its output and the
    labels. Under mpirun or srun each process is a rank, and draws the same
    samples, of which it takes its part. Items of a dataset are dictionaries;
    `data_collator` makes a batch of them, of one shape or, with `lengths`, of any
    length that is no more: each of these has a plan, up to the next of which a
    batch with an attention_mask is filled up. After `train` the model has the
    trained weights. Other keywords are options of `zg.compile`, and come
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
                 lengths: Iterable[int] | None = None, **options):
        check_best(args, eval_dataset)
        self.model, self.args = model, args
        self.processing_class = processing_class
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.data_collator = data_collator or (
            transformers.default_data_collator if processing_class is None else
            transformers.DataCollatorWithPadding(processing_class))
        self._loss, self._options = loss, refuse_others(Trainer, self, options)
        self.compute_metrics = compute_metrics
        self.preprocess_logits_for_metrics = preprocess_logits_for_metrics
        shown = (PrinterCallback if args.disable_tqdm and is_first() else
                 ProgressCallback)
        self.callback_handler = CallbackHandler(
            [DefaultFlowCallback, shown,
             *get_reporting_integration_callbacks(args.report_to),
             *(callbacks or [])], model,
            processing_class, None, None)
        self.state, self.control = TrainerState(), TrainerControl()
        self._trainer: _Trainer | None = None
        os.makedirs(args.output_dir, exist_ok=True)
        self.plans = self._compile(None if lengths is None else numbers(lengths))
        self.plan = self.plans[0]
        self.control = self._call("on_init_end")

    @property
    def _main_input(self) -> str:
        """Returns the name of the input that has the length."""
        return getattr(self.model, "main_input_name", "input_ids")

    @property
    def _padding(self) -> int:
        """Returns the token that fills sequences up."""
        for one in (self.processing_class, getattr(self.model, "config", None)):
            token = getattr(one, "pad_token_id", None)
            if isinstance(token, int):
                return token
        return 0

    def _compile(self, lengths: list[int] | None) -> list:
        """Returns a plan for each length, the longest first."""
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
        made = examples(self._example(), self._main_input, lengths)
        self._shapes = Shapes(made, self._main_input, lengths, self._padding)
        plans = [compile(self.model, made[0], self._loss, **options)]
        options["micro_batch"] = plans[0].facts["micro_batch"]
        plans += [compile(self.model, one, self._loss, **options)
                  for one in made[1:]]
        rest = self._parts_of_rest(plans[0])
        self._takes_rest = bool(rest)
        if rest:
            options.pop("global_batch", None)
            options.update(rest)
            plans += [compile(self.model, first_samples(one, rest["micro_batch"]),
                              self._loss, **options) for one in made]
        return plans

    def _parts_of_rest(self, plan) -> dict[str, int]:
        """Returns the options of the smaller step that ends an epoch, as in
        transformers: as few equal micro-batches as are no larger than others, and
        not much smaller; nothing where there is none. Refuses fewer samples than
        a step takes, and warns of a rest that cannot be divided so."""
        if self.train_dataset is None:
            return {}
        samples = len(self.train_dataset)
        if samples < plan.samples:
            raise InvalidArgument(f"train_dataset has {samples} samples, and a "
                                  f"step takes {plan.samples}")
        rest = samples % plan.samples
        if not rest or self.args.dataloader_drop_last:
            return {}
        # One of several processes might have given its part of a whole step.
        as_part = not is_alone() and rest * plan.ranks == plan.samples
        if rest % plan.ranks == 0 and not as_part:
            own, most = rest // plan.ranks, plan.facts["micro_batch"]
            parts = next(parts for parts in range(1, own + 1)
                         if own % parts == 0 and own // parts <= most)
            if parts == 1 or 2 * (own // parts) > most:
                return {"micro_batch": own // parts, "accumulate": parts}
        warn(f"a step takes {plan.samples} samples: the last {rest} of the "
             f"{samples} of train_dataset are left out in each epoch, of which "
             "transformers would make a smaller step: " +
             ("a process has as many of a whole step" if as_part else
              f"{plan.ranks} ranks and equal micro-batches cannot divide them"))
        return {}

    def _example(self) -> dict[str, torch.Tensor]:
        """Returns a batch, from which the plan has its shapes."""
        dataset = self.train_dataset
        if dataset is None:
            dataset = self.eval_dataset
            if isinstance(dataset, dict):
                dataset = next(iter(dataset.values()))
        if dataset is None:
            raise InvalidArgument("give train_dataset=, or to evaluate alone "
                                  "eval_dataset=: a plan has the shapes of its "
                                  "samples")
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise InvalidArgument(
                f"the dataset is a {type(dataset).__name__}, expected one with a "
                "length and items: give train_dataset=, and all others by name "
                "too")
        count = min(len(dataset), self.args.per_device_train_batch_size)
        return self._batch([dataset[i] for i in range(count)])

    def _batch(self, items: list) -> dict[str, torch.Tensor]:
        """Returns a batch of what the model or the loss takes."""
        collate = self.data_collator
        if self._loss is not None:
            return for_loss(self, collate(items))
        if not self.args.remove_unused_columns:
            return dict(collate(items))
        taken = parameters_of(self.model)
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
        if args.train_sampling_strategy == "random":
            # Each epoch has the order that it has in transformers.
            sampler: Any = SeedableRandomSampler(
                self.train_dataset, generator=torch.Generator(),
                data_seed=args.seed if args.data_seed is None else args.data_seed)
        elif args.train_sampling_strategy == "sequential":
            sampler = SequentialSampler(self.train_dataset)
        elif args.train_sampling_strategy == "group_by_length":
            seed = args.seed if args.data_seed is None else args.data_seed
            column = getattr(self.train_dataset, "column_names", None) or ()
            sampler = LengthGroupedSampler(
                self.plan.samples, self.train_dataset,
                list(self.train_dataset[args.length_column_name])
                if args.length_column_name in column else None,
                self._main_input, torch.Generator().manual_seed(seed))
        else:
            raise InvalidArgument(
                f"train_sampling_strategy={args.train_sampling_strategy!r}: there "
                "are random, sequential and group_by_length")
        return DataLoader(
            self.train_dataset, self.plan.samples, sampler=sampler,
            drop_last=not self._takes_rest, collate_fn=self._batch,
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
        resume = (self._newest() if resume_from_checkpoint is True else
                  resume_from_checkpoint or None)
        if resume is None:
            self._refuse_to_mix()
        try:
            with _Trainer(self.plans, seed=None if resume else self.args.seed,
                          resume=resume) as self._trainer:
                self.state.global_step = self._trainer.steps
                if resume:
                    self._restore(resume)
                self._run(loader)
                self._trainer.load_into(self.model)
        finally:
            self._trainer = None
        self._end_with_best()
        mean = self._losses / max(1, self._made)
        metrics = {**speed_metrics("train", begin, self._seen, self._made),
                   "train_loss": mean}
        self.log(metrics)
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
        self._losses, self._made, self._seen = 0.0, 0, 0
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
        batch = self._shapes.fit(batch)
        rate = self._schedule.get_last_lr()[0]
        loss = self._trainer.step(batch, lr=rate)
        self._schedule.optimizer.step()
        self._schedule.step()
        self._losses, self._made = self._losses + loss, self._made + 1
        self._seen += find_batch_size(batch)
        self._logged.append(loss)
        self.state.global_step += 1
        self.state.epoch = self.state.global_step / steps_of_epoch
        self.control = self._call("on_step_end")
        self._act(loss, rate)
        if last or self.control.should_training_stop:
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
