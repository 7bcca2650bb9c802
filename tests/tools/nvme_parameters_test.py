"""`--offload-param nvme`: parameters in the rank's file too, read for each
gather and written by the update."""

import os

from support import Case, GPT, GPT_DATA, MLP, MLP_DATA, main

SHARDS = ["--ranks", "2", "--zero", "3"]
NVME = ["--offload-optimizer", "nvme", "--offload-param", "nvme"]
MIXED = ["--offload-optimizer", "cpu", "--offload-param", "nvme"]
RUN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8", *SHARDS]
OF_GPT = [GPT, "--micro-batch", "1", "--dim", "seq=64", *SHARDS]


class NvmeParameters(Case):

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("disk"))
        self.disk = ["--nvme-path", "disk"]

    def leave(self, name):
        return ["--save-weights", name + ".w", "--dump-states", name + ".s"]

    def left(self, name):
        return (self.tensors(name + ".w"),
                self.tensors(name + ".s"))

    def arenas(self, *options, of="bytes"):
        self.succeeds("compile", *OF_GPT, "-o", "x.zgplan", *options)
        return {arena["space"]: arena[of] for arena in
                self.inspect("x.zgplan")["memory"]["arenas"]}

    def test_memory_has_what_is_on_its_way_alone(self):
        # However well they are packed.
        memory = self.arenas(*NVME[:2], "--offload-param", "cpu",
                             of="lower_bound")
        file = self.arenas(*NVME, of="lower_bound")
        self.assertLessEqual(file["device"], memory["device"])
        self.assertLess(file["pinned"], memory["pinned"])
        self.assertGreater(file["nvme"], memory["nvme"])
        self.assertNotIn("host", file)

    def test_what_is_predicted_is_measured(self):
        for options in (NVME, [*NVME, "--precision", "bf16"], MIXED):
            said = self.succeeds("train", *OF_GPT, "--data", GPT_DATA,
                                 *options, *self.disk).stdout
            for what in ("touched, nvme", "touched, pinned",
                         "read from its file", "and written",
                         "memory and file allocated"):
                line = next(line for line in said.splitlines() if what in line)
                predicted, measured = line.split()[-2:]
                self.assertEqual(predicted, measured, line)
            self.assertEqual(os.listdir(self.path("disk")), [])

    def test_weights_checkpoints_and_evaluations(self):
        """Given, left and evaluated as if they had lain on the device."""
        self.succeeds(*RUN, "--steps", "2", "--save-weights", "begin")
        evaluated = ["--load-weights", "begin", "--eval-data", MLP_DATA,
                     "--eval-every", "1"]

        def losses(*options):
            self.succeeds(*RUN, *evaluated, "--log", "log", *options)
            records = self.records()
            return [(r["loss"], r["eval_loss"]) for r in records]

        plain = losses("--steps", "4", *self.leave("whole"))
        self.assertEqual(len(set(plain)), 4)
        for number, where in enumerate((NVME, MIXED)):
            self.assertEqual(losses("--steps", "4", *where, *self.disk,
                                    *self.leave("file")), plain)
            self.assertEqual(self.left("file"), self.left("whole"))
            for first, second in ((where + self.disk, []),
                                  ([], where + self.disk)):
                folder = f"c{number}{len(first)}"
                self.succeeds(*RUN, "--load-weights", "begin", *first,
                              "--steps", "2", "--checkpoint", folder)
                self.succeeds(*RUN, *second, "--steps", "4", "--resume",
                              folder, *self.leave("on"))
                self.assertEqual(self.left("on"), self.left("whole"))

    def test_it_is_what_needs_least_of_the_host(self):
        def of_host(*options):
            arenas = self.arenas(*options)
            return arenas["pinned"] + arenas.get("host", 0)

        cpu = [*NVME[:2], "--offload-param", "cpu"]
        most, least = of_host(*cpu), of_host(*NVME)
        self.assertLess(least, most)
        compile_gpt = ["compile", *OF_GPT, "-o", "x.zgplan"]
        self.refused(*compile_gpt, *cpu, "--memory", f"host={least}",
                     lines=0, parts=["is enough with --offload-param nvme"])
        device = self.arenas(*NVME)["device"]
        said = self.succeeds(*compile_gpt, "--offload", "auto", "--memory",
                             f"device={device},host={least}").stderr
        self.assertIn("--offload auto: " + " ".join(NVME), said)


if __name__ == "__main__":
    main()
