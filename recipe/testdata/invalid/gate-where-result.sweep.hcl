
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
  gate "g" {
    where  = result.ttft_p95_ms > 1 # ERROR: result is known only in rules
    assert = result.ttft_p95_ms < 2
  }
}
engine "vllm" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
