# The grown-up recipe of the language page.
variable "host" {
  type        = string
  default     = "127.0.0.1"
  description = "Where the engines listen"
}

locals {
  long = [32 * 1024, 128 * 1024]
}

model "qwen3-8b" {
  id             = "Qwen/Qwen3-8B"
  revision       = "9c925d64"
  quantization   = "fp8"
  context_window = 131072
}

engine "vllm" {
  version = "0.32.0"
  image   = "vllm/vllm-openai@sha256:0000"
  flags   = { tensor_parallel_size = 1, max_num_seqs = axis.max_num_seqs }
  launch {
    command = ["vllm", "serve", cell.model.id, "--max-num-seqs", axis.max_num_seqs]
    env     = { HF_HUB_OFFLINE = "1" }
  }
  ready {
    path    = "/health"
    timeout = "15m"
  }
  metrics { path = "/metrics" }
}

engine "sglang" {
  flags = { max_running_requests = axis.max_num_seqs }
}

tier "h200" {
  gpu            = "NVIDIA H200"
  count          = 1
  memory_gib     = 141
  price_per_hour = 3.99
  base_url       = "http://${var.host}:8000/v1"
  api_key_env    = "QWEN_API_KEY"
  clock_domain   = "lab-a"
}

tier "l40s" {
  gpu        = "NVIDIA L40S"
  memory_gib = 48
  base_url   = "http://${var.host}:8001/v1"
}

context "agentic" {
  grid   = concat([1024, 8192], local.long)
  cache  = "unique"
  sizing = "tokens"
}

concurrency "ladder" {
  ladder   = ladder(1, 64)
  requests = max(8, 4 * cell.concurrency)
  warmup   = 2
  stop "slow" { when = result.ttft_p95_ms > 5000 }
  stop "saturated" { when = result.throughput_tok_s < 1.03 * previous.throughput_tok_s }
}

output "exact64" {
  words            = 64
  policy           = "strict"
  canaries         = true
  max_tokens       = 16384
  temperature      = 0
  reasoning_effort = "max"
}

sweep "scout" {
  model       = model.qwen3-8b
  engine      = [engine.vllm]
  tier        = [tier.h200]
  context     = [1024]
  concurrency = [1]
  output      = output.exact64
  axis "max_num_seqs" { values = [64] }
}

sweep "nightly" {
  after       = [sweep.scout]
  model       = model.qwen3-8b
  engine      = [engine.vllm, engine.sglang]
  tier        = [tier.h200, tier.l40s]
  context     = context.agentic
  concurrency = concurrency.ladder
  output      = [output.exact64]

  axis "max_num_seqs" { values = [64, 256] }

  exclude "does not fit an L40S" {
    when = cell.tier.memory_gib < 80 && cell.context * cell.concurrency > 524288
  }

  repeat = 3
  gate "first token" {
    where  = cell.concurrency <= 8
    assert = result.ttft_p95_ms < 2000
  }
  gate "no regression" {
    assert = result.throughput_tok_s >= 0.95 * baseline.throughput_tok_s
  }
}
