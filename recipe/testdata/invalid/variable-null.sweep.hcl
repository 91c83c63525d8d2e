variable "p" {
  nullable = false
  default  = null # ERROR: must not be null
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
