"""`--data` in other formats: read, or what it is and how to convert it."""

import gzip
import os
import pickle
import struct
import zipfile

from support import (Case, GPT, GPT_DATA, MLP, MLP_DATA, main, read_tensors, write_tensors)

TRAIN = ["--micro-batch", "8", "--optimizer", "sgd", "--steps", "3",
         "--save-weights", "w"]


def npy(tensor):
    """A (dtype, shape, bytes) as numpy.save writes it."""
    dtype, shape, data = tensor
    code = {"F32": "<f4", "I64": "<i8"}[dtype]
    sizes = "".join(f"{size}, " for size in shape)
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({sizes})}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) +
            header.encode() + data)


class DataFormats(Case):

    def setUp(self):
        super().setUp()
        self.arrays = read_tensors(MLP_DATA)
        self.succeeds("train", MLP, "--data", MLP_DATA, *TRAIN)
        self.expected = self.tensors("w")

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        self.put(name, content)

    def write_npz(self, name, method=zipfile.ZIP_STORED):
        with zipfile.ZipFile(self.path(name), "w", method) as archive:
            for key, tensor in self.arrays.items():
                # As numpy does: with the field of 64 bits.
                with archive.open(key + ".npy", "w", force_zip64=True) as entry:
                    entry.write(npy(tensor))

    def trains(self, *data):
        self.succeeds("train", MLP, "--data", *data, *TRAIN)
        self.assertEqual(self.tensors("w"), self.expected)

    def test_npz(self):
        self.write_npz("d.npz")
        self.trains("d.npz")
        os.mkdir(self.path("folder"))
        os.rename(self.path("d.npz"), self.path("folder", "d.npz"))
        self.trains("folder")

    def test_compressed_npz(self):
        self.write_npz("d.npz", zipfile.ZIP_DEFLATED)
        self.refused("train", MLP, "--data", "d.npz", *TRAIN,
                     parts=["d.npz", "is compressed", "numpy.savez"])

    def test_torch_save(self):
        """Python reads it, and the message says how."""
        os.mkdir(self.path("folder"))
        with zipfile.ZipFile(self.path("folder", "d.pt"), "w") as archive:
            archive.writestr("d/data.pkl", b"\x80\x02}.")
        for data in "folder/d.pt", "folder":
            self.refused("train", MLP, "--data", data, *TRAIN, parts=[
                "folder/d.pt: it is a ZIP file, as torch.save writes it",
                "zerograph.convert.torch_to_safetensors(FILE, OUTPUT)"])

    def test_npy(self):
        for name, tensor in self.arrays.items():
            self.write(f"folder/{name}.npy", npy(tensor))
        self.trains("folder")
        # One array alone has one name.
        self.refused("train", MLP, "--data", "folder/x.npy", *TRAIN,
                     parts=["folder/x.npy: input 'labels' is missing",
                            "put the .npy files of all inputs into one folder"])

    def test_what_is_not_read(self):
        save = "numpy.savez('data.npz', INPUT=array, ...)"
        model = self.bytes_of(MLP)
        for content, parts in (
                (b"x,y\n1,2\n3,4\n" * 100, ["a text, as CSV", save]),
                (b'{"x": [1, 2]}', ["a text, as CSV or JSON", save]),
                (pickle.dumps({"x": [1]}, 2), ["a pickle", "torch_to_safetensors"]),
                (b"\x89HDF\r\n\x1a\n" + bytes(100), ["an HDF5 file", save]),
                (gzip.compress(b"x" * 100), ["compressed by gzip"]),
                (b"PAR1" + bytes(100), ["Parquet", "ends in .parquet"]),
                (model, ["an ONNX model"])):
            self.write("d", content)
            said = self.refused("train", MLP, "--data", "d", *TRAIN,
                                parts=["d: it is ", *parts]).stderr
            self.assertNotIn("header of", said)

    def test_other_types(self):
        dtype, shape, data = self.arrays["labels"]
        write_tensors(self.path("d"), {**self.arrays, "labels": (
            "I32", shape, b"".join(data[i:i + 4]
                                   for i in range(0, len(data), 8)))})
        self.refused("train", MLP, "--data", "d", *TRAIN, parts=[
            "input 'labels' is I32 [640], expected I64 [samples]; no type is "
            "converted here: array.astype() or tensor.to() does"])

    def test_other_names(self):
        """What the file has, and which of it was meant."""
        x, labels = self.arrays["x"], self.arrays["labels"]
        plan = self.compile_mlp()
        write_tensors(self.path("d"), {"features": x, "label": labels})
        self.refused(
            "train", plan, "--data", "d",
            parts=["input 'x' is missing, expected F32 [samples, 64]",
                   "input 'labels' is missing, expected I64 [samples]",
                   "it also has features, label",
                   "call 'features' 'x', 'label' 'labels'"])
        # The data alone could tell how long a sequence is.
        tokens = read_tensors(GPT_DATA)
        write_tensors(self.path("d"), {"ids": tokens["input_ids"],
                                       "targets": tokens["labels"]})
        self.refused("train", GPT, "--data", "d", "--micro-batch", "2",
                     parts=["d: input 'input_ids' is missing",
                            "the size of dim seq", "it has ids, targets"])
        many = {f"column{i:02}": labels for i in range(40)}
        write_tensors(self.path("d"), {"x": x, **many})
        said = self.refused("train", plan, "--data", "d",
                            parts=["column09 and 30 more"]).stderr
        self.assertNotIn("column10", said)


if __name__ == "__main__":
    main()
