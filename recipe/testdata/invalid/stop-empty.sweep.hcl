concurrency "c" {
  ladder = [1, 2]
  stop "x" {} # ERROR: stop "x" needs when
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 1024
  concurrency = concurrency.c
  output      = { max_tokens = 64 }

}
engine "vllm" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
