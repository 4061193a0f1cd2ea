cat > o.yml <<'YAML'
cache_transceiver_config: {backend: DEFAULT}
YAML
python3 -m dynamo.trtllm --model-path Qwen/Qwen3-32B --disaggregation-mode prefill --extra-engine-args o.yml
