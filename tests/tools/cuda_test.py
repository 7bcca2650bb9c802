"""`train` on an emulated GPU: the programs find the emulator as they would
NVIDIA's driver."""

import glob
import json
import os
import re
import shutil

from emulator import emulated
from support import Case, MLP, MLP_DATA, MODELS, main
from tensors import tensor_of, values_of, write_tensors

LIBRARY = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8", "--steps",
           "2"]
TRAIN = [*LIBRARY, "--matmul", "generated"]
GPT2 = os.path.join(MODELS, "gpt2-nano", "model.onnx")
RESNET = ["train", os.path.join(MODELS, "resnet-mini", "model.onnx"), "--data",
          os.path.join(MODELS, "resnet-mini", "batches.safetensors"),
          "--micro-batch", "2", "--steps", "1"]
CUDA = ["--target", "cuda:emulated"]


class Cuda(Case):

    def trained(self, *options, seed=1):
        """Notes, except what compiling says of CUDA."""
        result = self.succeeds(*TRAIN, *CUDA, *options, **emulated(SEED=seed))
        # The emulator says at the end that nothing was wrong or left.
        lines = result.stderr.splitlines()
        self.assertRegex(lines[-1], r"^emulated GPU: [1-9]\d* launches$")
        self.assertFalse(any("emulated GPU" in line for line in lines[:-1]),
                         result.stderr)
        said = [line for line in lines[:-1] if "for CUDA" not in line]
        where = [line for line in said if "Emulator" in line]
        self.assertEqual(len(where), 1, said)
        self.assertRegex(where[0], r"^note: (a GPU|2 ranks, one GPU for 2): "
                         r"Emulator, graphs: (off|compute|all)$")
        return [line for line in said if line not in where]

    def test_the_hosts_bits(self):
        for graph in "off", "compute":
            for options in [[], ["--ranks", "2", "--zero", "3"]]:
                self.succeeds(*TRAIN, *options, "--save-weights", "host")
                self.trained(*options, "--graph", graph, "--save-weights",
                             "cuda", seed=len(graph))
                self.assertEqual(self.tensors("host"), self.tensors("cuda"))

    def test_the_hosts_checkpoints(self):
        """Written on either, a run goes on on the other."""
        steps = TRAIN.index("2")
        part, whole = list(TRAIN), list(TRAIN)
        part[steps], whole[steps] = "1", "3"
        cuda = [*CUDA, "--graph", "compute", "--ranks", "2", "--zero", "3"]
        host = ["--accumulate", "2"]
        self.succeeds(*whole, *host, "--save-weights", "w")
        for first, first_on, then, then_on in (
                (cuda, emulated(), host, {}), (host, {}, cuda, emulated())):
            self.succeeds(*part, *first, "--checkpoint", "c", **first_on)
            self.succeeds(*whole, *then, "--resume", "c", "--save-weights",
                          "v", **then_on)
            self.assertEqual(self.tensors("v"), self.tensors("w"))
            shutil.rmtree(self.path("c"))

    def test_the_hosts_evaluation(self):
        def losses():
            return [record["eval_loss"] for record in self.records()]

        evaluate = ["--eval-data", MLP_DATA, "--eval-every", "1", "--log",
                    "log"]
        for options in [[], ["--ranks", "2", "--zero", "3"]]:
            self.succeeds(*TRAIN, *options, *evaluate)
            host = losses()
            self.assertEqual(len(host), 2)
            self.trained(*options, *evaluate)
            self.assertEqual(losses(), host)

    def by_library(self, *options, seed=1):
        """Trains with the emulated cuBLASLt; how often it has multiplied."""
        result = self.succeeds(*LIBRARY, *CUDA, *options, **emulated(SEED=seed))
        said = re.findall(r"emulated GPU: (.*)", result.stderr)
        self.assertEqual(len(said), 2, result.stderr)
        return int(re.fullmatch(r"(\d+) products by cuBLASLt", said[0])[1])

    def test_rows_that_begin_aligned(self):
        """63 scores are 252 bytes: products read and make rows 256 apart."""
        tokens = tensor_of("I64", [2, 63], [i * i % 256 for i in range(126)])
        write_tensors(self.path("tokens"),
                      {"input_ids": tokens, "labels": tokens})
        train = ["train", GPT2, "--data", "tokens", "--micro-batch", "1",
                 "--steps", "1", "--attention", "products", "--dump-gradients"]
        self.succeeds(*train, "host", "--accumulate", "2")
        self.succeeds(*train, "one", "--accumulate", "2", *CUDA, "--dump-ir",
                      "ir", **emulated())
        self.succeeds(*train, "two", "--ranks", "2", "--zero", "3", *CUDA,
                      **emulated(SEED=2))
        kernels, = glob.glob(self.path("ir", "*kernels.mlir"))
        self.assertIn("63x63xf32, #nn.row_stride<64>", self.text(kernels))
        one = self.tensors("one")
        self.assertEqual(self.tensors("two"), one)
        for name, host in self.tensors("host").items():
            near = values_of(host)
            least = 1e-5 * max(map(abs, near)) + 1e-7
            for a, b in zip(near, values_of(one[name]), strict=True):
                self.assertLess(abs(a - b), least, name)

    def test_functions_that_are_approximated(self):
        """They have the same bits at every stage, and nearly the CPU's."""
        one = ["--accumulate", "2"]
        self.succeeds(*LIBRARY, *one, "--save-weights", "host")
        for name, options in (("one", one),
                              ("two", ["--ranks", "2", "--zero", "3"])):
            self.by_library(*options, "--math", "fast", "--save-weights", name)
        self.by_library(*one, "--save-weights", "exact")
        self.assertEqual(self.tensors("two"), self.tensors("one"))
        self.assertNotEqual(self.tensors("exact"), self.tensors("one"))
        for name, host in self.tensors("host").items():
            for a, b in zip(values_of(host), values_of(self.tensors("one")[name]),
                            strict=True):
                self.assertLess(abs(a - b), 1e-3 * abs(a) + 1e-5, name)

    def test_products_by_cublaslt(self):
        for graph in "off", "compute", "all":
            count = self.by_library("--graph", graph, "--save-weights", graph,
                                    "--algorithms", "algorithms",
                                    seed=len(graph))
            self.assertEqual(count, 3 * 5) # of two steps, and once before
            self.assertEqual(self.tensors(graph), self.tensors("off"))
        text = self.text("algorithms")
        self.assertRegex(text, r"library cuBLASLt \d+\.\d+\.\d+\n"
                               r"gpu sm_80 with 4 multiprocessors\n")
        self.assertEqual(text.count("\nproduct f32 1 x "), 5)

    def test_products_of_16_bits_by_cublaslt(self):
        for precision, name in ("bf16", "bf16"), ("fp16", "f16"):
            self.by_library("--precision", precision, "--algorithms", name)
            text = self.text(name)
            self.assertIn(f"\nproduct {name} 1 x ", text)
            self.assertNotIn("\nproduct f32 ", text)

    def test_convolutions_by_cudnn(self):
        options = [*RESNET, "--convolution", "library", "--algorithms", "file"]
        for graph in "off", "compute":
            result = self.succeeds(*options, *CUDA, "--graph", graph,
                                   "--save-weights", graph, **emulated())
            said = re.findall(r"emulated GPU: (.*)", result.stderr)
            self.assertEqual(len(said), 3, result.stderr)
            self.assertRegex(said[1], r"^[1-9]\d+ convolutions by cuDNN$")
            self.assertNotIn("convolutions become", result.stderr)
        self.assertEqual(self.tensors("off"), self.tensors("compute"))
        text = self.text("file")
        self.assertRegex(text, r"\nlibrary cuDNN \d+\.\d+\.\d+\n"
                               r"gpu sm_80 with 4 multiprocessors\n"
                               r"convolution forward f32 .*\n"
                               r"  algorithm engine 30, 2=4 12=2\n")

    def test_who_convolves_is_said(self):
        model = ["compile", *RESNET[1:2], "-o", "plan", "--micro-batch", "2"]

        def target():
            text = self.succeeds("inspect", "plan").stdout
            return next(line for line in text.splitlines() if "target:" in line)

        result = self.succeeds(*model, *CUDA)
        self.assertIn("give --convolution library", result.stderr)
        self.assertRegex(target(), "cuBLASLt$")
        # As this machine is; found in the emulator's folder.
        result = self.succeeds(*model, "--target", "cuda:sm_90", **emulated())
        self.assertIn("--convolution generated does without", result.stderr)
        self.assertRegex(target(), "cuBLASLt, cuDNN$")
        result = self.succeeds(*model, "--target", "cuda:sm_90",
                               "--convolution", "generated", **emulated())
        self.assertNotIn("cuDNN", result.stderr)
        self.assertNotIn("cuDNN", target())
        self.succeeds(*model, "--target", "cuda:sm_90", "--matmul",
                      "generated", **emulated())
        self.assertNotIn("cu", target().replace("cuda", ""))

    def test_algorithms_without_a_library(self):
        self.refused(*TRAIN, *CUDA, "--algorithms", "algorithms", lines=0,
                     parts=["the plan has no product by cuBLASLt"],
                     **emulated())

    def test_no_whole_programs_of_ranks_that_share_a_gpu(self):
        self.refused(*TRAIN, *CUDA, "--ranks", "2", "--graph", "all", lines=0,
                     parts=["--graph all", "threads that share a GPU",
                            "or give --graph compute"], **emulated())

    def test_a_gpu_that_does_not_come_back(self):
        """Also where what the driver does at exit would wait for it."""
        for graph in "off", "compute", "all":
            result = self.run_program(*TRAIN, *CUDA, "--graph", graph,
                                      "--deadline", "1", **emulated(STALL=40))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("the GPU finished nothing for 1 s", result.stderr)
            self.assertNotIn("emulated GPU", result.stderr)

    def test_a_trace(self):
        notes = self.trained("--trace", "trace.json")
        said = [note for note in notes if "not as graphs" in note]
        self.assertEqual(len(said), 1, notes)
        events = self.json("trace.json")["traceEvents"]
        self.assertGreater(len([e for e in events if e["ph"] == "X"]), 10)

    def test_what_warps_ask_of_memory(self):
        """Accesses lie side by side, in whole sectors and different banks,
        except where fragments of mma.sync, or two halves of a row, are written
        by 16 bytes, and where updates are sorted."""
        for precision in "fp32", "bf16":
            self.succeeds(
                "train", GPT2, *CUDA, "--data",
                os.path.join(os.path.dirname(GPT2), "batches.safetensors"),
                "--micro-batch", "2", "--steps", "1", "--precision", precision,
                **emulated(TRAFFIC=self.path("traffic")))
            lines = self.text("traffic").splitlines()
            self.assertGreater(len(lines), 20)
            for line in lines:
                kernel, instructions, *numbers = line.split()
                self.assertGreater(int(instructions), 0, line)
                halves = precision == "bf16" and re.search(
                    r"attention|_columns", kernel)
                stores = (2 if halves else
                          8 if "scatter_sort" in kernel else 1.15)
                most = 1.15, stores, 1.15
                requests = zip(*[iter(map(int, numbers))] * 3)
                for bound, (count, least, cost) in zip(most, requests):
                    self.assertGreaterEqual(least, count, line)
                    self.assertLessEqual(least, cost, line)
                    self.assertLessEqual(cost, bound * least, line)

    def test_a_plan_for_gpus_of_sm_80(self):
        """The emulator is one: it runs the text that a GPU would be given."""
        self.succeeds(*TRAIN, "--save-weights", "host")
        self.succeeds("compile", MLP, "-o", "plan", "--micro-batch", "8",
                      "--matmul", "generated", "--target", "cuda:sm_80")
        self.succeeds("train", "plan", "--data", MLP_DATA, "--steps", "2",
                      "--save-weights", "cuda", **emulated())
        self.assertEqual(self.tensors("host"), self.tensors("cuda"))
        self.refused("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                     "--steps", "1", "--target", "cuda:sm_90", lines=0,
                     parts=["sm_90"], **emulated())

    def test_a_reduction_of_one_rank(self):
        self.refused(*TRAIN, *CUDA, "--reduction", "nccl", lines=0,
                     parts=["--reduction nccl: one rank has nothing to add"],
                     **emulated())

    def test_graphs_are_for_gpus(self):
        for graph in "off", "compute":
            result = self.succeeds(*TRAIN, "--graph", graph)
            self.assertIn("--graph has no effect", result.stderr)
        self.assertNotIn("--graph", self.succeeds(*TRAIN).stderr)

    def kernels(self, target, **options):
        self.succeeds("compile", MLP, "-o", "plan", "--micro-batch", "8",
                      "--matmul", "generated", "--target", target)
        text = self.succeeds("inspect", "plan", "--kernels", **options).stdout
        report = self.succeeds("inspect", "plan", "--kernels", "--json",
                               **options).stdout
        return text, json.loads(report)["kernel_list"]

    def test_kernels(self):
        text, kernels = self.kernels("cuda:sm_80")
        launches = [launch for kernel in kernels["kernels"]
                    for launch in kernel["launches"]]
        self.assertGreater(len(launches), 10)
        for launch in launches:
            self.assertIn(launch["symbol"], text)
            self.assertGreater(launch["grid"] * launch["block"], 0)
        if "is not in PATH" in kernels["assembler"]:
            self.skipTest(kernels["assembler"])
        for launch in launches:
            self.assertGreater(launch["registers"], 4)
            self.assertEqual(launch["spilled_bytes"], 0)
        self.assertRegex(text, r"registers of a thread: at most \d+, median")

    def test_an_assembler_that_fails(self):
        """One of another name comes first in PATH, and refuses all."""
        self.put("ptxas", "#!/bin/sh\necho 'no such thing as a GPU'; exit 3\n")
        os.chmod(self.path("ptxas"), 0o755)
        path = self.folder + ":" + os.environ["PATH"]
        text, _ = self.kernels("cuda:sm_80", env={**os.environ, "PATH": path})
        self.assertRegex(text, "registers are not known: .*ptxas refuses the "
                         "plan's kernels: no such thing as a GPU")

    def test_kernels_of_the_host(self):
        text, kernels = self.kernels("host")
        self.assertNotIn("registers", text)
        self.assertGreater(kernels["kernels"][0]["launches"][0]["extent"], 0)

    def test_the_environment(self):
        result = self.succeeds("env", **emulated())
        self.assertRegex(result.stdout, r"(?m)^CUDA .*Emulator\n +plans for "
                         r"cuda:sm_\d+ run here")
        self.assertRegex(result.stdout,
                         r"(?m)^cuBLASLt +multiplies .*\n +cuBLASLt 13\.1\.0")

    def test_targets(self):
        plan = self.path("plan")
        compiled = ["compile", MLP, "--micro-batch", "2", "-o", plan,
                    "--target"]
        self.succeeds(*compiled, "cuda:native", **emulated())
        self.assertRegex(self.succeeds("inspect", plan).stdout,
                         r"target: +cuda sm_\d+")
        for target, hint in [("sm_100a", "give cuda:sm_90"),
                             ("sm_86", "give cuda:sm_80"),
                             ("sm_75", "before sm_80 are not supported"),
                             ("ampere", "and native, for the GPU of this")]:
            self.refused(*compiled, "cuda:" + target, parts=[hint])

    def test_a_plan_without_a_gpu(self):
        found = re.search(r"(?m)^CUDA +(.*)$", self.succeeds("env").stdout)
        if "no NVIDIA driver" not in found.group(1):
            self.skipTest("this machine has a driver: " + found.group(1))
        self.refused(*TRAIN, "--target", "cuda:sm_80", lines=0,
                     parts=["this machine has no NVIDIA driver"])


main()
