variable "host" {
  type        = string
  default     = "127.0.0.1"
  description = "Where the engines listen"
}

variable "secret" {
  default   = "hush-hush"
  sensitive = true
}

locals {
  long  = [32 * 1024, local.wide]
  wide  = 128 * 1024
  quiet = var.secret
}

model "qwen3-8b" {
  id             = "Qwen/Qwen3-8B"
  revision       = "9c925d64"
  quantization   = "fp8"
  context_window = "128Ki"
}

engine "vllm" {
  version = "0.32.0"
  image   = "vllm/vllm-openai@sha256:00"
  flags   = { tensor_parallel_size = 1, max_model_len = 131072, big = 12345678901234567890, half = 0.5, names = ["a", null, true] }
  labels  = { owner = "us" }
}

engine "tuned" {
  kind = "sglang"
}

tier "h200" {
  gpu            = "NVIDIA H200"
  memory_gib     = 141
  price_per_hour = 3.99
  currency       = "USD"
  base_url       = "http://${var.host}:8000/v1/"
  api_key_env    = "QWEN_API_KEY"
  clock_domain   = "lab-a"
}

tier "l40s" {
  gpu        = "NVIDIA L40S"
  count      = 2
  memory_gib = 48
  currency   = "EUR"
  base_url   = "https://[::1]:8443/v1"
}

context "agentic" {
  grid                 = concat([1024, "8k"], local.long)
  cache                = "shared"
  shared_prefix_tokens = "2k"
}

concurrency "ladder" {
  ladder   = ladder(1, 48)
  requests = max(8, 4 * cell.concurrency)
  warmup   = 2
}

output "exact64" {
  words            = 64
  policy           = "strict"
  max_tokens       = 16384
  min_tokens       = 4
  ignore_eos       = false
  temperature      = 0
  top_p            = 0.9
  reasoning_effort = "max"
}

sweep "nightly" {
  description = "the whole matrix"
  concurrency = [2, concurrency.ladder]
  model       = model.qwen3-8b
  engine      = [engine.vllm, engine.tuned]
  tier        = [tier.h200, tier.l40s]
  context     = [context.agentic, "sampled", 512]
  output      = [output.exact64, { max_tokens = 32, temperature = 0.5 }]

  exclude "does not fit an L40S" {
    when = cell.tier.memory_gib < 80 && cell.context * cell.concurrency > 524288
  }

  exclude "tuned is for the long" {
    when = cell.engine.kind == "sglang" && cell.context < 1000 && cell.cache == "unique"
  }

  repeat    = 3
  seed      = -7
  max_cells = 20000

  timeout {
    connect    = "2s"
    first_byte = "1m"
    idle       = var.host == "127.0.0.1" ? "30s" : null
    total      = "0"
  }
}
