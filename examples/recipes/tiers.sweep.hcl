# GPU tiers side by side with what they cost: latency, throughput, and the price
# of a million output tokens at each concurrency.
#
# Use it to choose what to rent. Prices are an hour of the whole tier; the
# cheapest tier an hour is seldom the cheapest a token.
#
#   anvilsweep run tiers.sweep.hcl --out results/tiers

variable "l40s_url" {
  type    = string
  default = "http://127.0.0.1:8001/v1"
}

variable "h100_url" {
  type    = string
  default = "http://127.0.0.1:8002/v1"
}

variable "h200_url" {
  type    = string
  default = "http://127.0.0.1:8003/v1"
}

variable "top" {
  type    = number
  default = 32
}

model "qwen3-8b" {
  id             = "Qwen/Qwen3-8B"
  context_window = 40960
}

engine "vllm" {
  version = "0.32.0"
}

tier "l40s" {
  gpu            = "NVIDIA L40S"
  memory_gib     = 48
  price_per_hour = 0.99
  currency       = "USD"
  base_url       = var.l40s_url
}

tier "h100" {
  gpu            = "NVIDIA H100"
  memory_gib     = 80
  price_per_hour = 2.69
  currency       = "USD"
  base_url       = var.h100_url
}

tier "h200" {
  gpu            = "NVIDIA H200"
  memory_gib     = 141
  price_per_hour = 3.99
  currency       = "USD"
  base_url       = var.h200_url
}

concurrency "ladder" {
  ladder = ladder(1, var.top)
  warmup = 1
  stop "saturated" { when = result.throughput_tok_s < 1.03 * previous.throughput_tok_s }
}

output "exact64" {
  words      = 64
  policy     = "strict"
  max_tokens = 256
}

sweep "tiers" {
  model       = model.qwen3-8b
  engine      = engine.vllm
  tier        = [tier.l40s, tier.h100, tier.h200]
  context     = ["1k", "8k"]
  concurrency = concurrency.ladder
  output      = output.exact64

  exclude "does not fit an L40S" {
    when = cell.tier.memory_gib < 80 && cell.context * cell.concurrency > 200000
  }
}
