# Replicas of one configuration as one service: each cell is measured on all of
# them at once, and their artifacts are joined to an aggregate. Two embedded
# engines stand in for servers.
#
# Use it for data parallel serving behind a router, without the router. For
# servers of your own name the engine, and in the tier, in place of profile:
#
#   base_url = "http://10.0.0.7:8000/v1"
#   replicas = ["http://10.0.0.7:8001/v1"]
#
#   anvilsweep run replicas.sweep.hcl --out results/replicas

engine "sim" {}

tier "pair" {
  profile  = "small"
  replicas = 2
}

concurrency "ladder" {
  ladder   = ladder(1, 4)
  requests = 4 * cell.concurrency
}

output "exact16" {
  words      = 16
  policy     = "strict"
  max_tokens = 64
}

sweep "replicas" {
  model       = "demo-8b"
  engine      = engine.sim
  tier        = tier.pair
  context     = 512
  concurrency = concurrency.ladder
  output      = output.exact16
}
