"""An ONNX file that others published is trained further as it is: all of it,
its last layer, and adapters. The file is that of Magika, which tells kinds of
files apart, from the wheel on PyPI; the samples are sources of this project, of
which Magika is told other kinds than it thinks."""

import glob
import json
import os
import struct
import subprocess
import sys
import zipfile

from support import Case, MODELS, main, write_tensors

PACKAGE = "magika==1.0.3"
INSIDE = "magika/models/standard_v3_3/"
SCORES = "jax2tf_get_logits_/pjit_get_logits_/MagikaV2/Dense_1/AddV2:0"
# By the names of the file: the last layer's weight and bias, and all matrices.
LAST = ["jax2tf_get_logits_/Const_24:0", "*/Dense_1/Reshape:0"]
WAYS = {
    "all": [],
    "the last layer": [word for name in LAST for word in ("--train", name)],
    "adapters": ["--lora", "8:jax2tf_get_logits_/Const*", "--lora-alpha", "16"],
}
KINDS = {"rust": "tests/passes/**/*.mlir", "cpp": "passes/**/*.td",
         "python": "tests/tools/*.py", "markdown": "*/README.md"}
PER_KIND = 8
STEPS = 24


def features(content):
    """The first and the last 1024 bytes, without blanks, padded with 256."""
    begin, end = content[:1024].lstrip(), content[-1024:].rstrip()
    return ([*begin, *[256] * (1024 - len(begin))] +
            [*[256] * (1024 - len(end)), *end])


class Published(Case):

    def download(self):
        """The folder of the model; skips where there is no network."""
        if not os.environ.get("ZEROGRAPH_FULL"):
            self.skipTest("it downloads 16 MB from PyPI: only with --full")
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps",
             "--only-binary", ":all:", "--disable-pip-version-check",
             "-d", self.folder, PACKAGE], capture_output=True, text=True,
            timeout=300, stdin=subprocess.DEVNULL)
        wheels = glob.glob(self.path("*.whl"))
        if result.returncode != 0 or not wheels:
            lines = result.stderr.strip().splitlines() or ["no message"]
            self.skipTest(f"pip cannot download {PACKAGE}: {lines[-1]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in ("model.onnx", "config.min.json"):
                wheel.extract(INSIDE + name, self.folder)
        return self.path(INSIDE)

    def write_data(self, kinds):
        sources = os.path.dirname(MODELS)
        samples = []
        for kind, pattern in KINDS.items():
            files = sorted(f for f in glob.glob(os.path.join(sources, pattern),
                                                recursive=True)
                           if f"{os.sep}build{os.sep}" not in f)
            self.assertGreaterEqual(len(files), PER_KIND, kind)
            for file in files[:PER_KIND]:
                samples.append((features(self.bytes_of(file)),
                                kinds.index(kind)))
        # Every batch has samples of every kind.
        samples = [sample for i in range(PER_KIND)
                   for sample in samples[i::PER_KIND]]
        count = len(samples)
        write_tensors(self.path("data.safetensors"), {
            "bytes": ("I32", [count, 2048], b"".join(
                struct.pack("<2048i", *row) for row, _ in samples)),
            "labels": ("I64", [count], struct.pack(
                f"<{count}q", *(label for _, label in samples)))})

    def train(self, model, *options):
        result = self.succeeds(
            "train", model, "--loss", "cross_entropy", "--loss-on", SCORES,
            "--data", "data.safetensors", "--ranks", "2", "--zero", "2",
            "--micro-batch", "4", "--log", "log.jsonl", *options)
        return self.losses("log.jsonl"), result

    def test_three_ways(self):
        folder = self.download()
        model = os.path.join(folder, "model.onnx")
        with open(os.path.join(folder, "config.min.json")) as file:
            self.write_data(json.load(file)["target_labels_space"])
        epoch = PER_KIND * len(KINDS) // 8
        for way, options in WAYS.items():
            with self.subTest(way):
                losses, _ = self.train(
                    model, *options, "--lr", "1e-3", "--steps", str(STEPS),
                    "--save-weights", "tuned.safetensors")
                first = sum(losses[:epoch]) / epoch
                last = sum(losses[-epoch:]) / epoch
                print(f"{way}: mean loss of the first epoch {first:.3f}, of "
                      f"the last {last:.3f}", file=sys.stderr)
                self.assertLess(last, 0.8 * first)
                # All weights have their names in the file: it runs with them.
                self.assertFalse([name for name in
                                  self.tensors("tuned.safetensors")
                                  if "lora" in name])
                again, result = self.train(
                    model, "--load-weights", "tuned.safetensors", "--lr", "0",
                    "--steps", str(epoch))
                self.assertNotIn("not read", result.stderr)
                self.assertLess(sum(again) / epoch, 0.8 * first)


if __name__ == "__main__":
    main()
