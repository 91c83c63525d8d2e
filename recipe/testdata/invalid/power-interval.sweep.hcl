engine "vllm" {
}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
  power {
    command  = ["x"]
    interval = "1ms" # ERROR: interval is 100ms or more
  }
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
