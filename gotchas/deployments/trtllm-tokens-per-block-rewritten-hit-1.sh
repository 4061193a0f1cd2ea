cat > o.yml <<'YAML'
kv_cache_config: {tokens_per_block: 32}
YAML
trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --enable_chunked_prefill --extra_llm_api_options o.yml
