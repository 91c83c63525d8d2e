concurrency "c" {
  ladder = [4]
  arrivals "ramp" {
    from = 1
    to   = 2
    rate = 3 # ERROR: An argument named "rate" is not expected here
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
