cat > o.yml <<'YAML'
kv_cache_config: {free_gpu_memory_fraction: 0.8}
YAML
python3 -m dynamo.trtllm --model-path Qwen/Qwen3-32B --disaggregation-mode prefill --extra-engine-args o.yml
