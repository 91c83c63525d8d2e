tier "t" {
  base_url   = "http://127.0.0.1:8000/v1"
  headers    = { "X-Route" = "a" }
  header_env = { "x-route" = "ROUTE" } # ERROR: given twice
}
engine "vllm" {}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
