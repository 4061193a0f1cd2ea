cat > o.yml <<'YAML'
kv_cache_config: {dtype: nvfp4}
YAML
trtllm-serve Qwen/Qwen3-8B --extra_llm_api_options o.yml
