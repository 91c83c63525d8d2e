engine "vllm" {
}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
  replicas = ["http://127.0.0.1:8000/v1/"] # ERROR: is there already
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
