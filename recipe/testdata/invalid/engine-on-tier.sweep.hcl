engine "e" {
  version = cell.tier.gpu # ERROR: cannot depend on cell.tier
}
sweep "s" {
  model       = "m"
  engine      = engine.e
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }

}
engine "vllm" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
