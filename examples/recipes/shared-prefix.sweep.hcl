# A shared prefix cold and warm: what the prefix cache saves when many requests
# begin with the same system prompt.
#
# Use it to size a cache, or to see whether it works at all. "cold" prompts
# share nothing; "warm" ones share 6000 tokens that warm-up has put into the
# cache. The table has the hit rate that the server reports, if it reports one.
#
#   anvilsweep run shared-prefix.sweep.hcl --out results/prefix --var base_url=http://127.0.0.1:8000/v1
#   anvilsweep summary results/prefix --metric ttft_p50_ms --metric prefix_cache_hit_avg

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
  flags   = { enable_prefix_caching = true, enable_prompt_tokens_details = true }
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
}

context "cold" {
  grid  = "8k"
  cache = "unique"
}

context "warm" {
  grid                 = "8k"
  cache                = "shared"
  shared_prefix_tokens = "6k"
}

concurrency "ladder" {
  ladder = ladder(1, var.top, 4)
  warmup = 2
}

output "short" {
  words      = 32
  max_tokens = 128
}

sweep "prefix" {
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = [context.cold, context.warm]
  concurrency = concurrency.ladder
  output      = output.short
}
