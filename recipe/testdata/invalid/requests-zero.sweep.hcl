engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
concurrency "c" {
  ladder = [2, 1]
  requests = cell.concurrency - 1 # ERROR: from 1 to 10000 requests, not 0
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1024
  concurrency = concurrency.c
  output = { max_tokens = 64 }
}
