"""Models of Keras: exported, trained, and loaded back."""

import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1",
                  KERAS_BACKEND="tensorflow")

from package import need  # noqa: E402

need("keras", "tensorflow", "tf2onnx", "onnx", "safetensors")

import warnings  # noqa: E402

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


class Computed(keras.layers.Layer):
    """A product with what is computed of a weight."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 4))

    def call(self, x):
        return ops.matmul(x, self.function(self.kernel))


class Scaled(keras.layers.Layer):
    """Multiplies with one number."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        return x * self.scale


class Stopped(keras.layers.Layer):

    def call(self, x):
        return ops.stop_gradient(x)


def flipped():
    x = keras.Input([4, 6])
    lstm = L.LSTM(5)
    return keras.Model(x, L.Dense(3)(lstm(x) + lstm(ops.flip(x, 1))))


def frozen_norm():
    return sequential([8, 8, 2], L.Conv2D(4, 3, trainable=False),
                      L.BatchNormalization(trainable=False), L.ReLU(),
                      L.GlobalAveragePooling2D(), L.Dense(3))


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
    "segments": lambda: sequential(
        [3, 3, 2], L.Conv2D(4, 3, padding="same", activation="relu"),
        L.Conv2D(3, 1)),
    "lstm": lambda: sequential([4, 6], L.Bidirectional(L.LSTM(5)), L.Dense(3)),
    "gru": lambda: sequential([4, 6], L.GRU(5), L.Dense(3)),
    "frozen": lambda: sequential([6], L.Rescaling(0.5, 0.1),
                                 L.Dense(8, "relu", trainable=False),
                                 L.Dense(3)),
    "tied": tied,
    "flipped": flipped,
    "frozen norm": frozen_norm,
    "tiled": lambda: sequential([6], Computed(lambda x: ops.tile(x, [1, 2])),
                                L.Dense(3)),
    "cut": lambda: sequential([6], Computed(
        lambda x: ops.concatenate([x[:, :2], x[:, 1:]], 1)), L.Dense(3)),
    "normalized": lambda: sequential(
        [6], L.Normalization(mean=[0.5] * 6, variance=[2.0] * 6), L.Dense(3)),
    "scaled": lambda: sequential([6], Scaled(), L.Dense(3)),
    "negated": lambda: sequential([6], Computed(lambda x: -x), L.Dense(3)),
    "masked gru": lambda: sequential(
        [5], L.Embedding(11, 6, mask_zero=True), L.GRU(5), L.Dense(3)),
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
        self.assertEqual(train, sorted(each.path for each in
                                       model.trainable_weights))
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
        zg.keras.load(model, self.path("trained.safetensors"))
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

    def test_what_cannot_be_exported_is_said(self):
        def refused(model, pattern, **options):
            with self.assertRaisesRegex(zg.InvalidArgument, pattern):
                zg.keras.export(model, self.path("m.onnx"), **options)

        refused(keras.Sequential([L.Dense(2)]), "nothing of its inputs")
        refused(TRAINING["batch norm"](), "gamma.*training=True")
        refused(sequential([2], L.Dense(2, dtype="mixed_bfloat16")),
                "computes in bfloat16")
        refused(sequential([2], L.Dense(2, trainable=False)),
                "no weight that is trained")
        for function in (ops.abs, ops.relu, lambda x: 2 * x):
            refused(sequential([3], Computed(function)), "weight")
        self.assertFalse(os.path.exists(self.path("m.onnx")))
        model = keras.Sequential([keras.Input([2]), L.Dense(2, name="out")])
        before = model.get_weights()
        for arrays, pattern in (
                ({"m/out/bias": np.ones(3)}, "has shape .3., expected .2."),
                ({"m/out/bias": np.ones(2)}, "no values for '.*out/kernel'"),
                ({}, "no values for")):
            with self.assertRaisesRegex(zg.InvalidArgument, pattern):
                zg.keras.load(model, arrays)
        np.testing.assert_array_equal(model.get_weights()[1], before[1])

    def test_the_models_own_name_may_be_another(self):
        def named(name):
            return keras.Sequential([keras.Input([2]), L.Dense(2, name="out")],
                                    name=name)

        arrays = {"first/out/kernel": np.eye(2), "first/out/bias": np.ones(2)}
        second = named("second")
        zg.keras.load(second, arrays)
        np.testing.assert_array_equal(second.get_weights()[0], np.eye(2))
        functional = keras.Model(second.inputs, L.Dense(2)(second.outputs[0]))
        with self.assertRaisesRegex(zg.InvalidArgument, "no values for"):
            zg.keras.load(functional, {"other/kernel": np.eye(2), **arrays})

    def test_what_differs_is_warned_of(self):
        tokens = keras.Input([4])
        stopped = Stopped()(L.Dense(4)(tokens))
        with self.assertWarnsRegex(UserWarning, "gradient of dense"):
            zg.keras.export(keras.Model(tokens, stopped + L.Dense(4)(tokens)),
                            self.path("m.onnx"))
        for options, warning in (
                ({"kernel_regularizer": "l2"}, "losses that layers"),
                ({"activity_regularizer": "l2"}, "losses that layers"),
                ({"kernel_constraint": "non_neg"}, "the constraints of")):
            with self.assertWarnsRegex(UserWarning, warning):
                zg.keras.export(sequential([2], L.Dense(2, **options)),
                                self.path("m.onnx"))

    def test_several_inputs_and_outputs(self):
        given = keras.Input([3], name="a"), keras.Input([2], name="b")
        x = L.Concatenate()([L.Dense(4, "relu")(each) for each in given])
        model = keras.Model(given, [L.Dense(3, name="first")(x),
                                    L.Dense(1, name="second")(x)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train = zg.keras.export(model, self.path("m.onnx"), output="first")
        with self.assertRaisesRegex(zg.InvalidArgument, "'third'; there are first"):
            zg.keras.export(model, self.path("m.onnx"), output="third")
        random = np.random.default_rng(0)
        batch = {"a": random.normal(size=(4, 3)).astype(np.float32),
                 "b": random.normal(size=(4, 2)).astype(np.float32),
                 "labels": np.arange(4) % 3}
        plan = zg.compile(self.path("m.onnx"), example=batch, loss_on="first",
                          loss="cross_entropy", train=train)
        with zg.Trainer(plan) as trainer:
            losses = [float(trainer.step(batch, lr=0.1)) for _ in range(3)]
        self.assertLess(losses[-1], losses[0])


if __name__ == "__main__":
    main()
