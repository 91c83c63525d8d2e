# One server that is already running, any that speaks the OpenAI API:
#
#   anvilsweep run examples/recipes/endpoint.sweep.hcl --out results/endpoint \
#     --var base_url=http://127.0.0.1:8000/v1 --var model=Qwen/Qwen3-8B
#
# A key is named, never written: --var api_key_env=MY_KEY takes it from the
# environment variable MY_KEY.

variable "base_url" {
  type        = string
  default     = "http://127.0.0.1:8000/v1"
  description = "Where the server listens, up to and with /v1"
}

variable "model" {
  type        = string
  default     = "Qwen/Qwen3-8B"
  description = "The model name to send"
}

variable "gpu" {
  type        = string
  default     = null
  description = "What the server runs on, for the tables"
}

variable "api_key_env" {
  type        = string
  default     = null
  description = "Name of the environment variable that holds the key"
}

engine "openai" {}

tier "local" {
  gpu         = var.gpu
  base_url    = var.base_url
  api_key_env = var.api_key_env
}

concurrency "ladder" {
  ladder   = ladder(1, 8)
  requests = max(4, 2 * cell.concurrency)
  warmup   = 1
}

sweep "capacity" {
  model       = var.model
  engine      = engine.openai
  tier        = tier.local
  context     = [1024, 4096]
  concurrency = concurrency.ladder
  output      = { words = 64, max_tokens = 512 }

  exclude "more than a small server holds" {
    when = cell.context * cell.concurrency > 16384
  }
}
