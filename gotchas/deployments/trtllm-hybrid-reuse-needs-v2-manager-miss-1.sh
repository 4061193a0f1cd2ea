cat > o.yml <<'YAML'
kv_cache_config: {enable_block_reuse: false}
YAML
trtllm-serve nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 --extra_llm_api_options o.yml
