engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
concurrency "c" {
  ladder = 1
  requests = null # ERROR: it is null
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1024
  concurrency = concurrency.c
  output = { max_tokens = 64 }
}
