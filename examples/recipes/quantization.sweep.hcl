# Quantizations of one model compared: what fp8 and int4 buy over bf16.
#
# Use it before a quantized checkpoint replaces the full one. Each is served
# under its own name; strict words show whether answers still follow
# instructions.
#
#   anvilsweep run quantization.sweep.hcl --out results/quantization --var base_url=http://127.0.0.1:8000/v1

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "top" {
  type    = number
  default = 16
}

model "bf16" {
  id = "Qwen/Qwen3-8B"
}

model "fp8" {
  id           = "Qwen/Qwen3-8B-FP8"
  quantization = "fp8"
}

model "int4" {
  id           = "Qwen/Qwen3-8B-AWQ"
  quantization = "awq"
}

engine "vllm" {
  version = "0.32.0"
}

tier "l40s" {
  gpu        = "NVIDIA L40S"
  memory_gib = 48
  base_url   = var.base_url
}

output "exact64" {
  words      = 64
  policy     = "strict"
  max_tokens = 256
}

sweep "quantization" {
  model       = [model.bf16, model.fp8, model.int4]
  engine      = engine.vllm
  tier        = tier.l40s
  context     = ["2k", "16k"]
  concurrency = ladder(1, var.top, 4)
  output      = output.exact64
}
