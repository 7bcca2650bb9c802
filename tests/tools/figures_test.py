"""The tables of README.md are what the programs say."""

import os
import re

from support import GPT, MODELS, Case, main

README = os.path.join(MODELS, os.pardir, "README.md")
SMALL = os.path.join(MODELS, "structure", "gpt2-small.onnx")


def tables():
    """The rows of each table of stages: its numbers, the stage first."""
    found, rows = [], []
    with open(README) as file:
        for line in file:
            if re.match(r"\| \d \| [\d,]+ \|", line):
                rows.append([int(cell.replace(",", ""))
                             for cell in line.strip("| \n").split("|")])
            elif rows:
                found.append(rows)
                rows = []
    return found


class Figures(Case):

    def check(self, rows, model, *options):
        """For processors that every machine has, as the page says: the
        library's workspace is that of its instruction set."""
        self.assertEqual([row[0] for row in rows], [0, 1, 2, 3])
        said = []
        for stage in range(4):
            self.succeeds("compile", model, "-o", "p.zgplan", "--zero",
                          str(stage), "--micro-batch", "1", "--target",
                          "host:x86-64-v3", *options)
            report = self.inspect("p.zgplan")
            state, traffic = report["memory"]["model_state"], report["traffic"]
            arenas = {arena["space"]: arena["bytes"]
                      for arena in report["memory"]["arenas"]}
            said.append([stage, arenas["device"], arenas["pinned"],
                         state["parameters"], state["gradients"],
                         state["optimizer"], traffic["gather"],
                         traffic["reduce"]])
        self.assertEqual(rows, said)

    def test_what_a_stage_saves_and_costs(self):
        nano, small = tables()
        self.check(nano, GPT, "--ranks", "4", "--dim", "seq=16")
        self.check(small, SMALL, "--ranks", "2", "--dim", "seq=128")


if __name__ == "__main__":
    main()
