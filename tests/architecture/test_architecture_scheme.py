"""Bits of each module of a mixed checkpoint: the nearest name decides, then patterns, then rest."""

from __future__ import annotations

from typing import Any

import pytest

from kvgate.architecture.scheme import Scheme

FOUR = {"num_bits": 4, "group_size": 128, "type": "int"}
EIGHT = {"num_bits": 8, "type": "float"}
INT4 = 4 + 16 / 128


def _of(**held: Any) -> Scheme:
    return Scheme({"quantization_config": held}, {})


def test_a_checkpoint_without_a_scheme_quantises_nothing() -> None:
    assert Scheme({}, {}).bits("layers.0.self_attn.q_proj") is None


def test_the_targets_of_a_group_have_its_bits_and_the_rest_those_of_linear() -> None:
    scheme = _of(
        quant_method="compressed-tensors",
        config_groups={
            "a": {"targets": ["Linear"], "weights": EIGHT},
            "b": {"targets": ["re:.*experts.*", "model.layers.3.mlp", 7], "weights": FOUR},
        },
    )
    assert scheme.bits("layers.0.self_attn.q_proj") == 8
    assert scheme.bits("layers.0.mlp.experts.5.up_proj", expert=True) == INT4
    assert scheme.bits("layers.3.mlp.down_proj") == INT4
    assert scheme.bits("layers.2.mlp.down_proj") == 8


@pytest.mark.parametrize("targets", [{}, {"targets": []}, {"targets": None}, {"targets": "Linear"}])
def test_a_group_without_a_list_of_targets_is_for_every_linear_module(
    targets: dict[str, Any],
) -> None:
    groups = {"a": {"weights": FOUR, **targets}}
    scheme = _of(quant_method="compressed-tensors", config_groups=groups)
    assert scheme.bits("layers.0.self_attn.q_proj") == INT4


@pytest.mark.parametrize(
    ("ignored", "module", "spared"),
    [
        ("lm_head", "lm_head", True), ("lm_head", "layers.0.mlp.up_proj", False),
        ("re:.*self_attn.*", "layers.0.self_attn.q_proj", True),
        ("re:model.layers.0", "layers.0.mlp.up_proj", True),
        ("model.layers.1.*", "layers.1.mlp.up_proj", True),
        ("model.layers.1.*", "layers.11.mlp.up_proj", False),
        ("*attn*", "layers.1.self_attn.q_proj", True), ("*attn*", "layers.1.mlp.up_proj", False),
        ("q_proj", "layers.1.self_attn.q_proj", True), ("proj", "layers.1.self_attn.q_proj", False),
        ("model.layers.1.self_attn", "layers.1.self_attn.q_proj", True),
        ("language_model.model.layers.1.self_attn", "layers.1.self_attn.o_proj", True),
    ],
)  # fmt: skip
def test_an_excluded_module_keeps_the_models_dtype(ignored: str, module: str, spared: bool) -> None:
    for key in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"):
        scheme = _of(quant_method="fp8", **{key: [ignored, 3]})
        assert (scheme.bits(module) is None) is spared


def test_a_mixed_checkpoint_gives_one_expert_s_bits_to_all_of_its_layer() -> None:
    scheme = _of(
        quant_method="modelopt", quant_algo="MIXED_PRECISION",
        quantized_layers={
            "model.layers.1.mlp.experts.0.up_proj": {"quant_algo": "nvfp4"},
            "model.layers.1.self_attn.q_proj": {"quant_algo": "FP8"},
            "lm_head": {"quant_algo": "FP8"}, "model.layers.2.mlp": {"quant_algo": "unheard of"},
            "model.layers.3.mlp": "FP8",
        },
    )  # fmt: skip
    assert scheme.bits("layers.1.mlp.experts.9.down_proj", expert=True) == 4.5
    assert scheme.bits("layers.1.self_attn.q_proj") == scheme.bits("lm_head") == 8
    for other in ("layers.2.mlp.up_proj", "layers.3.mlp.up_proj", "layers.2.mlp.experts.0.up_proj"):
        assert scheme.bits(other) is None


def test_routed_experts_may_have_bits_of_their_own() -> None:
    for held, bits in (
        ({"quant_method": "fp8", "expert_dtype": "fp4"}, 4.25),
        ({"quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "nvfp4"}, 4.5),
    ):
        scheme = _of(**held)
        assert scheme.bits("layers.1.mlp.experts.0.up_proj", expert=True) == bits
        assert scheme.bits("layers.1.mlp.up_proj") == 8


@pytest.mark.parametrize(
    ("held", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, 4 + 20 / 32),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, 4 + 20 / 64),
        ({"quant_method": "awq", "w_bit": 4}, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, 4.0),
        ({"quant_method": "gptq", "bits": 4, "group_size": "x"}, 4.0),
    ],
)
def test_a_scale_and_a_zero_point_are_part_of_a_weight(held: dict[str, Any], bits: float) -> None:
    assert _of(**held).bits("layers.0.mlp.up_proj") == bits


# A weight's bits with its scale: 16 numbers of NVFP4 share one of 8 bits, 32 of MXFP4 and MXFP8.
@pytest.mark.parametrize(
    ("algorithm", "bits"),
    [
        *((name, 8.0) for name in (
            "FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO", "FP8_BLOCK_SCALES", "W8A16",
            "W8A8_SQ_PER_CHANNEL", "INT8_SQ",
        )),
        *((name, 4 + 8 / 16) for name in ("NVFP4", "NVFP4_AWQ", "W4A16_NVFP4")),
        *((name, 4.0) for name in ("W4A16_AWQ", "W4A8_AWQ", "W4A16")),
        ("MXFP4", 4 + 8 / 32), ("MXFP8", 8 + 8 / 32),
    ],
)  # fmt: skip
def test_modelopts_algorithms_have_the_bits_of_their_name(algorithm: str, bits: float) -> None:
    scheme = _of(quant_method="modelopt", quant_algo=algorithm)
    assert scheme.bits("layers.0.mlp.up_proj") == bits


@pytest.mark.parametrize(
    ("method", "bits"),
    [
        *((name, 8.0) for name in ("fp8", "fbgemm_fp8", "bitsandbytes", "experts_int8", "quanto")),
        *((name, 4.0) for name in ("awq", "gptq")), ("mxfp4", 4.25), ("mxfp8", 8.25),
        ("nvfp4", 4.5), ("modelopt_fp4", 4.5),
    ],
)  # fmt: skip
def test_a_method_says_the_bits_where_nothing_else_does(method: str, bits: float) -> None:
    assert _of(quant_method=method).bits("layers.0.mlp.up_proj") == bits
