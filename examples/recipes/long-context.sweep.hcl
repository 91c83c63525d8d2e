# Long prompts: time to the first token, and whether the answer still comes, up
# to the model's window.
#
# Use it before a long-context product. Prompts are sized by the server's own
# tokens, so 128Ki is 128Ki; the window leaves room for the answer.
#
#   anvilsweep run long-context.sweep.hcl --out results/long --var base_url=http://127.0.0.1:8000/v1

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "longest" {
  type        = number
  default     = 131072
  description = "Longest prompt, in tokens"
}

model "long" {
  id             = "Qwen/Qwen3-30B-A3B-Instruct-2507"
  context_window = 262144
}

engine "vllm" {
  version = "0.32.0"
  flags   = { max_model_len = 262144, enable_chunked_prefill = true }
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
}

context "long" {
  grid   = ladder(4096, var.longest, 4)
  sizing = "tokens"
}

concurrency "few" {
  ladder   = [1, 2]
  requests = 4
}

output "summary" {
  max_tokens = 256
}

sweep "long" {
  model       = model.long
  engine      = engine.vllm
  tier        = tier.h200
  context     = context.long
  concurrency = concurrency.few
  output      = output.summary

  timeout {
    first_output = "20m" # a long prefill behind another one
  }
}
