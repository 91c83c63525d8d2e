# vLLM against SGLang: the same model, prompts and load on the same kind of GPU.
#
# Use it to choose an engine, or to see whether a new version of one changes
# the choice. Each runs at an address of its own, one after the other.
#
#   anvilsweep run engines.sweep.hcl --out results/engines

variable "vllm_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "sglang_url" {
  type    = string
  default = "http://127.0.0.1:30000/v1"
}

variable "top" {
  type    = number
  default = 32
}

model "qwen3-8b" {
  id             = "Qwen/Qwen3-8B"
  quantization   = "fp8"
  context_window = 40960
}

engine "vllm" {
  version = "0.32.0"
  flags   = { max_num_seqs = 64, enable_prefix_caching = true }
}

engine "sglang" {
  version = "0.5.4"
  flags   = { max_running_requests = 64 }
}

# A tier is the GPU and the address that reaches it, so two engines on one
# machine are two tiers of the same GPU.
tier "vllm-h200" {
  gpu      = "NVIDIA H200"
  base_url = var.vllm_url
}

tier "sglang-h200" {
  gpu      = "NVIDIA H200"
  base_url = var.sglang_url
}

concurrency "ladder" {
  ladder = ladder(1, var.top)
  warmup = 2
}

output "exact64" {
  words      = 64
  policy     = "strict"
  max_tokens = 256
}

sweep "engines" {
  model = model.qwen3-8b
  pair {
    engine = [engine.vllm, engine.sglang]
    tier   = [tier.vllm-h200, tier.sglang-h200]
  }
  context     = ["1k", "8k"]
  concurrency = concurrency.ladder
  output      = output.exact64
}
