"""`--micro-batch auto` and `--global-batch`: how a step's samples are divided."""

import re

from support import (Case, MLP, MLP_DATA, main, read_tensors, rows,
                     write_tensors)

COMPILE = ["compile", MLP, "-o", "x.zgplan"]
AUTO = [*COMPILE, "--micro-batch", "auto"]


class MicroBatch(Case):

    def compiled(self, *options):
        """What is said, and the plan's samples, micro-batches and bytes."""
        said = self.succeeds(*options).stderr
        plan = self.inspect("x.zgplan")
        return (said, plan["micro_batch"], plan["accumulate"],
                plan["memory"]["arenas"][0]["bytes"])

    def test_takes_as_many_as_fit_and_one_more_is_refused(self):
        for options in (["--memory", "300KiB"],
                        ["--memory", "device=1MiB,host=40KiB"],
                        ["--memory", "300KiB", "--ranks", "2", "--zero", "3",
                         "--accumulate", "3"]):
            said, samples, accumulate, _ = self.compiled(*AUTO, *options)
            self.assertIn(f"--micro-batch {samples} by auto", said)
            self.assertEqual(accumulate, 3 if "--accumulate" in options else 1)
            by_hand = (*COMPILE, *options, "--micro-batch")
            if "host" in options[1]:
                self.assertIn("need more of the host", said)
            plan = self.bytes_of("x.zgplan")
            self.succeeds(*by_hand, str(samples))
            self.assertEqual(self.bytes_of("x.zgplan"), plan)
            self.refused(*by_hand, str(samples + 1), lines=0,
                         parts=["the limit is"])

    def test_keeps_the_samples_of_a_step(self):
        """The most that fit of those that divide a rank's part."""
        step = ("--ranks", "2", "--global-batch", "240")
        last = 0
        for limit in ("209KiB", "230KiB", "1MiB"):
            _, samples, accumulate, _ = self.compiled(
                *AUTO, *step, "--memory", limit)
            self.assertEqual(samples * accumulate, 120)
            self.assertGreater(samples, last)
            last = samples
            larger = [n for n in range(samples + 1, 121) if 120 % n == 0]
            if larger:
                self.refused(*COMPILE, *step, "--memory", limit,
                             "--micro-batch", str(larger[0]), lines=0,
                             parts=["the limit is"])

    def test_a_step_says_what_is_left(self):
        step = (*COMPILE, "--ranks", "2", "--global-batch", "24")
        for options, samples, accumulate in (
                ([], 12, 1), (["--accumulate", "3"], 4, 3),
                (["--micro-batch", "4"], 4, 3), (["--dim", "batch=6"], 6, 2),
                (["--micro-batch", "4", "--accumulate", "3"], 4, 3)):
            self.assertEqual(self.compiled(*step, *options)[1:3],
                             (samples, accumulate))
        for options, parts in (
                (["--micro-batch", "5"], "micro-batches of 5"),
                (["--micro-batch", "4", "--accumulate", "2"],
                 "2 micro-batches of 4"),
                (["--micro-batch", "4", "--accumulate", "1"],
                 "1 micro-batch of 4"),
                (["--accumulate", "5"], "5 micro-batches")):
            self.refused(*step, *options, parts=[
                f"--global-batch 24: 2 ranks x {parts} cannot share 24 samples"])

    def test_trains_with_no_more_than_the_data_have(self):
        """Here memory is no limit, and the data are."""
        said = self.succeeds("train", MLP, "--data", MLP_DATA, "--micro-batch",
                             "auto", "--memory", "10GiB", "--steps", "2").stderr
        samples = int(re.search(r"--micro-batch (\d+) by auto", said).group(1))
        sizes = {shape[0] for _, shape, _ in read_tensors(MLP_DATA).values()}
        self.assertEqual({samples}, sizes)
        self.assertIn("the data have no more", said)

    def test_data_of_several_files(self):
        tensors = read_tensors(MLP_DATA)
        for name, begin, end in (("first", 0, 8), ("second", 8, 24)):
            write_tensors(self.path(name + ".safetensors"), {
                key: rows(tensor, begin, end) for key, tensor in
                tensors.items()})
        said = self.succeeds("train", MLP, "--data", "first.safetensors",
                             "second.safetensors", "--micro-batch", "auto",
                             "--memory", "10GiB", "--steps", "1").stderr
        self.assertIn("--micro-batch 24 by auto", said)

    def test_what_it_cannot_go_with(self):
        for options, part in (
                ([], "give --memory, as --memory device=80GiB"),
                (["--memory", "host=1GiB"], "give --memory"),
                (["--memory", "1MiB", "--offload", "auto"], "--offload auto"),
                (["--memory", "1MiB", "--recompute", "auto"],
                 "--recompute auto"),
                (["--memory", "1MiB", "--dim", "batch=4"],
                 "a micro-batch has 4 samples by --dim"),
                (["--memory", "1MiB", "--global-batch", "12", "--accumulate",
                  "3"], "leave --accumulate out")):
            self.refused(*AUTO, *options, parts=["--micro-batch auto", part])
        self.refused(*COMPILE, "--micro-batch", "0", codes=(2,),
                     parts=["expected 1 to 2^40, or auto"])
        # Where one sample is too much, the error is that of one sample.
        self.refused(*AUTO, "--memory", "1KiB", lines=0,
                     parts=["one sample a micro-batch: ", "the limit is 1024",
                            "needs so little"])

    def test_a_file_says_the_samples_of_a_step(self):
        auto = (*AUTO, "--config", "ds.json", "--memory", "210KiB")
        self.put("ds.json", '{"train_batch_size": 40}')
        _, samples, accumulate, _ = self.compiled(*auto)
        self.assertEqual(samples * accumulate, 40)
        self.put("ds.json", '{"train_micro_batch_size_per_gpu": 8, '
                            '"gradient_accumulation_steps": 5}')
        self.assertEqual(self.compiled(*auto)[2], 5)
        _, samples, accumulate, _ = self.compiled(*auto, "--global-batch",
                                                  "100")
        self.assertEqual(samples * accumulate, 100)

    def test_what_is_accumulated_without_saying_so(self):
        """What needs several micro-batches has them by --global-batch too."""
        step = (*COMPILE, "--ranks", "2", "--zero", "1", "--micro-batch", "4")
        offload = ("--offload-optimizer", "cpu", "--offload-gradients", "cpu")
        self.succeeds(*step, *offload, "--accumulate", "6")
        plan = self.bytes_of("x.zgplan")
        said, _, accumulate, _ = self.compiled(*step, *offload,
                                               "--global-batch", "48")
        self.assertEqual((self.bytes_of("x.zgplan"), accumulate), (plan, 6))
        self.assertNotIn("has no effect", said)

    def test_commands_without_a_plan(self):
        self.refused("run", MLP, "--data", MLP_DATA, "-o", "o.safetensors",
                     "--micro-batch", "auto", parts=["give a number here"])
        self.refused("export", "--training-graph", MLP, "-o", "o.onnx",
                     "--micro-batch", "auto", parts=["give a number here"])

    def test_limits(self):
        many = str(1 << 40)
        self.refused(*COMPILE, "--micro-batch", "4", "--global-batch", many,
                     parts=["more than 1048576", "--micro-batch"])
        prime = str((1 << 30) - 35)
        self.refused(*AUTO, "--memory", "1MiB", "--global-batch", prime,
                     parts=["no micro-batch up to 65536"])


main()
