# Scout, then finalist: a cheap look at every setting, then the full ladder for
# the one that is named the finalist.
#
# Use it when there are many settings and little GPU time. Run the scout, look
# at its table, and run the recipe again with --var finalist=…: cells that are
# done are not run twice. A scout that fails keeps the finalist from running.
#
#   anvilsweep run finalist.sweep.hcl --out results/tuning --sweep scout
#   anvilsweep run finalist.sweep.hcl --out results/tuning --var finalist=128

variable "base_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "finalist" {
  type        = number
  default     = 64
  description = "The max_num_seqs that goes on to the finals"
  validation {
    condition     = contains([32, 64, 128, 256], var.finalist)
    error_message = "The finalist is one of the scouted settings: 32, 64, 128, 256."
  }
}

variable "top" {
  type    = number
  default = 64
}

engine "vllm" {
  version = "0.32.0"
  flags   = { max_num_seqs = axis.max_num_seqs }
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = var.base_url
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

sweep "scout" {
  description = "one rung of every setting"
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = "2k"
  concurrency = min(32, var.top)
  output      = output.exact64
  on_failure  = "stop_sweep"
  axis "max_num_seqs" { values = [32, 64, 128, 256] }
}

sweep "finals" {
  description = "the whole ladder of the finalist"
  after       = [sweep.scout]
  model       = "Qwen/Qwen3-8B"
  engine      = engine.vllm
  tier        = tier.h200
  context     = ["2k", "8k"]
  concurrency = concurrency.ladder
  output      = output.exact64
  repeat      = 2
  axis "max_num_seqs" { values = [var.finalist] }
}
