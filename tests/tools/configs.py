"""What tests of DeepSpeed's and Accelerate's files share."""

import json

from support import MLP, Case

GOOD = {
    "train_batch_size": 32,
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 2,
    "optimizer": {"type": "Adam",
                  "params": {"lr": 2e-3, "betas": [0.8, 0.95], "eps": 1e-6}},
    "gradient_clipping": 0,
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 1e3,
                          "allgather_bucket_size": 5e8,
                          "overlap_comm": True},
    "steps_per_print": 10,
}
AS_OPTIONS = ["--ranks", "2", "--micro-batch", "8", "--accumulate", "2",
              "--optimizer", "adamw", "--lr", "2e-3", "--betas", "0.8,0.95",
              "--eps", "1e-6", "--weight-decay", "0", "--zero", "2",
              "--bucket-bytes", "4000"]


class ConfigCase(Case):

    def write(self, content, name="ds.json"):
        self.put(name, content if isinstance(content, str)
                       else json.dumps(content, indent=2))
        return name

    def compiles_to(self, name, *options):
        result = self.succeeds("compile", MLP, "-o", name, *options)
        return self.bytes_of(name), result.stderr
