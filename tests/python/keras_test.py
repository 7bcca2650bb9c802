"""Models of Keras: exported, trained, and loaded back."""

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1",
                  KERAS_BACKEND="tensorflow")

from package import need  # noqa: E402

need("keras", "tensorflow", "tf2onnx", "onnx", "safetensors")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers as L  # noqa: E402
from keras import ops  # noqa: E402

from support import Case, main  # noqa: E402
import zerograph as zg  # noqa: E402

STEPS, RATE = 4, 0.1


class Tied(keras.layers.Layer):
    """The scores of all tokens, by the embedding's own table."""

    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding

    def call(self, x):
        return ops.matmul(x, ops.transpose(self.embedding.embeddings))


def tied():
    tokens = keras.Input([5], dtype="int32")
    embedding = L.Embedding(11, 6)
    x = L.Dense(6)(embedding(tokens))
    return keras.Model(tokens, Tied(embedding)(x))


def attention():
    tokens = keras.Input([5], dtype="int32")
    x = L.Embedding(11, 8)(tokens)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 4)(
        x, x, use_causal_mask=True))
    return keras.Model(tokens, L.Dense(11)(L.Dense(8, "gelu")(x)))


def sequential(shape, *layers):
    return keras.Sequential([keras.Input(shape), *layers])


MODELS = {
    "dense": lambda: sequential([6], L.Dense(8, "relu"), L.Dense(8, "relu"),
                                L.Dense(3)),
    "convolution": lambda: sequential(
        [8, 8, 2], L.Conv2D(4, 3, activation="gelu"), L.PReLU(),
        L.DepthwiseConv2D(3, padding="same"), L.GlobalAveragePooling2D(),
        L.Dense(3)),
    "lstm": lambda: sequential([4, 6], L.Bidirectional(L.LSTM(5)), L.Dense(3)),
    "gru": lambda: sequential([4, 6], L.GRU(5), L.Dense(3)),
    "frozen": lambda: sequential([6], L.Rescaling(0.5, 0.1),
                                 L.Dense(8, "relu", trainable=False),
                                 L.Dense(3)),
    "tied": tied,
    "attention": attention,
}
TRAINING = {
    "batch norm": lambda: sequential(
        [8, 8, 2], L.Conv2D(4, 3), L.BatchNormalization(), L.ReLU(),
        L.Conv2D(4, 3, use_bias=False), L.BatchNormalization(),
        L.GlobalAveragePooling2D(), L.Dense(3)),
}


class Keras(Case):

    def data(self, model):
        """A batch, as both take it."""
        keras.utils.set_random_seed(1)
        random = np.random.default_rng(2)
        given, = model.inputs
        shape = [8, *given.shape[1:]]
        if given.dtype == "int32":
            x = random.integers(0, 11, shape).astype(np.int32)
        else:
            x = random.normal(size=shape).astype(np.float32)
        labels = random.integers(0, model.output_shape[-1],
                                 [8, *model.output_shape[1:-1]])
        return given.name, x, labels

    def losses_of_keras(self, model, x, labels, training):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer, losses = keras.optimizers.SGD(RATE), []
        for _ in range(STEPS):
            with tf.GradientTape() as tape:
                value = loss(labels, model(x, training=training))
            losses.append(float(value))
            optimizer.apply_gradients(zip(tape.gradient(
                value, model.trainable_variables), model.trainable_variables))
        return losses

    def check(self, make, training):
        keras.utils.set_random_seed(0)
        model = make()
        name, x, labels = self.data(model)
        before = model.get_weights()
        train = zg.keras.export(model, self.path("model.onnx"),
                                training=training)
        for mine, old in zip(model.get_weights(), before):
            np.testing.assert_array_equal(mine, old)
        batch = {name: x, "labels": labels}
        plan = zg.compile(self.path("model.onnx"), example=batch,
                          loss="cross_entropy", train=train,
                          optimizer="sgd")
        with zg.Trainer(plan) as trainer:
            losses = [float(trainer.step(batch, lr=RATE))
                      for _ in range(STEPS)]
            trainer.save_weights(self.path("trained.safetensors"))
        expected = self.losses_of_keras(model, x, labels, training)
        np.testing.assert_allclose(losses, expected, rtol=2e-5)
        trained = model.get_weights()
        model.set_weights(before)
        zg.keras.load(model, self.path("trained.safetensors"),
                      training=training)
        for weight, mine, wanted in zip(model.weights, model.get_weights(),
                                        trained):
            if "moving" not in weight.path:
                np.testing.assert_allclose(mine, wanted, atol=2e-5,
                                           err_msg=weight.path)

    def test_it_trains_as_keras_does(self):
        for name, make in MODELS.items():
            with self.subTest(name):
                self.check(make, training=False)

    def test_batch_norms_in_training(self):
        for name, make in TRAINING.items():
            with self.subTest(name):
                self.check(make, training=True)

    def test_tensors_have_the_names_of_weights(self):
        model = keras.Sequential([keras.Input([2]), L.Dense(1, name="out")],
                                 name="net")
        self.assertEqual(zg.keras.export(model, self.path("model.onnx")),
                         ["net/out/bias", "net/out/kernel"])

    def test_what_cannot_be_exported_is_said(self):
        with self.assertRaisesRegex(zg.InvalidArgument, "no inputs yet"):
            zg.keras.export(keras.Sequential([L.Dense(2)]), self.path("m.onnx"))
        with self.assertRaisesRegex(zg.InvalidArgument, "gamma.*training=True"):
            zg.keras.export(TRAINING["batch norm"](), self.path("m.onnx"))
        model = sequential([2], L.Dense(2, dtype="float16"))
        with self.assertRaisesRegex(zg.InvalidArgument, "expected float32"):
            zg.keras.export(model, self.path("m.onnx"))

        model = sequential([2], L.Dense(2))
        with self.assertRaisesRegex(zg.InvalidArgument, "'other' of shape"):
            zg.keras.load(model, {"other": np.zeros(2)})


if __name__ == "__main__":
    main()
