engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
engine "x" {
  launch { # ERROR: launch needs command
  }
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1024
  concurrency = 1
  output = { max_tokens = 64 }
}
