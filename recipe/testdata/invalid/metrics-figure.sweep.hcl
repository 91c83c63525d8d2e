engine "vllm" {
  metrics {
    names = { runing = "x" } # ERROR: names has no "runing". Did you mean "running"?
  }
}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
