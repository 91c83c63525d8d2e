engine "vllm" {
  version = "0.32.0"
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = "http://127.0.0.1:8000/v1"
}

sweep "capacity" {
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = [1024, 8192]
  concurrency = ladder(1, 32)                 # 1 2 4 8 16 32
  output      = { words = 64, policy = "strict", max_tokens = 512 }
}
