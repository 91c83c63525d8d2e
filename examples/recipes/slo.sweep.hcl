# The highest concurrency under a service level: how many requests may be in
# flight while the first token comes in time and the stream stays fluent.
#
# Use it to set a limit in a gateway, or replicas per GPU. The search bisects the
# ladder, so it needs a handful of cells where a full climb takes dozens.
#
#   anvilsweep run slo.sweep.hcl --out results/slo --var base_url=http://127.0.0.1:8000/v1 --var ttft_ms=1500

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "ttft_ms" {
  type        = number
  default     = 2000
  description = "Time to the first token, p95"
}

variable "tpot_ms" {
  type        = number
  default     = 50
  description = "Time per output token, p95"
}

variable "top" {
  type    = number
  default = 128
}

engine "vllm" {
  version = "0.32.0"
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
}

concurrency "limit" {
  ladder   = range(4, var.top + 1, 4)
  requests = max(20, 4 * cell.concurrency)
  warmup   = 2
  search { goal = result.ttft_p95_ms < var.ttft_ms && result.tpot_p95_ms < var.tpot_ms }
}

output "chat" {
  words      = 128
  max_tokens = 512
}

sweep "slo" {
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = ["1k", "4k"]
  concurrency = concurrency.limit
  output      = output.chat
}
