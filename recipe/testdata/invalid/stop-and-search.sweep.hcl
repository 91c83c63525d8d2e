concurrency "c" { # ERROR: stop rules or a search
  ladder = [1, 2]
  stop "x" { when = result.ttft_p95_ms > 1 }
  search { goal = result.ttft_p95_ms < 1 }
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
