"""A tiny model, its arguments and data, which the suites of zerograph.hf share."""

import copy
import warnings

import torch
import transformers
from support import Case
from zerograph import hf


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


class Rows(torch.utils.data.Dataset):
    """Sequences of one length, or of several; from `right` on each token has
    the other label."""

    def __init__(self, count, lengths=(12,), seed=1, right=12):
        self.right = right
        random = torch.Generator().manual_seed(seed)
        self.ids = [torch.randint(3, 64, (lengths[i % len(lengths)],),
                                  generator=random) for i in range(count)]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        labels = (self.ids[i] > 30).long()
        labels[self.right:] = 1 - labels[self.right:]
        return {"input_ids": self.ids[i], "labels": labels,
                "attention_mask": torch.ones_like(self.ids[i])}


def padded(items):
    """Pads a batch to its longest sequence."""
    return {name: torch.nn.utils.rnn.pad_sequence(
        [one[name] for one in items], batch_first=True,
        padding_value=-100 if name == "labels" else 0) for name in items[0]}


class Against(HfCase):
    MODEL = transformers.BertForTokenClassification
    ARGUMENTS = {"per_device_eval_batch_size": 6}

    def both(self, arguments, evaluated=Rows(20, seed=2), given=None,
             train=Rows(32)):
        """Returns this package's trainer and that of transformers, which have
        trained. `given` makes other keywords."""
        trainers = []
        for kind, folder in ((hf.Trainer, "out"), (transformers.Trainer, "other")):
            trainers.append(kind(
                copy.deepcopy(self.model),
                self.arguments(folder, **arguments), train_dataset=train,
                eval_dataset=evaluated, **(given() if given else {})))
            trainers[-1].train()
        return trainers

    def equal(self, ours, theirs, leave_out=("runtime", "per_second", "time")):
        names = [{name for name in one if not name.endswith(leave_out)}
                 for one in (ours, theirs)]
        self.assertEqual(*names)
        for name in names[0]:
            self.assertAlmostEqual(ours[name], theirs[name], 5, name)
