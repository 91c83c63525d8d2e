# Every night: the same cells, held against limits and against last night.
#
# Use it from cron or CI. Exit code 3 says that a gate did not hold, 1 that a
# request failed, 0 that all is well. A budget keeps a sick server from taking
# the morning too.
#
#   anvilsweep run nightly.sweep.hcl --out results/$(date +%F) --baseline results/last-good

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "top" {
  type    = number
  default = 16
}

engine "vllm" {
  version = "0.32.0"
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
}

concurrency "ladder" {
  ladder   = ladder(1, var.top, 4)
  requests = 40
  warmup   = 2
}

output "exact64" {
  words      = 64
  policy     = "strict"
  max_tokens = 256
}

sweep "nightly" {
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = ["1k", "8k"]
  concurrency = concurrency.ladder
  output      = output.exact64
  repeat      = 3
  on_failure  = "stop_ladder"

  budget {
    minutes = 90
  }

  gate "first token" {
    where  = cell.concurrency <= 4
    assert = result.ttft_p95_ms < 2000
  }

  gate "no regression" {
    assert = result.throughput_tok_s >= 0.9 * baseline.throughput_tok_s
  }
}
