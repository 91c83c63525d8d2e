engine "e" {
  flags = cell.concurrency # ERROR: flags must be an object, not number
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
