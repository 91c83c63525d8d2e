# One engine on one GPU: how it holds up as prompts grow and requests pile up.
#
# Use it when a model is new on a machine and you want its curve: latency at one
# request, throughput at many, and where the one begins to cost the other.
#
#   anvilsweep run one-gpu.sweep.hcl --out results/one-gpu --var base_url=http://127.0.0.1:8000/v1

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "top" {
  type        = number
  default     = 32
  description = "Highest rung of the ladder"
}

engine "vllm" {
  version = "0.32.0"
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
}

context "sizes" {
  grid   = ["1k", "8k", "32k"]
  sizing = "tokens"
}

concurrency "ladder" {
  ladder = ladder(1, var.top)
  warmup = 1
}

output "answer" {
  words      = 128
  max_tokens = 512
}

sweep "capacity" {
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = context.sizes
  concurrency = concurrency.ladder
  output      = output.answer
}
