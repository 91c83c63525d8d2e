tier "t" {
  profile     = "small"
  unix_socket = "/run/x" # ERROR: needs a base_url
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
