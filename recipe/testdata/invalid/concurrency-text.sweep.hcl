engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1024
  concurrency = "4" # ERROR: such as ladder(1, 32), not string
  output = { max_tokens = 64 }
}
