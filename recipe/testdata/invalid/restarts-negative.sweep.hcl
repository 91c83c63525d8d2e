engine "vllm" {
  launch {
    command  = ["x"]
    restarts = -1 # ERROR: restarts is -1; it must be from 0
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
