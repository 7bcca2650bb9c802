"""`--tensorboard`: event files, read as anybody would who knows the format."""

import os
import struct

from support import Case, MLP, MLP_DATA, main

TRAIN = ["train", MLP, "--data", MLP_DATA, "--micro-batch", "8", "--optimizer",
         "sgd", "--lr", "0.1"]
WIDTHS = {0: None, 1: 8, 2: None, 5: 4}


def masked_crc(data):
    crc = M = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= M
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & M


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message; what is longer than a number as bytes."""
    at, result = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = WIDTHS[key & 7]
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        result.append((key >> 3, value))
    return result


def records(path):
    """What a TFRecord file holds, its sums checked."""
    with open(path, "rb") as file:
        content = file.read()
    at = 0
    while at < len(content):
        length, check = struct.unpack_from("<QI", content, at)
        assert check == masked_crc(content[at:at + 8]), path
        data = content[at + 12:at + 12 + length]
        check = struct.unpack_from("<I", content, at + 12 + length)[0]
        assert check == masked_crc(data), path
        at += 16 + length
        yield data


def steps(path):
    """{step: {tag: number}} of an event file."""
    first, *rest = records(path)
    version = dict(fields(first))
    assert version[3] == b"brain.Event:2", version
    result, before = {}, struct.unpack("<d", version[1])[0]
    for record in rest:
        event = dict(fields(record))
        time = struct.unpack("<d", event[1])[0]
        assert time >= before > 1.7e9
        before = time
        values = [dict(fields(value)) for number, value in fields(event[5])]
        result[event.get(2, 0)] = {
            value[1].decode(): struct.unpack("<f", value[2])[0]
            for value in values}
    return result


class TensorBoard(Case):

    def files(self, folder="tb"):
        return sorted(os.listdir(self.path(folder)))

    def test_the_numbers_of_the_log(self):
        self.succeeds(*TRAIN, "--steps", "5", "--log", "log", "--ranks", "2",
                      "--tensorboard", "tb/run")
        [name] = self.files("tb/run")
        self.assertRegex(name, r"^events\.out\.tfevents\.\d{10}\.")
        log = self.records()
        found = steps(self.path("tb/run", name))
        self.assertEqual(list(found), [0, 1, 2, 3, 4])
        for record in log:
            expected = {key: struct.unpack("<f", struct.pack("<f", value))[0]
                        for key, value in record.items()
                        if key not in ("step", "step_ms") and value is not None}
            self.assertEqual(found[record["step"]], expected)
            self.assertIn("loss", expected)

    def test_the_norm_is_there_where_it_is_known(self):
        for folder, options, known in (("a", [], False),
                                       ("b", ["--clip-norm", "inf"], True)):
            self.succeeds(*TRAIN, "--steps", "2", "--tensorboard", folder,
                          *options)
            [name] = self.files(folder)
            found = steps(self.path(folder, name))
            self.assertEqual(len(found), 2)
            for numbers in found.values():
                self.assertEqual("grad_norm" in numbers, known)
                self.assertGreater(numbers.get("grad_norm", 1), 0)

    def test_each_run_has_its_own_file(self):
        for count in (1, 2, 3):
            self.succeeds(*TRAIN, "--tensorboard", "tb")
            self.assertEqual(len(self.files()), count)

    def test_a_run_that_does_not_begin_leaves_nothing(self):
        self.refused(*TRAIN, "--tensorboard", "tb", "--load-weights", "none",
                     parts=["none"])
        self.assertEqual(os.listdir(self.folder), [])
        open(self.path("file"), "w").close()
        self.refused(*TRAIN, "--tensorboard", "file",
                     parts=["file: cannot make the folder"])


if __name__ == "__main__":
    main()
