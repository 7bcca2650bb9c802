"""A tiny model and its arguments, which the suites of zerograph.hf share."""

import warnings

import torch
import transformers
from support import Case


class HfCase(Case):
    MODEL = transformers.BertForSequenceClassification
    ARGUMENTS = {}

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        torch.manual_seed(0)
        self.model = self.MODEL(transformers.BertConfig(
            hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
            intermediate_size=48, vocab_size=64, num_labels=2,
            max_position_embeddings=32, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0))

    def arguments(self, folder="out", **changed):
        return transformers.TrainingArguments(**{
            "output_dir": self.path(folder), "per_device_train_batch_size": 8,
            "num_train_epochs": 2, "learning_rate": 1e-3, "logging_steps": 2,
            "eval_strategy": "epoch", "save_strategy": "no",
            "report_to": "none", "disable_tqdm": True,
            "train_sampling_strategy": "sequential", "use_cpu": True,
            **self.ARGUMENTS, **changed})
