cat > o.yml <<'YAML'
enable_attention_dp: true
YAML
trtllm-serve deepseek-ai/DeepSeek-V3 --tp_size 8 --max_batch_size 256 --enable_chunked_prefill --extra_llm_api_options o.yml
