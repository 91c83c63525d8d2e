variable "p" {
  type    = number
  default = 7
  validation {
    condition     = var.p < 5 # ERROR: variable "p", set by default: 7 is too many
    error_message = "${var.p} is too many"
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
