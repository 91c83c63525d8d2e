engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
tier "u" {
  count = 0 # ERROR: must be from 1
  gpu = [] # ERROR: gpu must be a string
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1 # ERROR: from 32
  concurrency = 1
  output = { max_tokens = 64 }
}
