"""Damaged plan files: always one clear message, never a crash."""

import random

from support import Case, MLP_DATA, ZEROGRAPH_RUN, main


class Damage(Case):

    def setUp(self):
        super().setUp()
        self.plan = self.bytes_of(self.compile_mlp())

    def write(self, content):
        self.put("damaged.zgplan", content)

    def verify_refuses(self, content, parts, program=ZEROGRAPH_RUN):
        self.write(content)
        self.refused("verify", "damaged.zgplan", program=program, codes=(1,),
                     parts=["damaged.zgplan: ", *parts])

    def test_truncated_anywhere(self):
        size = len(self.plan)
        # Every length within the header and a little more, and many beyond.
        lengths = set(range(48)) | set(range(48, size, size // 60))
        lengths |= {size - 1, size - 2, size // 2}
        for length in sorted(lengths):
            with self.subTest(length=length):
                self.verify_refuses(self.plan[:length], ["plan"])

    def test_truncation_says_that_it_is_cut(self):
        self.verify_refuses(self.plan[:-1], ["cut short"])
        self.verify_refuses(self.plan[:20], ["cut short"])
        self.verify_refuses(b"", ["cut short"])

    def test_a_byte_more(self):
        self.verify_refuses(self.plan + b"\0", ["1 bytes after its end"])

    def test_one_byte_flipped_anywhere(self):
        size = len(self.plan)
        chosen = random.Random(1)
        places = set(range(40)) | {size - 1}
        places |= set(chosen.randrange(size) for _ in range(120))
        # The kernel module is machine code: an ELF file inside.
        module = self.plan.index(b"\x7fELF")
        places |= set(range(module, module + 8))
        for place in sorted(places):
            changed = bytearray(self.plan)
            changed[place] ^= 1 << chosen.randrange(8)
            with self.subTest(place=place):
                self.verify_refuses(bytes(changed), ["plan"])

    def test_no_command_takes_a_damaged_plan(self):
        changed = bytearray(self.plan)
        changed[len(changed) // 2] ^= 1
        self.write(bytes(changed))
        for arguments in (["verify", "damaged.zgplan"],
                          ["inspect", "damaged.zgplan"],
                          ["inspect", "damaged.zgplan", "--json"],
                          ["train", "damaged.zgplan", "--data", MLP_DATA]):
            for program in ("zerograph", "zerograph-run"):
                self.refused(*arguments, parts=["do not match its hash"],
                             program=ZEROGRAPH_RUN.replace("zerograph-run",
                                                           program))

    def test_other_files(self):
        self.refused("verify", "nothing", parts=["nothing", "No such file"])
        self.refused("verify", ".", parts=[". is a folder, expected a plan"])
        self.refused("verify", MLP_DATA, parts=["is a .safetensors file"])
        self.refused("train", "nothing", "--data", MLP_DATA,
                     parts=["nothing", "No such file"])


if __name__ == "__main__":
    main()
