# Two tiers, three contexts, three concurrencies on the embedded engine: no GPU
# and no server needed, done in under a minute. The figures are a simulation's
# and say so; the recipe, the artifacts and the tables are the real thing.
#
#   anvilsweep run quickstart.sweep.hcl --out results/quickstart

engine "sim" {}

model "demo-8b" {
  id             = "demo-8b"
  context_window = 32768
}

tier "small" {
  profile        = "small"
  price_per_hour = 0.80
  currency       = "USD"
}

tier "large" {
  profile        = "large"
  price_per_hour = 3.20
  currency       = "USD"
}

concurrency "ladder" {
  ladder   = ladder(1, 16, 4) # 1 4 16
  requests = max(4, 2 * cell.concurrency)
  warmup   = 1
}

output "words16" {
  words      = 16
  policy     = "strict" # a response of any other length fails
  max_tokens = 64
}

sweep "quickstart" {
  description = "How two tiers behave as context and concurrency grow"
  model       = model.demo-8b
  engine      = engine.sim
  tier        = [tier.small, tier.large]
  context     = [256, 1024, 4096]
  concurrency = concurrency.ladder
  output      = output.words16
}
