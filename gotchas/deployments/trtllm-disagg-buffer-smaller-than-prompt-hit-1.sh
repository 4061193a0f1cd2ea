cat > o.yml <<'YAML'
cache_transceiver_config: {backend: UCX, max_tokens_in_buffer: 8192}
YAML
trtllm-serve Qwen/Qwen3-32B --max_seq_len 40960 --extra_llm_api_options o.yml
