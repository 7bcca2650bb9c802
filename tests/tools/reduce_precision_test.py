"""--reduce-precision: what travels has 16 bits, what it is added up in 32."""

import re
import struct

from emulator import emulated
from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, main


class ReducePrecision(Case):

    def weights(self, *options, **environment):
        self.succeeds("train", MLP, "--data", MLP_DATA, "--steps", "3",
                      "--micro-batch", "4", "--save-weights", "w.safetensors",
                      *options, **environment)
        return self.tensors("w.safetensors")

    def test_bits_depend_on_it_alone(self):
        """The same of stages and numbers of ranks, as of buckets."""
        for precision in ("fp32", "bf16"):
            found = []
            for wire in ("fp32", "bf16", "fp16"):
                common = ["--precision", precision, "--reduce-precision", wire]
                first = self.weights(*common, "--accumulate", "4")
                found.append(first)
                for ranks, accumulate in (("2", "2"), ("4", "1")):
                    for zero in ("0", "1", "2", "3"):
                        with self.subTest((precision, wire, ranks, zero)):
                            self.assertEqual(first, self.weights(
                                *common, "--ranks", ranks, "--accumulate",
                                accumulate, "--zero", zero))
                with self.subTest((precision, wire, "buckets and a norm")):
                    clip = ["--clip-norm", "0.1"]
                    self.assertEqual(
                        self.weights(*common, *clip, "--accumulate", "4"),
                        self.weights(*common, *clip, "--ranks", "2",
                                     "--accumulate", "2", "--zero", "2",
                                     "--bucket-bytes", "4096"))
            self.assertNotEqual(found[0], found[1])
            self.assertNotEqual(found[0], found[2])
            self.assertNotEqual(found[1], found[2])

    def test_traffic_is_halved(self):
        model = ["train", GPT, "--data", GPT_DATA, "--micro-batch", "1",
                 "--ranks", "2", "--zero", "3", "--steps", "20"]
        received, losses = {}, {}
        for wire in ("fp32", "bf16", "fp16"):
            text = self.succeeds(*model, "--reduce-precision", wire, "--log",
                                 wire).stdout
            planned, seen = re.search(
                r"\n    reductions +([\d,]+) +([\d,]+)\n", text).groups()
            self.assertEqual(planned, seen)
            received[wire] = int(seen.replace(",", ""))
            losses[wire] = self.losses(wire)
        self.assertEqual(received["fp32"], 2 * received["bf16"])
        self.assertEqual(received["fp32"], 2 * received["fp16"])
        for wire in ("bf16", "fp16"):
            self.assertEqual(losses[wire][0], losses["fp32"][0])
            self.assertNotEqual(losses[wire], losses["fp32"])
            for loss, exact in zip(losses[wire], losses["fp32"]):
                self.assertAlmostEqual(loss, exact, delta=0.05)

    def test_gradients_are_rounded_once(self):
        def gradients(wire):
            self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch",
                          "8", "--dump-gradients", "g.safetensors",
                          "--reduce-precision", wire)
            return [value for _, (_, _, data) in
                    sorted(self.tensors("g.safetensors").items())
                    for value in struct.unpack("<%df" % (len(data) // 4), data)]

        def bf16(value):
            bits = struct.unpack("<I", struct.pack("<f", value))[0]
            bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
            return struct.unpack("<f", struct.pack("<I", bits))[0]

        exact = gradients("fp32")
        self.assertEqual(gradients("bf16"), [bf16(each) for each in exact])
        # Nothing is added to the gradients of one micro-batch.
        self.assertEqual(gradients("fp16"), [
            struct.unpack("<e", struct.pack("<e", each))[0] for each in exact])

    def test_it_is_said(self):
        plan = self.compile_mlp("p.zgplan", "--reduce-precision", "bf16")
        self.assertEqual(self.inspect(plan)["reduce_precision"], "bf16")
        self.assertIn(", gradients sent in bf16",
                      self.succeeds("inspect", plan).stdout)
        plan = self.compile_mlp("q.zgplan")
        self.assertEqual(self.inspect(plan)["reduce_precision"], "fp32")

    def test_a_configuration(self):
        self.put("ds.json", '{"train_micro_batch_size_per_gpu": 8, '
                            '"communication_data_type": "bf16", '
                            '"zero_optimization": {"stage": 2}}')
        self.succeeds("compile", MLP, "-o", "p.zgplan", "--config", "ds.json",
                      "--ranks", "2")
        self.assertEqual(self.inspect("p.zgplan")["reduce_precision"], "bf16")

    def test_a_rank_sends_its_own_sum(self):
        last = ["--reduce", "last", "--ranks", "2", "--accumulate", "2"]
        found = []
        for wire in ("fp32", "bf16", "fp16"):
            first, second = (self.weights(*last, "--zero", zero,
                                          "--reduce-precision", wire)
                             for zero in "01")
            self.assertEqual(first, second)
            self.assertNotIn(first, found)
            found.append(first)
        # Once a step, each rank gives the other half of the gradients.
        traffic = {}
        for wire in ("fp32", "bf16"):
            self.succeeds("compile", MLP, "-o", "p.zgplan", *last, "--zero",
                          "1", "--micro-batch", "8", "--reduce-precision", wire)
            report = self.inspect("p.zgplan")
            self.assertEqual(report["reduce_precision"], wire)
            traffic[wire] = report["traffic"]["reduce"]
        self.assertEqual(traffic["fp32"], 2 * traffic["bf16"])

    def test_a_gpu_has_the_hosts_bits(self):
        generated = ["--matmul", "generated", "--accumulate", "2"]
        for wire in ("bf16", "fp16"):
            for ranks in ([], ["--ranks", "2", "--zero", "3"],
                          ["--ranks", "2", "--zero", "1", "--reduce", "last"]):
                with self.subTest((wire, ranks)):
                    options = [*generated, *ranks, "--reduce-precision", wire]
                    host = self.weights(*options)
                    self.assertEqual(host, self.weights(
                        *options, "--target", "cuda:emulated", **emulated()))

    def test_nccl_would_add_up_in_16_bits(self):
        self.refused("compile", MLP, "-o", "p.zgplan", "--micro-batch", "8",
                     "--ranks", "2", "--target", "cuda:sm_80", "--reduction",
                     "nccl", "--reduce-precision", "bf16",
                     parts=["--reduce-precision bf16 excludes --reduction nccl: "
                            "what is rounded is added up in float32",
                            "give one of them"])


main()
