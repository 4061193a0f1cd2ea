"""Texts that each reader can read, from which fuzzing starts."""

from __future__ import annotations

import json

COMMANDS = (
    "vllm serve deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 -tp 8",
    "A=1 python3 -m sglang.launch_server --model-path m --tp=4 \\\n  --page-size 64",
    "docker run --gpus all -e A=${B:-c} vllm/vllm-openai:v0.20.2 --model 'org/m'",
    "vllm serve m --hf-overrides '{\"a\":1}'",
    "llama-server -m m.gguf -c 131072 -ctk q8_0 --flash-attn on && trtllm-serve m --max_seq_len 4k",
    "if x; then export A=$(cat f); vllm serve m -O3 <<E\n`a`\nE\nfi",
    "sh -c \"vllm serve $A\" > log 2>&1",
)  # fmt: skip
COMPOSE = """services:
  llm: &a
    image: vllm/vllm-openai:v0.33.0
    environment: {VLLM_ATTENTION_BACKEND: FLASHINFER}
    command: [--model, Qwen/Qwen3-8B, "--max-model-len=8192"]
  two: {<<: *a, command: "--model m -tp 2"}
"""
KUBERNETES = """apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      containers:
        - image: lmsysorg/sglang:v0.5.23
          command: [bash, -c]
          args: ["python3 -m sglang.launch_server --model-path m --tp 8"]
          resources: {limits: {nvidia.com/gpu: "8"}}
---
kind: InferenceService
spec: {predictor: {model: {args: [--model=m]}}}
"""
HELM = """servingEngineSpec:
  modelSpec:
    - name: a
      repository: vllm/vllm-openai
      tag: v0.22.1
      modelURL: org/m
      requestGPU: 4
      vllmConfig: {maxModelLen: 131072, extraArgs: ["--kv-cache-dtype", fp8]}
"""
DOCKERFILE = """ARG V=0.20.2
FROM vllm/vllm-openai:v$V AS a
ENV A=1 B="two words"
RUN --mount=type=cache pip install x \\
  && y
ENTRYPOINT ["vllm", "serve"]
CMD ["m", "--tensor-parallel-size", "2"]
"""
SYSTEMD = "[Service]\nEnvironment=A=1\nExecStart=/usr/bin/vllm serve m \\\n  -tp 2\n"
LOG = """\x1b[36m(EngineCore_0 pid=1)\x1b[0m INFO 11-30 10:00:00 [loader.py:1] vLLM 0.33.0
ERROR non-default args: {'model': 'google/gemma-4-31B-it', 'kv_cache_dtype': 'fp8'}
ValueError: Selected backend FLASHINFER is not valid for this configuration.\r
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
  at /home/someone/x host-1.example:8000 hf_abcdefghij
"""  # fmt: skip
CONFIG = json.dumps(
    {
        "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"],
        "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 2,
        "head_dim": 256, "hidden_size": 2048, "intermediate_size": 5120, "vocab_size": 151936,
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_value_head_dim": 128, "full_attention_interval": 4,
        "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "max_position_embeddings": 262144,
        "torch_dtype": "bfloat16", "tie_word_embeddings": False,
    }
)  # fmt: skip
CLAIMS = (
    "x = 2 * KiB  # claim: a\nx // 3\n[n for n in range(3) if n % 2]\nmax([1, 2], key=None)",
    "size('Qwen/Qwen3-8B', gpu='H100', max_model_len='128K').kv.bytes_per_token",
    "f'{1:>{2}}'\n{'a': 1}['a']\n'%s' % 1\n(1, 2)[0] ** 9\n'a'.join(['b'])",
)
