"""Models of Keras: exported by tf2onnx so that a training changes in the file
what it would change in Keras, and their weights loaded back.

    import zerograph as zg

    train = zg.keras.export(model, "model.onnx")
    plan = zg.compile("model.onnx", example=batch, loss="cross_entropy",
                      train=train)
    ...
    trainer.save_weights("trained.safetensors")
    zg.keras.load(model, "trained.safetensors")

tf2onnx and TensorFlow take variables for constants: they leave out a bias that
is 0 and a scale that is 1, join equal tensors, and permute, join and cut others.
So the model is exported with weights that are all different numbers, which say
where each is in the file; there the true ones are put in their place. Tensors
have the names of Keras's weights, such as "sequential/dense/kernel".
"""

from __future__ import annotations

import itertools
import os
import tempfile
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._library import InvalidArgument

if typing.TYPE_CHECKING:
    import keras
    import onnx

#: The bits of the first of the numbers that stand for weights; those after it
#: are different finite floats above zero.
_FIRST, _MOST = 0x20000000, 1 << 30


def export(model: keras.Model, path: str | os.PathLike, *,
           training: bool = False, opset: int = 18) -> list[str]:
    """Writes the model to `path`, with its weights; returns the names of those
    that Keras trains, for `train=`.

    `training`: as a step of a training computes it, which BatchNormalization
    needs: else its statistics would be folded into other weights, which is
    refused. Its moving statistics are not in the file; after `load`, call
    `model(x, training=True)` for some batches. Dropout is exported as one that
    is off, and not at all with `training`, as tf2onnx has no random numbers.
    """
    file, tensors = _export_marked(model, training, opset)
    values = _flat(model, lambda weight: np.asarray(weight, np.float32).ravel())
    trainable = _flat(model, lambda weight: np.full(
        int(np.prod(weight.shape)), weight.trainable, np.float32))
    names = []
    for initializer in _floats(file.graph):
        tensor = tensors.get(initializer.name)
        if tensor is not None:
            _set(initializer, values[tensor.place] * tensor.sign)
            if trainable[tensor.place].any():
                names.append(initializer.name)
    _save(file, path)
    return sorted(names)


def load(model: keras.Model,
         weights: str | os.PathLike | Mapping[str, Any], *,
         training: bool = False, opset: int = 18) -> None:
    """Sets the model's weights to those that were trained: a file of
    `save_weights`, or arrays by the names of the file. The options are those
    that it was exported with."""
    _, tensors = _export_marked(model, training, opset)
    if not isinstance(weights, Mapping):
        from safetensors.numpy import load_file
        weights = load_file(os.fspath(weights))
    values = _flat(model, lambda weight: np.asarray(weight, np.float32).ravel())
    for name, array in weights.items():
        array = np.asarray(array, np.float32)
        tensor = tensors.get(name)
        if tensor is None or array.shape != tensor.place.shape:
            raise InvalidArgument(
                f"'{name}' of shape {list(array.shape)} is no tensor of this "
                "model" + (f", whose shape is {list(tensor.place.shape)}"
                           if tensor else "") +
                ": was it exported with the same names and options?")
        values[tensor.place] = array * tensor.sign
    for weight, begin in _places(model):
        count = int(np.prod(weight.shape))
        weight.assign(values[begin:begin + count].reshape(weight.shape))


class _Tensor(typing.NamedTuple):
    """A float initializer, made of the model's weights."""

    place: np.ndarray  # of each element, among those of all weights
    sign: np.ndarray   # 1 or -1


def _weights(model: keras.Model) -> list[keras.Variable]:
    """Returns the weights of floats, each once."""
    found = {}
    for weight in model.weights:
        if weight.dtype == "float32":
            found[id(weight)] = weight
        elif "float" in weight.dtype:
            raise InvalidArgument(
                f"weight '{weight.path}' is {weight.dtype}, expected float32: "
                "export the model with float32's policy, and train it with "
                "precision='bf16' or 'fp16'")
    return list(found.values())


def _places(model: keras.Model) -> Iterator[tuple[keras.Variable, int]]:
    """Yields each weight and the place of its first element."""
    begin = 0
    for weight in _weights(model):
        yield weight, begin
        begin += int(np.prod(weight.shape))


def _flat(model: keras.Model, of) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.float32),
                           *(of(weight) for weight in _weights(model))])


def _export_marked(model: keras.Model, training: bool, opset: int
                   ) -> tuple[onnx.ModelProto, dict[str, _Tensor]]:
    """Returns the file of a model whose weights are marks, and where each
    tensor's elements are from. The model keeps its weights."""
    if not model.built or not getattr(model, "inputs", None):
        raise InvalidArgument(
            "the model has no inputs yet: build it as a functional one, or give "
            "it keras.Input as its first layer")
    total = sum(int(np.prod(each.shape)) for each in _weights(model))
    if total > _MOST:
        raise InvalidArgument(f"the model has {total} weights, at most {_MOST} "
                              "can be told apart")
    kept = [np.asarray(each) for each in model.variables]
    try:
        for weight, begin in _places(model):
            first, count = _FIRST + begin, int(np.prod(weight.shape))
            bits = np.arange(first, first + count, dtype=np.uint32)
            weight.assign(bits.view(np.float32).reshape(weight.shape))
        file = _to_onnx(model, training, opset)
    finally:
        for variable, value in zip(model.variables, kept):
            variable.assign(value)
    file.graph.name = "keras"
    _drop_second_biases(file.graph)
    tensors = {}
    for initializer in _floats(file.graph):
        tensor = _read(_array(initializer), total)
        if tensor is not None:
            tensors[initializer.name] = tensor
    _make_constants(file.graph, tensors)
    _restore_ties(file.graph, tensors)
    _check_all(model, tensors, training)
    return file, _rename(model, file.graph, tensors)


def _to_onnx(model: keras.Model, training: bool, opset: int
             ) -> onnx.ModelProto:
    import tensorflow as tf
    import tf2onnx
    signature = [tf.TensorSpec([None, *each.shape[1:]], each.dtype,
                               name=each.name) for each in model.inputs]

    def forward(*inputs):
        return model(inputs[0] if len(inputs) == 1 else list(inputs),
                     training=training)

    return tf2onnx.convert.from_function(
        tf.function(forward, input_signature=signature),
        input_signature=signature, opset=opset)[0]


def _drop_second_biases(graph: onnx.GraphProto) -> None:
    """An LSTM of ONNX has two biases, of Keras one: the other becomes zeros that
    are a constant."""
    from onnx import helper, numpy_helper
    initializers = {each.name: each for each in graph.initializer}
    split = set()
    for node in list(graph.node):
        bias = (initializers.get(node.input[3])
                if node.op_type == "LSTM" and len(node.input) > 3 else None)
        if bias is None:
            continue
        both = _array(bias)
        if bias.name not in split:
            half = both.shape[1] // 2
            if both[:, half:].any():
                continue
            split.add(bias.name)
            _set(bias, both[:, :half])
            graph.node.insert(0, helper.make_node(
                "Constant", [], [bias.name + ".zeros"],
                value=numpy_helper.from_array(both[:, half:])))
            graph.node.insert(1, helper.make_node(
                "Concat", [bias.name, bias.name + ".zeros"],
                [bias.name + ".both"], axis=1))
        node.input[3] = bias.name + ".both"


def _read(array: np.ndarray, total: int) -> _Tensor | None:
    """Returns where each element is from; None if one is from nowhere."""
    bits = np.ascontiguousarray(np.abs(array)).view(np.uint32)
    place = bits.astype(np.int64) - _FIRST
    if not place.size or ((place < 0) | (place >= total)).any():
        return None
    return _Tensor(place, np.where(array < 0, -1, 1).astype(np.float32))


def _make_constants(graph: onnx.GraphProto,
                    tensors: Mapping[str, _Tensor]) -> None:
    """Makes Constant nodes of the initializers that are no weights, which
    Zerograph does not train."""
    from onnx import helper
    for initializer in _floats(graph):
        if initializer.name not in tensors:
            graph.initializer.remove(initializer)
            graph.node.insert(0, helper.make_node(
                "Constant", [], [initializer.name], value=initializer))


def _restore_ties(graph: onnx.GraphProto, tensors: dict[str, _Tensor]) -> None:
    """Makes one tensor of those that hold the same weights in another order of
    dims, and a Transpose of it of the others."""
    from onnx import helper
    owners: dict[int, str] = {}
    for initializer in list(_floats(graph)):
        tensor = tensors.get(initializer.name)
        if tensor is None:
            continue
        owner = owners.setdefault(int(tensor.place.max()), initializer.name)
        if owner == initializer.name:
            continue
        order = _order(tensors[owner].place, tensor.place)
        if order is None:
            raise InvalidArgument(
                f"'{initializer.name}' and '{owner}' of the file hold the same "
                "weights of the model in a way that no transposition explains: "
                "such a model cannot be trained from a file")
        graph.initializer.remove(initializer)
        del tensors[initializer.name]
        graph.node.insert(0, helper.make_node(
            "Transpose", [owner], [initializer.name], initializer.name,
            perm=order))


def _order(place: np.ndarray, other: np.ndarray) -> tuple[int, ...] | None:
    if place.ndim != other.ndim or place.ndim > 5:
        return None
    for order in itertools.permutations(range(place.ndim)):
        if np.array_equal(place.transpose(order), other):
            return order
    return None


def _check_all(model: keras.Model, tensors: dict[str, _Tensor],
               training: bool) -> None:
    """Raises where a weight is not in the file: what was computed of it there
    was computed of its mark."""
    seen = np.unique(np.concatenate([np.zeros(0, np.int64), *(
        tensor.place.ravel() for tensor in tensors.values())]))
    lost = []
    for weight, begin in _places(model):
        count = int(np.prod(weight.shape))
        found = (np.searchsorted(seen, begin + count) -
                 np.searchsorted(seen, begin))
        if found < count and not (training and "/moving_" in weight.path):
            lost.append(weight.path)
    if lost:
        raise InvalidArgument(
            "the file has no tensor for " + ", ".join(lost[:8]) +
            (" and others" if len(lost) > 8 else "") +
            ": unused, or folded into others, as those of a BatchNormalization "
            "are without training=True")


def _rename(model: keras.Model, graph: onnx.GraphProto,
            tensors: dict[str, _Tensor]) -> dict[str, _Tensor]:
    """Calls the tensors as Keras calls their weights; a number follows if one
    has parts of the same."""
    begins = [begin for _, begin in _places(model)]
    paths = [weight.path for weight in _weights(model)]
    renamed, names = {}, {}
    for old, tensor in sorted(tensors.items(),
                              key=lambda each: each[1].place.min()):
        owners = np.unique(np.searchsorted(begins, tensor.place, "right") - 1)
        name = "+".join(paths[owner] for owner in owners)
        while name in renamed:
            stem, _, number = name.partition(":")
            name = f"{stem}:{int(number or 0) + 1}"
        renamed[name], names[old] = tensor, name
    for initializer in graph.initializer:
        initializer.name = names.get(initializer.name, initializer.name)
    _rename_inputs(graph, names)
    return renamed


def _rename_inputs(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Also in the bodies of loops, which read what is around them."""
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename_inputs(attribute.g, names)


def _floats(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    from onnx import TensorProto
    return [each for each in graph.initializer
            if each.data_type == TensorProto.FLOAT]


def _array(initializer: onnx.TensorProto) -> np.ndarray:
    from onnx import numpy_helper
    return np.array(numpy_helper.to_array(initializer))


def _set(initializer: onnx.TensorProto, array: np.ndarray) -> None:
    from onnx import numpy_helper
    initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))


def _save(file: onnx.ModelProto, path: str | os.PathLike) -> None:
    """Writes the file at once: what was there stays if that fails."""
    path = os.path.abspath(os.fspath(path))
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(path),
                                       prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(file.SerializeToString())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
