cat > o.yml <<'YAML'
kv_cache_config: {dtype: nvfp4}
YAML
trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --extra_llm_api_options o.yml
