# Speculative decoding against its matched control: the only difference between
# the two servers is the draft, and the axis says so.
#
# Use it to see at which concurrency speculation stops paying: it helps while
# the GPU has room, and costs once it is full.
#
#   anvilsweep run speculative.sweep.hcl --out results/speculative

variable "control_url" {
  type    = string
  default = "http://127.0.0.1:8000/v1"
}

variable "candidate_url" {
  type    = string
  default = "http://127.0.0.1:8001/v1"
}

variable "top" {
  type    = number
  default = 64
}

engine "vllm" {
  version = "0.32.0"
  flags   = { max_num_seqs = 64, speculative_tokens = axis.draft }
}

tier "h200" {
  gpu      = "NVIDIA H200"
  base_url = axis.draft == 0 ? var.control_url : var.candidate_url
}

concurrency "ladder" {
  ladder = ladder(1, var.top)
  warmup = 2
}

output "exact128" {
  words      = 128
  policy     = "strict"
  max_tokens = 512
}

sweep "speculative" {
  model  = "Qwen/Qwen3-8B"
  engine = engine.vllm
  tier   = tier.h200

  axis "draft" { values = [0, 3] } # 0 is the control

  matched "draft" { # the plan is refused where anything else differs
    axis      = "draft"
    control   = 0
    candidate = 3
    factor    = "engine.flags.speculative_tokens"
  }

  context     = "4k"
  concurrency = concurrency.ladder
  output      = output.exact128
}
