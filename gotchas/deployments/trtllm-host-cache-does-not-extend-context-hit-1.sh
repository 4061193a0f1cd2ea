cat > o.yml <<'YAML'
kv_cache_config: {host_cache_size: 64000000000}
YAML
trtllm-serve Qwen/Qwen3-8B --max_seq_len 131072 --extra_llm_api_options o.yml
