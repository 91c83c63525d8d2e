variable "p" {
  default = 7
  validation {
    condition     = var.p + 1 # ERROR: condition must be a bool
    error_message = "no"
  }
}
engine "sim" {}
tier "embedded" {
  profile = "small"
}
sweep "s" {
  model       = "m"
  engine      = engine.sim
  tier        = tier.embedded
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
