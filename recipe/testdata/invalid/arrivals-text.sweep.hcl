concurrency "c" {
  ladder = [4]
  arrivals "constant" {
    rate = "many" # ERROR: This must be a number
  }
}

engine "vllm" {
}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = concurrency.c
  output      = { max_tokens = 64 }
}
