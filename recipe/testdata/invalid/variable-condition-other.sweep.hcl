variable "q" {
  default = 1
}
variable "p" {
  default = 7
  validation {
    condition     = var.q < 5 # ERROR: There is no var.q
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
