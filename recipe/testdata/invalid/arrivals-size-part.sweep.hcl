concurrency "c" {
  ladder = [4]
  arrivals "burst" {
    rate = 4
    size = 1.5 # ERROR: size is a whole number
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
