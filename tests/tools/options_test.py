"""Options that are wrong: one message, and nothing left behind."""

import json
import os
import struct

from onnx_bytes import INT64, model, node, tensor, value_info
from support import Case, MLP, MLP_DATA, ZEROGRAPH_RUN, main, write_tensors

CYCLE = ["--schedule", "one-cycle", "--cycle-min-lr", "1e-4"]
COMPILE = ["compile", MLP, "-o", "x.zgplan", "--micro-batch", "8"]


class Commands(Case):

    def test_no_command(self):
        self.refused(codes=(2,), parts=["no command", "compile, train"])
        self.refused("compilee", codes=(2,), parts=["did you mean compile?"])
        self.refused("compile", MLP, "-o", "x", program=ZEROGRAPH_RUN,
                     codes=(2,), parts=["no command 'compile'",
                                        "train, checkpoint, inspect, verify, env"])

    def test_version_and_help(self):
        self.assertRegex(self.succeeds("--version").stdout,
                         r"^zerograph \d+\.\d+\.\d+\n$")
        for command in ([], ["compile"], ["train"], ["explain"], ["inspect"],
                        ["verify"], ["env"]):
            result = self.succeeds(*command, "--help")
            self.assertIn("Usage: zerograph", result.stdout)
            self.assertEqual(result.stderr, "")

    def test_values_that_are_none(self):
        self.refused(*COMPILE, "--lr", "abc", codes=(2,),
                     parts=["--lr is 'abc', expected a number"])
        self.refused(*COMPILE, "--zero", "4", codes=(2,),
                     parts=["--zero is '4', expected 0 to 3"])
        self.refused("train", MLP, "--data", MLP_DATA, "--steps", "x",
                     codes=(2,), parts=["--steps is 'x', expected a whole "
                                        "number, at least 1"])
        self.refused("train", MLP, MLP_DATA, "--data", MLP_DATA, codes=(2,),
                     parts=["unexpected argument", "samples are given by"])
        self.refused(*COMPILE, "--lr", codes=(2,),
                     parts=["--lr needs a value"])
        self.refused("train", MLP, "--init-missing", "--data", MLP_DATA,
                     codes=(2,), parts=["--init-missing needs a value; "
                                        "'--data' follows it"])
        for file in "options_test.py", ".":
            self.refused("train", os.path.join(os.path.dirname(__file__), file),
                         "--data", MLP_DATA, "--micro-batch", "4",
                         parts=[file])

    def test_options_of_another_command(self):
        for option in "--graph", "--steps":
            self.refused(*COMPILE, option, "1", codes=(2,),
                         parts=[f"unknown option '{option}'; "
                                "'zerograph train' takes it"])

    def test_names_in_another_case(self):
        """As PyTorch writes them; the plan has them as the table does."""
        settings = []
        for optimizer, precision, schedule in (
                ("adamw", "bf16", "constant"), ("AdamW", "BF16", "Constant")):
            self.succeeds(*COMPILE, "--optimizer", optimizer, "--precision",
                          precision, "--schedule", schedule)
            settings.append(self.succeeds("inspect", "x.zgplan",
                                          "--settings").stdout)
        self.assertEqual(settings[0], settings[1])
        said = self.succeeds("explain", "--optimizer", "AdamW", "--lr",
                             "1e-3").stdout
        self.assertIn('"AdamW"', said)
        self.refused(*COMPILE, "--optimizer", "AdamX", codes=(2,),
                     parts=["--optimizer: AdamX not in {sgd,adam,adamw,"])
        self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                      "--steps", "1", "--checkpoint", "c", "--graph", "OFF")
        self.succeeds("checkpoint", "convert", "c", "-o", "w", "--type",
                      "bf16")

    def test_options_that_a_plan_has_already(self):
        self.refused("train", "x.zgplan", "--lr", "1", codes=(2,),
                     program=ZEROGRAPH_RUN,
                     parts=["unknown option '--lr'", "'zerograph compile'"])

    def test_unknown_options(self):
        self.refused(*COMPILE, "--zeor", "3", codes=(2,),
                     parts=["'--zeor'", "did you mean --zero?"])
        self.refused(*COMPILE, "--zeor=3", codes=(2,),
                     parts=["'--zeor'", "did you mean --zero?"])
        # It may be the misspelt name of what is missing.
        self.refused("train", MLP, "--dta", MLP_DATA, codes=(2,),
                     parts=["did you mean --data?"])
        self.refused(*COMPILE, "--zeor", "3", "--rankz", "2", codes=(2,),
                     lines=2, parts=["--zero?", "--ranks?"])
        # As other programs call it.
        self.refused(*COMPILE, "--gradient_accumulation_steps", "2",
                     codes=(2,), parts=["here it is --accumulate"])
        # Three letters, two of them wrong: nobody meant --log.
        result = self.refused("train", MLP, "--data", MLP_DATA, "--foo",
                              codes=(2,), parts=["'--foo'"])
        self.assertNotIn("did you mean", result.stderr)
        self.refused(*COMPILE, "more", codes=(2,), parts=["'more'"])

    def test_missing_arguments(self):
        self.refused("compile", codes=(2,), parts=["MODEL is required"])
        self.refused("compile", MLP, codes=(2,), parts=["--output"])
        self.refused("train", MLP, codes=(2,), parts=["--data is required"])

    def test_environment(self):
        for program in ("zerograph", "zerograph-run"):
            text = self.succeeds(
                "env", program=os.path.join(os.path.dirname(ZEROGRAPH_RUN),
                                            program)).stdout
            for word in ("processor", "usable by this process", "GiB",
                         "oneDNN", "x86-64-v3", "CUDA", "cuBLASLt", "cuDNN", "NCCL",
                         "MPI"):
                self.assertIn(word, text)


class PlansForGpus(Case):
    """Made on any machine."""

    CUDA = [*COMPILE, "--target", "cuda:sm_90"]

    def target(self):
        text = self.succeeds("inspect", "x.zgplan").stdout
        return next(line for line in text.splitlines() if "target:" in line)

    def plan(self):
        with open(self.path("x.zgplan"), "rb") as file:
            return file.read()

    def products(self):
        report = json.loads(self.succeeds("inspect", "x.zgplan", "--json").stdout)
        return [step for step in report["steps"] if step["op"] == "matmul"]

    def test_products_are_the_librarys(self):
        result = self.succeeds(*self.CUDA)
        self.assertIn("multiply matrices by cuBLASLt", result.stderr)
        self.assertRegex(self.target(), "cuda sm_90, cuBLASLt$")
        self.assertTrue(self.products())
        self.succeeds(*self.CUDA, "--allow-tf32")
        self.assertRegex(self.target(), "cuBLASLt, TF32$")
        self.succeeds("verify", "x.zgplan")

    def test_functions_are_approximated(self):
        self.succeeds(*self.CUDA, "--math", "fast")
        self.assertRegex(self.target(), "cuBLASLt, fast math$")
        self.assertIn(b".approx", self.plan())
        self.succeeds(*self.CUDA)
        self.assertNotIn(b".approx", self.plan())
        self.refused(*self.CUDA, "--math", "fast", "--matmul", "generated",
                     parts=["--math", "--matmul generated", "the CPU's bits"])
        self.assertIn("--math fast has no effect",
                      self.succeeds(*COMPILE, "--math", "fast").stderr)

    def test_or_are_generated(self):
        result = self.succeeds(*self.CUDA, "--matmul", "generated")
        self.assertNotIn("cuBLASLt", result.stderr)
        self.assertNotIn("cuBLASLt", self.target())
        self.assertEqual(self.products(), [])

    def test_tf32_without_effect_is_said(self):
        for options in ([*self.CUDA, "--matmul", "generated"], COMPILE):
            result = self.succeeds(*options, "--allow-tf32")
            self.assertIn("--allow-tf32 has no effect", result.stderr)

    def test_algorithms_are_a_gpus(self):
        self.refused("train", MLP, "--data", MLP_DATA, "--micro-batch", "8",
                     "--algorithms", "a", codes=(1,),
                     parts=["--algorithms a", "the plan is for the host"])
        self.assertFalse(os.path.exists(self.path("a")))


class CompileOptions(Case):

    def test_contradictions(self):
        for options, parts in (
                (["--momentum", "0.9"], ["--momentum", "adamw"]),
                (["--momentum", "0"], ["--momentum", "adamw"]),
                (["--optimizer", "adam", "--nesterov"], ["--nesterov"]),
                (["--optimizer", "sgd", "--betas", "0.9,0.99"], ["--betas"]),
                (["--betas", "0.9,nan"], ["--betas 0.9,nan: expected two"]),
                (["--optimizer", "sgd", "--eps", "1"], ["--eps", "sgd"]),
                (["--optimizer", "lion", "--eps", "1"], ["--eps", "lion"]),
                (["--optimizer", "adagrad", "--betas", "0.9,0.99"],
                 ["--betas is for --optimizer adam, adamw, lion and lamb; "
                  "adagrad does"]),
                (["--optimizer", "sgd", "--nesterov"],
                 ["--nesterov: nesterov needs a momentum above 0"]),
                (["--dim", "batch=4"], ["'batch' is 4", "but 8"]),
                (["--dim", "bath=4"], ["bath", "there are batch"]),
                (["--dim", "batch"], ["--dim batch: expected NAME=SIZE"]),
                (["--loss-output", "los"], ["los", "there are loss, logits"]),
                (["--units", "layer*"], ["--units layer*", "fc1.weight"]),
                (["--units", "0"], ["--units 0"]),
                ([*CYCLE, "--cycle-min-momentum", "0.8"],
                 ["--cycle-min-momentum 0.8 needs --cycle-max-momentum"]),
                ([*CYCLE, "--cycle-min-momentum", "0.9",
                  "--cycle-max-momentum", "0.8"],
                 ["--cycle-min-momentum 0.9 is above --cycle-max-momentum "
                  "0.8"]),
                (["--group", "fc1*"],
                 ["--group fc1*: expected PATTERN:NAME=NUMBER"]),
                (["--group", "fc1*:rate=1"], ["'rate=1': expected lr="]),
                (["--group", "fc1*:lr=-1"],
                 ["--group fc1*:lr=-1: lr is -1", "not negative"]),
                (["--group", "*:betas=0.5,1"], ["beta2 is 1", "below 1"]),
                (["--group", "fc1*:lr=1,betas=0.9"], ["betas=B1,B2"]),
                (["--group", "fc1*:lr=1,eps=1,lr=2"],
                 ["--group fc1*:lr=1,eps=1,lr=2: lr is given twice"]),
                (["--group", "*:betas=0,0.5,betas=0,0.9"],
                 ["betas is given twice"]),
                (["--group", "fc1*:"], ["--group fc1*:: '': expected lr="]),
                (["--group", "*:momentum=1"],
                 ["--group *:momentum=1: adamw has no momentum"]),
                (["--optimizer", "adagrad", "--group", "*:betas=0,0.5"],
                 ["adagrad has no beta1"]),
                (["--group", "fc9*:lr=1"],
                 ["--group fc9*:lr=1: no trained parameter", "'fc1.weight'"]),
                (["--group", "*:lr=1", "--group", "fc1*:lr=2"],
                 ["--group fc1*:lr=2: no trained parameter"]),
        ):
            with self.subTest(options=options):
                self.refused(*COMPILE, *options, parts=parts, codes=(1,))
        for ratio in ("1", "-0.1", "nan"):
            self.refused(*COMPILE, "--dropout", ratio, codes=(2,),
                         parts=["--dropout", ratio + " is no ratio"])
        self.refused(*COMPILE, "--ranks", "2", "--ranks", "3", codes=(2,),
                     parts=["--ranks is given more than once"])
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_option_without_effect_is_said(self):
        for stage in "012":
            result = self.succeeds(*COMPILE, "--zero", stage, "--prefetch",
                                   "2", "--persistence-threshold", "100")
            for option in ("--prefetch 2", "--persistence-threshold 100"):
                self.assertIn(f"{option} has no effect without --zero 3, and "
                              f"--zero is {stage}", result.stderr)
        result = self.succeeds(*COMPILE, "--zero", "3", "--prefetch", "2",
                               "--persistence-threshold", "100")
        self.assertEqual(result.stderr, "")

    def test_what_is_not_built(self):
        self.refused(*COMPILE, "--precision", "bf8", parts=["bf8"])
        for place in ("cpu", "nvme"):
            param = ["--offload-param", place]
            self.refused(*COMPILE, "--zero", "3", *param,
                         parts=[f"{param[0]} {place} needs --offload-optimizer, "
                                "which is not given: who keeps parameters"])
            self.refused(*COMPILE, "--zero", "2", *param,
                         "--offload-optimizer", "cpu",
                         parts=[f"{param[0]} {place} needs --zero 3, and --zero "
                                "is 2"])
        self.refused(*COMPILE, "--target", "cuda:sm_70", parts=["sm_80"])
        self.refused(*COMPILE, "--target", "host:z80", parts=["x86-64-v3"])

    def test_a_target_holds_for_kernels_and_library(self):
        # Also where this processor has more.
        self.succeeds(*COMPILE, "--target", "host:x86-64-v3")
        target = self.inspect("x.zgplan")["target"]
        self.assertEqual(target["math_isa"], "avx2")
        self.assertNotIn("avx512f", target["features"])
        self.succeeds("train", "x.zgplan", "--data", MLP_DATA)

    def test_a_batch_without_a_size(self):
        self.refused("compile", MLP, "-o", "x",
                     parts=["--micro-batch N", "--dim batch=N"])


def branch(name, op):
    graph = [(1, node(name, op, ["y"], [name])), (2, name),
             (12, value_info(name, ["n", 4]))]
    return [(1, name + "_branch"), (20, 5), (6, graph)]


class Inputs(Case):
    """Values and dims of the inputs of a model."""

    def write(self, nodes, inputs, constants=()):
        """A loss that is the mean of "z", of "y" = x * w and the inputs."""
        self.put("m.onnx", model(
            [node("scale", "Mul", ["x", "w"], ["y"]), *nodes,
             node("mean", "ReduceMean", ["z"], ["loss"],
                  {"keepdims": 0})],
            [tensor("w", [4], [1, 2, 3, 4]), *constants],
            [value_info(*each) for each in inputs],
            [value_info("loss", [])]))

    def write_data(self, *names):
        write_tensors(self.path("data"),
                      {name: ("F32", [8, 4], struct.pack("<32f", *range(32)))
                       for name in names})

    def loss(self, *options):
        out = self.succeeds("train", "m.onnx", "--data", "data",
                            *options).stdout
        return float(out.split()[3])

    def test_a_value_decides_a_branch(self):
        choice = node("choice", "If", ["narrow"], ["z"])
        choice += [(5, branch("then", "Neg")), (5, branch("else", "Abs"))]
        self.write([node("compare", "Equal", ["rate", "k"], ["narrow"]),
                    choice],
                   [("x", ["n", 4]), ("rate", [], INT64)],
                   [tensor("k", [], [8000], INT64)])
        self.write_data("x")
        batch = ["--micro-batch", "4"]
        self.refused("train", "m.onnx", "--data", "data", *batch,
                     lines=2, parts=["input 'rate'", "--input NAME=VALUE"])
        narrow = self.loss(*batch, "--input", "rate=8000")
        self.assertLess(narrow, 0)
        self.assertEqual(self.loss(*batch, "--input", "rate=16000"), -narrow)
        self.succeeds("run", "m.onnx", "--data", "data", "-o", "out",
                      "--input", "rate=8000")
        value = self.tensors("out")["loss"][2]
        self.assertLess(struct.unpack("<f", value)[0], 0)
        for given, parts in (
                (["rat=1"], ["no input has that name; did you mean 'rate'?"]),
                (["rate=1.5"], ["--input rate=1.5: input 'rate' is INT64"]),
                (["x=1"], ["has the shape [n, 4]"]),
                (["rate"], ["--input rate: expected NAME=VALUE"]),
                (["rate=1", "--input", "rate=2"], ["rate is given twice"])):
            self.refused("compile", "m.onnx", "-o", "x", *batch, "--input",
                         *given, parts=parts)

    def test_leading_dims_without_a_name_are_samples(self):
        for unknown in (-1, 0):
            with self.subTest(unknown=unknown):
                self.write([node("weigh", "Mul", ["y", "t"], ["z"])],
                           [("x", [unknown, 4]), ("t", [unknown, 4])])
                self.write_data("x", "t")
                if unknown == 0:
                    self.refused("train", "m.onnx", "--data", "data",
                                 parts=["'x' has a dim of size 0"])
                    continue
                self.loss("--micro-batch", "4", "--ranks", "2")
                self.refused("train", "m.onnx", "--data", "data",
                             parts=["--micro-batch N (or --dim x.0=N)"])

    def test_a_fixed_batch(self):
        self.write([node("copy", "Abs", ["y"], ["z"])], [("x", [4, 4])])
        self.write_data("x")
        self.assertEqual(self.loss("--micro-batch", "4"), self.loss())
        for command in (["compile", "m.onnx", "-o", "p"],
                        ["run", "m.onnx", "--data", "data", "-o", "o"]):
            self.refused(*command, "--micro-batch", "8",
                         parts=["--micro-batch 8, but the file fixes 4 "
                                "samples (input 'x')"])


class TrainOptions(Case):

    def setUp(self):
        super().setUp()
        self.train = ["train", self.compile_mlp(), "--data", MLP_DATA]

    def test_compile_options_with_a_plan(self):
        self.refused(*self.train, "--lr", "0.1", "--zero", "2",
                     parts=["is a plan", "--zero, --lr"])

    def test_wrong_values(self):
        self.refused(*self.train, "--init-missing", "uniform",
                     parts=["normal:STD"])
        self.refused(*self.train, "--deadline", "1e10",
                     parts=["--deadline", "above 0 and at most 1000000"])
        self.succeeds(*self.train, "--deadline", "1e6")
        self.refused(*self.train, "--dump-gradients", "g",
                     parts=["without gradients to dump"])

    def test_threads_that_the_system_does_not_give(self):
        # Root may have any number of them, but not without room for stacks.
        def few():
            import resource
            for limit, size in ((resource.RLIMIT_STACK, 2 << 30),
                                (resource.RLIMIT_AS, 20 << 30)):
                resource.setrlimit(
                    limit, (size, resource.getrlimit(limit)[1]))
        self.refused(*self.train, "--threads", "64", preexec_fn=few,
                     parts=["the system gives no", "threads"])

    def test_options_without_effect_are_said(self):
        result = self.succeeds(*self.train, "--seed", "4")
        self.assertIn("--seed has no effect", result.stderr)
        result = self.succeeds(*self.train, "--init-missing", "normal:1")
        self.assertIn("--init-missing has no effect", result.stderr)

if __name__ == "__main__":
    main()
