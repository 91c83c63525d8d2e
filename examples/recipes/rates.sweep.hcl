# Latency as traffic grows: requests come at their own times, as users do, not
# when the last answer is there. The embedded engine stands in until base_url
# is given.
#
# Use it to find the rate that a service can promise. Beside each rate stand
# the rate achieved and the latency from the time a request was due: where they
# part, the server has fallen behind.
#
#   anvilsweep run rates.sweep.hcl --out results/rates
#   anvilsweep summary results/rates --metric achieved_rate_per_s --metric ttft_from_due_p95_ms

variable "base_url" {
  type    = string
  default = null
}

variable "model" {
  type    = string
  default = "demo-8b"
}

variable "rates" {
  type        = list(number)
  default     = [4, 8, 16]
  description = "Requests a second"
}

variable "seconds" {
  type        = number
  default     = 5
  description = "How long each rate is held"
}

engine "served" {
  kind = var.base_url == null ? "sim" : "openai"
  metrics { path = "/metrics" }
}

tier "here" {
  base_url = var.base_url
  profile  = var.base_url == null ? "small" : null
}

concurrency "open" {
  ladder   = [64] # in flight at most; an arrival beyond waits, and is counted
  requests = axis.rate * var.seconds
  arrivals "poisson" { rate = axis.rate }
}

output "short" {
  words      = 16
  max_tokens = 64
}

sweep "rates" {
  model  = var.model
  engine = engine.served
  tier   = tier.here

  axis "rate" { values = var.rates }

  context     = 256
  concurrency = concurrency.open
  output      = output.short
}
