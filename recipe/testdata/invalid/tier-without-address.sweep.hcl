engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
tier "u" {}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.u # ERROR: has no base_url
  context = 1024
  concurrency = 1
  output = { max_tokens = 64 }
}
