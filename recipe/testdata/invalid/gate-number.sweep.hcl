
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
  gate "g" {
    assert = result.ttft_p95_ms # ERROR: A rule is yes or no, not number
  }
}
engine "vllm" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
